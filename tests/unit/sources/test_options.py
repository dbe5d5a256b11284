from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.sources.options import SourceOptions


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
        "[HIVEACID_INVALID_SOURCE_OPTIONS] Source shop.orders has wrong hiveacid options:\n"
        "  - `also` is not a key of this adapter\n"
        "  - `lok` is not a key of this adapter\n"
        "Allowed keys: partitions, static, orc_columns, old_dates, parquet_time_zone, "
        "avro_time_zone"
    )


def test_options_must_be_a_mapping():
    with pytest.raises(DbtRuntimeError, match="`hiveacid` under `meta` must be a mapping"):
        SourceOptions.of(Source(meta={"hiveacid": True}))


def partitions(given):
    return SourceOptions.of(Source(config={"hiveacid": {"partitions": given}})).partitions


def test_values_of_partitions_are_written_as_hive_does():
    assert partitions({"Day": [date(2026, 1, 31), "x"], "n": 1, "b": True, "r": None}).values == (
        ("b", ("true",)),
        ("day", ("2026-01-31", "x")),
        ("n", ("1",)),
        ("r", (None,)),
    )
    assert partitions(None) == SourceOptions().partitions


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("day=1", "it is 'day=1'"),
        ({"day": []}, "day has no value"),
        ({"day": {"from": 1}}, "day has {'from': 1}"),
        (
            {"at": datetime(2026, 1, 31, 10, 0, 0, 500_000)},
            "at has a time that YAML has changed to 2026-01-31 10:00:00.500000; quote it",
        ),
    ],
)
def test_partitions_must_be_keys_and_values(given, reason):
    with pytest.raises(DbtRuntimeError, match=f"a list of values each, but {reason}"):
        partitions(given)


def test_all_problems_of_a_source_are_told_at_once():
    source = Source(config={"hiveacid": {"partitions": 1, "lok": 2}})
    with pytest.raises(DbtRuntimeError) as error:
        SourceOptions.of(source)
    assert "Source shop.orders" in error.value.msg
    assert "`lok` is not a key of this adapter" in error.value.msg
    assert "`partitions` must map partition keys to a value or to a list" in error.value.msg


def test_other_options_are_another_source():
    assert str(SourceOptions()) == ""
    assert str(SourceOptions(partitions({"n": 1}))) != str(SourceOptions(partitions({"n": 2})))


def test_static_is_true_or_false_and_changes_no_name():
    assert SourceOptions.of(Source(config={"hiveacid": {"static": True}})).static
    assert str(SourceOptions(static=True)) == ""
    with pytest.raises(DbtRuntimeError, match="`static` must be true or false, not 'yes'"):
        SourceOptions.of(Source(config={"hiveacid": {"static": "yes"}}))


def test_how_columns_are_found_is_no_option_of_a_read():
    options = SourceOptions.of(Source(config={"hiveacid": {"orc_columns": "name", "static": True}}))
    assert options.orc_columns == "name"
    assert options.of_a_read() == SourceOptions(static=True)
