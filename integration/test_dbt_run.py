"""A dbt run sees one snapshot of all its sources, in one transaction that ends with it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from dbt_common.events.base_types import EventMsg

from hiveacid.metastore.client import MetastoreClient
from integration.support.dbt_project import SLOW, DbtProject, finished, node_results
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held, locks_of_dbt

SOURCES = ("orders", "customers", "events")

FAILS_WHILE_ANOTHER_READS = """
import time

def model(dbt, session):
    seen = dbt.ref("seen")
    while not session.sparkContext.statusTracker().getActiveJobsIds():
        time.sleep(0.1)
    if "name" in seen.columns:
        raise RuntimeError("no")
    return seen
"""


def make_shop(hive: HiveClient, database: str) -> None:
    """The three kinds of sources: full ACID and partitioned, converted originals, insert-only."""
    hive.script(
        f"""
        CREATE TABLE {database}.orders (id int, amount int) PARTITIONED BY (day string)
          STORED AS ORC TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.orders VALUES (1, 10, 'a'), (2, 20, 'a'), (3, 30, 'b');
        DELETE FROM {database}.orders WHERE id = 3;
        CREATE TABLE {database}.customers (id int, name string) STORED AS ORC
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO {database}.customers VALUES (1, 'Ada'), (2, 'Grace'), (3, 'Linus');
        ALTER TABLE {database}.customers SET TBLPROPERTIES ('transactional'='true');
        CREATE TABLE {database}.events (id int, kind string) STORED AS PARQUET
          TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
        INSERT INTO {database}.events VALUES (1, 'visit'), (2, 'order');
        """
    )


def rows(hive: HiveClient, table: str) -> list[tuple[Any, ...]]:
    """Hive's own rows of a table, in order."""
    return sorted(hive.query(f"SELECT * FROM {table}"))


def once_finished(node: str, action: Callable[[], None]) -> Callable[[EventMsg], None]:
    """A dbt callback that does something right after a node, before those that depend on it."""

    def on_event(event: EventMsg) -> None:
        if finished(event, node):
            action()

    return on_event


def test_all_models_see_the_state_at_the_start_of_the_run(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    make_shop(hive_client, database)
    dbt_project.sources(*SOURCES)
    before = {}
    for source in SOURCES:
        dbt_project.models(
            **{
                f"early_{source}": f"select * from {{{{ source('shop', '{source}') }}}}",
                f"late_{source}": f"-- depends_on: {{{{ ref('gate') }}}}\n"
                f"select * from {{{{ source('shop', '{source}') }}}}",
            }
        )
        before[source] = rows(hive_client, source)
    refs = " cross join ".join(f"{{{{ ref('early_{source}') }}}}" for source in SOURCES)
    dbt_project.models(gate=f"select count(*) as n from {refs}")

    def hive_writes() -> None:
        hive_client.execute("UPDATE orders SET amount = 11 WHERE id = 1")
        hive_client.execute("DELETE FROM customers WHERE id = 2")
        hive_client.execute("INSERT INTO events VALUES (3, 'visit')")

    dbt_project.succeed("run", on_event=once_finished("gate", hive_writes))
    after = {source: rows(hive_client, source) for source in SOURCES}
    for source in SOURCES:
        assert after[source] != before[source], "Hive's writes came through meanwhile"
        assert rows(hive_client, f"early_{source}") == before[source]
        assert rows(hive_client, f"late_{source}") == before[source]

    report = dbt_project.path / "target" / "hiveacid_snapshot.json"
    report.unlink()
    dbt_project.succeed("run", "--no-write-json")
    for source in SOURCES:
        assert rows(hive_client, f"late_{source}") == after[source]
    assert not report.exists()


def test_one_transaction_and_a_shared_lock_for_each_source(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    make_shop(hive_client, database)
    dbt_project.sources(*SOURCES)
    dbt_project.models(
        first="select * from {{ source('shop', 'orders') }}",
        second="select o.id, name, kind from {{ source('shop', 'orders') }} o"
        " join {{ source('shop', 'customers') }} c on o.id = c.id"
        " join {{ source('shop', 'events') }} e on o.id = e.id"
        " -- {{ ref('first') }}",
    )
    seen: dict[str, Any] = {}

    def look() -> None:
        seen["locks"] = locks_of_dbt(hive_client, database)
        seen["transactions"] = [r["txnid"] for r in hive_client.show_transactions()]

    dbt_project.succeed("run", on_event=once_finished("first", look))
    assert {(lock["table"], lock["lock_type"], lock["lock_state"]) for lock in seen["locks"]} == {
        (source, "SHARED_READ", "ACQUIRED") for source in SOURCES
    }
    assert len(seen["locks"]) == len(SOURCES)
    (transaction,) = {lock["transaction_id"] for lock in seen["locks"]}
    assert transaction in seen["transactions"]
    (agent,) = {lock["agent_info"] for lock in seen["locks"]}
    invocation = json.loads((dbt_project.path / "target/run_results.json").read_text())["metadata"]
    assert agent.startswith("dbt-hiveacid ") and agent.endswith(", target test.dev")
    assert f", invocation {invocation['invocation_id']}, " in agent
    assert_nothing_held(hive_client, database)

    responses = {r["unique_id"]: r["adapter_response"] for r in dbt_project.run_results()}
    response = responses["model.test.second"]
    assert str(response["transaction_id"]) == transaction
    assert response["rows_affected"] == 2
    assert response["snapshot"] == {
        f"{database}.customers": 10000000,
        f"{database}.events": 1,
        f"{database}.orders": 2,
    }


def test_commands_that_read_nothing_open_no_transaction(
    dbt_project: DbtProject, hive_client: HiveClient, hive: HiveServer, database: str
) -> None:
    make_shop(hive_client, database)
    dbt_project.sources(*SOURCES)
    dbt_project.models(first="select * from {{ source('shop', 'orders') }}")
    with MetastoreClient(hive.metastore_uri) as metastore:
        before = metastore.get_valid_txns().high_watermark
        said: list[str] = []

        def note(event: Any) -> None:
            said.append(event.info.msg)

        for command in ("parse", "ls", "debug"):
            dbt_project.succeed(command, on_event=note)
        assert any("Time zone of the session: UTC" in it for it in said)
        assert metastore.get_valid_txns().high_watermark == before
        dbt_project.succeed("compile")
        assert metastore.get_valid_txns().high_watermark == before
        dbt_project.succeed("show", "--select", "first")
        assert metastore.get_valid_txns().high_watermark == before + 1, "the control"


def test_after_a_failing_model_nothing_is_held(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    make_shop(hive_client, database)
    dbt_project.sources(*SOURCES)
    dbt_project.models(
        bad="select raise_error('no') as x from {{ source('shop', 'orders') }}",
        good="select * from {{ source('shop', 'events') }}",
    )
    result = dbt_project.invoke("run")
    assert {r.node.name: str(r.status) for r in node_results(result)} == {
        "bad": "error",
        "good": "success",
    }
    assert_nothing_held(hive_client, database)
    assert {row[0] for row in hive_client.query("SHOW TABLES")} == {*SOURCES, "good"}


def test_fail_fast_stops_what_runs_and_retry_takes_it_up(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    make_shop(hive_client, database)
    dbt_project.sources(*SOURCES)
    # Its tasks would keep those of `seen` waiting for ten minutes.
    slow = (
        "-- depends_on: {{{{ ref('seen') }}}}\n"
        "select e.id, {} as s from {{{{ source('shop', 'events') }}}} e cross join range({})"
    )
    dbt_project.models(
        seen="select * from {{ source('shop', 'customers') }}", slow=slow.format(SLOW, 3000)
    )
    dbt_project.write("models/bad.py", FAILS_WHILE_ANOTHER_READS)
    started = time.monotonic()
    result = dbt_project.invoke("run", "--fail-fast")
    assert time.monotonic() - started < 120, "the slow model takes ten minutes"
    status = {r.node.name: str(r.status) for r in node_results(result)}
    assert (status["seen"], status["bad"]) == ("success", "error")
    assert status["slow"] in ("error", "skipped")
    assert_nothing_held(hive_client, database)
    assert {row[0] for row in hive_client.query("SHOW TABLES")} == {*SOURCES, "seen"}
    first = dbt_project.artifact("hiveacid_snapshot.json")["transaction"]["id"]

    hive_client.execute("INSERT INTO events VALUES (3, 'late')")
    dbt_project.models(slow=slow.format("0", 1))
    dbt_project.write(
        "models/bad.py",
        "def model(dbt, session):\n    dbt.ref('seen')\n    return dbt.source('shop', 'events')\n",
    )
    retried = dbt_project.succeed("retry")
    assert {r.node.name for r in node_results(retried)} == {"bad", "slow"}
    for model in ("bad", "slow"):
        assert sorted(hive_client.query(f"SELECT id FROM {model}")) == [(1,), (2,), (3,)]
    assert dbt_project.artifact("hiveacid_snapshot.json")["transaction"]["id"] > first
