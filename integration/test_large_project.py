"""A project of 200 models and 40 ACID sources: what each command asks of the metastore."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from hiveacid.metastore.connection import Channel
from integration.support.dbt_project import SOURCES, DbtProject, add_large_project
from integration.support.hive import HiveClient

Calls = Counter[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """How often each method of the metastore is called; for write ids, how often about tables.

    The adapter finds out whether a metastore knows write ids by asking about no table.
    """
    counted: Calls = Counter()
    once = Channel.once

    def counting(self: Channel, name: str, subject: str, run: Callable[..., Any]) -> Any:
        if name != "get_valid_write_ids" or "source_" in subject or "unforeseen" in subject:
            counted[name] += 1
        return once(self, name, subject, run)

    monkeypatch.setattr(Channel, "once", counting)
    return counted


@pytest.fixture
def project(dbt_project: DbtProject, hive_client: HiveClient) -> DbtProject:
    """The large project; its model `late` reads a source that dbt cannot foresee.

    It waits for another one's transaction: with its own, all sources would be locked at once.
    """
    add_large_project(dbt_project, hive_client, "unforeseen")
    hive_client.execute("INSERT INTO source_7 VALUES (7), (8)")
    dbt_project.models(
        late="""-- depends_on: {{ ref('model_7') }}
            select * from {{ source('shop', 'unforeseen' if execute else 'source_7') }}"""
    )
    return dbt_project


@pytest.mark.long("200 models, two minutes")
def test_the_metastore_is_asked_once(
    project: DbtProject, calls: Calls, hive_client: HiveClient
) -> None:
    project.succeed("parse")
    project.succeed("ls", "--resource-type", "model", "source")
    assert not calls

    project.succeed("run", "--select", *(f"model_{n}" for n in range(len(SOURCES))))
    assert hive_client.query("SELECT n FROM model_7") == [(2,)]
    assert _asked(calls) == {"open_txns": 1, "lock": 1, "get_valid_write_ids": 1}

    calls.clear()
    project.succeed("run", "--select", "model_7", "late")
    # The third look at write ids is whether Hive has replaced the table since the snapshot.
    assert _asked(calls) == {"open_txns": 1, "lock": 2, "get_valid_write_ids": 3}


def _asked(calls: Calls) -> dict[str, int]:
    return {name: calls[name] for name in ("open_txns", "lock", "get_valid_write_ids")}
