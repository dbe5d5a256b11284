"""States of targets: shown, removed, none after `--empty`, and left alone by what is no change."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveServer
from integration.support.incremental import BY_KEY, MODELS, ORDERS, Incremental, files_below

TARGETS = {
    "delta_key": MODELS["delta_key"],
    "iceberg_ids": MODELS["iceberg_ids"],
    "orc_ids": MODELS["orc_ids"],
    "partitioned": BY_KEY.replace("unique_key='id'", "unique_key='id', partition_by='status'"),
}


def _operation(incremental: Incremental, name: str, model: str, *arguments: str) -> list[str]:
    """What a `dbt run-operation` on a model says."""
    said: list[str] = []
    incremental.project.succeed(
        *("run-operation", name, "--args", f"{{model: {model}}}", *arguments),
        on_event=lambda event: said.append(event.info.msg),  # type: ignore[attr-defined]
    )
    return said


def _has_state(incremental: Incremental, model: str, write_ids: str) -> bool:
    """Whether a target's state is that of all write ids up to one."""
    lines = _operation(incremental, "hiveacid_state", model)
    source = f"{incremental.database}.orders"
    return any(source in line and f'"{source}:{write_ids}:' in line for line in lines)


@pytest.mark.long("a minute: runs dbt many times over one story")
def test_states_are_shown_removed_and_never_made_of_nothing(
    incremental: Incremental, tmp_path: Path, other_schema: str
) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'paid'), (3, 30, 'hidden')")
    project.sources("orders")
    project.models(**TARGETS)
    project.add_target("ci", other_schema)
    for arguments in (["--empty"], ["--empty", "--full-refresh"]):
        incremental.run(*arguments)
        for name in TARGETS:
            assert incremental.rows(name) == [], name
        incremental.run()
        assert len(_about(incremental.warnings, "is rebuilt")) == len(TARGETS)
        incremental.assert_like_hive(TARGETS)
    for name in TARGETS:
        assert _has_state(incremental, name, "1"), name

    state = tmp_path / "state"
    shutil.copytree(project.path / "target", state)
    project.succeed("clone", "--select", "delta_key", "--target", "ci", "--state", str(state))
    said = _operation(incremental, "hiveacid_state", "delta_key", "--target", "ci")
    (line,) = _about(said, "has no state")
    assert f"{other_schema}.delta_key has no state: version 0 of the table was made by" in line
    assert "CLONE, without acid_changes" in line

    # Somebody has put a row in that no change of the source will ever remove.
    for name in TARGETS:
        row_id = ", null" if name.endswith("_ids") else ""
        incremental.spark.sql(f"insert into {incremental.table(name)} select 9, 9, 'paid'{row_id}")
    hive.execute("UPDATE orders SET amount = 11 WHERE id = 1")
    before = incremental.rows("delta_key")
    messages = incremental.run("--empty")
    assert set(messages.values()) == {"OK, no changes"}
    assert incremental.rows("delta_key") == before
    incremental.run()
    assert incremental.warnings == []
    with_row = sorted([*incremental.hives_rows(), ("9", "9", "paid")])
    for name in TARGETS:
        assert incremental.rows(name) == with_row, name
        _operation(incremental, "hiveacid_reset_state", name)
    said = _operation(incremental, "hiveacid_state", "iceberg_ids")
    assert _about(said, "iceberg_ids has no state: its state was removed")
    incremental.run()
    removed = _about(incremental.warnings, "its state was removed, by hiveacid_reset_state or")
    assert len(removed) == len(TARGETS)
    incremental.assert_like_hive(TARGETS)


def _about(lines: Iterable[str], text: str) -> list[str]:
    return [line for line in lines if text in line]


def test_what_is_no_change_writes_nothing(incremental: Incremental, hive: HiveServer) -> None:
    client = incremental.hive
    warehouse, lake = hive.warehouse / f"{incremental.database}.db", hive.work / "lake"
    places = [lake / incremental.database, *(warehouse / name for name in TARGETS)]
    client.script(ORDERS.format(clause=""))
    client.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'hidden')")
    client.execute("UPDATE orders SET amount = 11 WHERE id = 1")
    incremental.project.sources("orders")
    incremental.project.models(**TARGETS)
    incremental.run()
    with_commits = ("delta_key", "iceberg_ids")

    def assert_no_changes() -> None:
        before = files_below(places), list(map(incremental.version, with_commits))
        assert incremental.run() == dict.fromkeys(TARGETS, "OK, no changes")
        assert before[0].keys() >= {path / "_SUCCESS" for path in places[-2:]}
        assert (files_below(places), list(map(incremental.version, with_commits))) == before
        assert incremental.warnings == []

    orders = TableName(incremental.database, "orders")
    with MetastoreClient(hive.metastore_uri, timeout=30) as metastore:
        aborted = OpenWriter.begin(metastore, orders, None, deletes=False)
        aborted.insert([7])
        metastore.abort_txn(aborted.txn_id)
    client.execute("INSERT INTO orders SELECT * FROM orders WHERE id > 100")
    client.execute("DELETE FROM orders WHERE id > 100")
    assert_no_changes()
    client.compact("orders", "minor")
    assert_no_changes()
    client.compact("orders", "major")
    client.execute("INSERT INTO orders SELECT * FROM orders WHERE id > 100")
    assert_no_changes()

    client.execute("UPDATE orders SET amount = 21 WHERE id = 2")
    client.execute("DELETE FROM orders WHERE id = 1")
    client.execute("INSERT INTO orders VALUES (4, 40, 'new')")
    incremental.run()
    incremental.assert_like_hive(TARGETS)
    assert incremental.warnings == []
