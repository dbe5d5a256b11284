from dataclasses import dataclass, field
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.options import SourceOptions


@dataclass
class Source:
    source_name: str = "shop"
    name: str = "orders"
    config: dict[str, Any] = field(default_factory=dict)
    meta: dict[str, Any] = field(default_factory=dict)


def test_no_options():
    assert SourceOptions.of(Source()) == SourceOptions()
    assert SourceOptions.of(Source(config={"hiveacid": {}}, meta={"owner": "me"})) == (
        SourceOptions()
    )


def test_unknown_options_are_refused_wherever_they_stand():
    source = Source(config={"hiveacid": {"lok": 1}}, meta={"hiveacid": {"also": 2}})
    with pytest.raises(DbtRuntimeError) as error:
        SourceOptions.of(source)
    assert error.value.msg == (
        "Source shop.orders has unknown hiveacid options: also, lok. Allowed: none in this release."
    )


def test_options_must_be_a_mapping():
    with pytest.raises(DbtRuntimeError, match="`hiveacid` under `meta` must be a mapping"):
        SourceOptions.of(Source(meta={"hiveacid": True}))
