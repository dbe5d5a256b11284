"""Targets by `unique_key` with what a key can meet: late commits, columns of changes, structs."""

from __future__ import annotations

import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.dbt_project import node_results
from integration.support.differential import NULL, canonical
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveServer
from integration.support.incremental import ORDERS, Incremental

MODEL = """{{{{ config(materialized='incremental', incremental_strategy='acid_changes',
    unique_key={key}) }}}} {select} from {{{{ acid_changes(source('shop', 'orders')) }}}}"""

FIELDS = ", ".join(f"'field {i}', id" for i in range(30))


@pytest.mark.long("two minutes: keys of every type")
def test_keys_of_all_kinds(incremental: Incremental, hive: HiveServer) -> None:
    client, project = incremental.hive, incremental.project
    client.script(ORDERS.format(clause=""))
    client.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    rows = "select id, amount, status"
    by_write_id = MODEL.format(key="['id', 'seen']", select="select id, amount, _write_id as seen")
    project.models(
        steps=MODEL.format(key="'id', max_write_ids=1", select=rows),
        # Its first step has two rows with the key 3, of which Hive shows one.
        wide_steps=MODEL.format(key="'id', max_write_ids=3", select=rows),
        inserted=f"{by_write_id} where _change_type = 'insert'",
        packed=MODEL.format(
            key="'id'", select=f"select id, named_struct('content-type', status, {FIELDS}) as info"
        ),
        broken=MODEL.format(key="'id'", select="selec id"),
    )
    (wrong,) = node_results(project.invoke("run", "--select", "broken"))
    assert "PARSE_SYNTAX_ERROR" in str(wrong.message)
    (project.path / "models" / "broken.sql").unlink()
    incremental.run()

    # The rows that stay have the lowest write id, and are committed after what is deleted.
    with MetastoreClient(hive.metastore_uri, timeout=30) as metastore:
        orders = TableName(incremental.database, "orders")
        late = OpenWriter.begin(metastore, orders, None, deletes=False)
        late.insert([1, 3])
        client.execute("DELETE FROM orders WHERE id = 1")
        client.execute("INSERT INTO orders VALUES (3, 30, 'new')")
        client.execute("DELETE FROM orders WHERE id = 3")
        metastore.commit_txn(late.txn_id)
    messages = incremental.run()
    assert messages["steps"] == messages["wide_steps"] == "OK, 2 upserts, 0 deletes"
    for _ in range(3):
        messages = incremental.run("--select", "steps")
        assert messages == {"steps": "OK, 1 upsert, 0 deletes"}
    shown = canonical(client.query("SELECT id, amount, status FROM orders"))
    for model in ("steps", "wide_steps"):
        assert incremental.rows(model, "id, amount, status") == shown, model
    with_ids = canonical(client.query("SELECT id, amount, ROW__ID.writeid FROM orders"))
    assert incremental.rows("inserted", "id, amount, seen") == with_ids
    packed = incremental.rows("packed", "id, info.`content-type`, info.`field 29`")
    assert packed == [("1", NULL, "1"), ("2", "new", "2"), ("3", NULL, "3")]
    assert set(incremental.run().values()) == {"OK, no changes"}
    assert incremental.warnings == []

    # Another key: the rows that are there need not have it.
    project.models(
        steps=MODEL.format(key="'status'", select=rows),
        wide_steps=MODEL.format(key="['STATUS', 'id']", select=rows),
    )
    client.execute("INSERT INTO orders VALUES (4, 40, 'paid')")
    before = incremental.rows("steps", "id, amount, status")
    results = node_results(project.invoke("run", "--select", "steps", "wide_steps"))
    refused, went = sorted(results, key=lambda result: result.node.name)
    assert (
        "has 2 rows with the same value of the new unique_key of model steps (status = None)"
        in (str(refused.message))
    )
    assert incremental.rows("steps", "id, amount, status") == before
    assert str(went.message) == "OK, 1 upsert, 0 deletes"
