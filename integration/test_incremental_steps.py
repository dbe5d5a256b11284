"""Models with `max_write_ids` over a backlog: what each run's target has, step by step."""

from __future__ import annotations

import re

import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.differential import canonical
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveServer
from integration.support.incremental import Incremental
from integration.support.tables import FULL_ACID, INSERT_ONLY

MODEL = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes', {}) }}}}
select id, v{} from {{{{ acid_changes(source('shop', '{}')) }}}}"""

MODELS = {
    "one_by_key": MODEL.format("max_write_ids=1, unique_key='id'", "", "orders"),
    "two_by_row_id": MODEL.format("max_write_ids=2, file_format='orc'", ", _row_id", "orders"),
    "one_of_log": MODEL.format("max_write_ids=1", "", "log"),
    "one_of_based": MODEL.format("max_write_ids=1", "", "based"),
}

BACKLOG = (
    "INSERT INTO orders VALUES (3, 'c'), (4, 'd')",
    "UPDATE orders SET v = 'x' WHERE id IN (1, 3)",
    "DELETE FROM orders WHERE id IN (2, 4)",
    "INSERT INTO orders VALUES (2, 'again')",
)


@pytest.mark.long("two minutes: each write id of a backlog is a run")
def test_each_step_of_a_backlog(incremental: Incremental, hive: HiveServer) -> None:
    """With a minor compaction of what is not seen yet, and transactions that commit late.

    Until the late ones Hive's rows after a step are those that it showed after the write; from
    there on those of its last answer whose write ids the step has reached.
    """
    client, database = incremental.hive, incremental.database
    for table, properties in (("orders", FULL_ACID), ("log", INSERT_ONLY), ("based", INSERT_ONLY)):
        client.execute(
            f"CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ({properties})"
        )
        how = "OVERWRITE TABLE" if table == "based" else "INTO"
        client.execute(f"INSERT {how} {table} VALUES (1, 'a'), (2, 'b')")
    incremental.project.sources("orders", "log", "based")
    incremental.project.models(**MODELS)
    incremental.run()

    shown = {}
    for write_id, statement in enumerate(BACKLOG, start=2):
        client.execute(statement)
        shown[write_id] = canonical(client.query("SELECT id, v FROM orders"))
    client.compact("orders", "minor")
    for id in (3, 4, 5):
        client.execute(f"INSERT INTO based VALUES ({id}, 'v')")
    client.compact("based", "minor")
    client.execute("INSERT INTO based VALUES (6, 'v')")
    with MetastoreClient(hive.metastore_uri, timeout=30) as metastore:
        names = [TableName(database, table) for table in ("orders", "log")]
        late = [OpenWriter.begin(metastore, name, None, deletes=False) for name in names]
        assert [writer.write_id for writer in late] == [6, 2]
        for writer in late:
            writer.insert([100])
            client.execute(f"INSERT INTO {writer.table} VALUES (101, 'early')")
        for writer in late:
            metastore.commit_txn(writer.txn_id)
    for name in names:
        client.execute(f"INSERT INTO {name} VALUES (102, 'last')")
    for write_id in (6, 7, 8):
        query = f"SELECT id, v FROM orders WHERE ROW__ID.writeid <= {write_id}"
        shown[write_id] = canonical(client.query(query))
    log = _by_write_id(client.query("SELECT id, v, INPUT__FILE__NAME FROM log"))
    based = _by_write_id(client.query("SELECT id, v, INPUT__FILE__NAME FROM based"))
    assert sorted({write_id for write_id, _ in log}) == [1, 2, 3, 4]
    assert sorted({write_id for write_id, _ in based}) == [1, 4, 5]

    for step in range(7):
        messages = incremental.run()
        one, two = min(2 + step, 8), min(3 + 2 * step, 8)
        of_log, of_based = min(2 + step, 4), min(4 + step, 5)
        assert incremental.rows("one_by_key", "id, v") == shown[one], one
        assert incremental.rows("two_by_row_id", "id, v") == shown[two], two
        for model, rows, last in (("one_of_log", log, of_log), ("one_of_based", based, of_based)):
            taken = sorted(row for write_id, row in rows if write_id <= last)
            assert incremental.rows(model, "id, v") == taken, (model, last)
        done = {name for name, message in messages.items() if message == "OK, no changes"}
        ends = {"one_by_key": 7, "two_by_row_id": 4, "one_of_log": 3, "one_of_based": 2}
        assert done == {name for name, end in ends.items() if step >= end}
        assert incremental.warnings == []
    for model, table in {
        "one_by_key": "orders",
        "one_of_log": "log",
        "one_of_based": "based",
    }.items():
        assert incremental.rows(model, "id, v") == canonical(
            client.query(f"SELECT id, v FROM {table}")
        )


def _by_write_id(rows: list[tuple[object, ...]]) -> list[tuple[int, tuple[str, ...]]]:
    """Rows with the highest write id that Hive's name for the directory of their file covers."""
    found = []
    for *row, path in rows:
        name = re.search(r"/(?:base|delta_\d+)_(\d+)", str(path))
        assert name is not None, path
        (text,) = canonical([row])
        found.append((int(name[1]), text))
    return found
