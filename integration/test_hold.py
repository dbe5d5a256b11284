"""How long a run holds its locks, and its report of what it held and read."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt_common.events.base_types import EventMsg

from integration.support.dbt_project import DbtProject, finished
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held, locks_of_dbt, open_transactions

ORDERS = "select id from {{ source('shop', 'orders') }}"

AT_END = """
on-run-end:
  - >-
    {% if execute %}
    {% do log('report ' ~ tojson(adapter.hiveacid_snapshot_report()), info=true) %}
    {% endif %}
  - "{% if var('read_at_end') %}select count(*) from {{ source('shop', 'orders') }}{% endif %}"
vars: {read_at_end: false}
"""


def make_tables(hive: HiveClient, database: str) -> None:
    """Two sources: one with partitions and delete events, one as simple as can be."""
    hive.script(
        f"""
        CREATE TABLE {database}.orders (id int) PARTITIONED BY (day string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.orders PARTITION (day='1') VALUES (1), (2);
        INSERT INTO {database}.orders PARTITION (day='2') VALUES (3);
        DELETE FROM {database}.orders WHERE id = 2;
        CREATE TABLE {database}.items (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true');
        INSERT INTO {database}.items VALUES (1);
        """
    )


class Exclusive(threading.Thread):
    """Drops a table in Hive, which waits until nobody reads it."""

    def __init__(self, hive: HiveServer, table: str) -> None:
        super().__init__(daemon=True)
        self._hive, self._table = hive, table
        self.done = threading.Event()

    def run(self) -> None:
        with HiveClient(self._hive.hs2_port) as client:
            client.execute(f"DROP TABLE {self._table}")
        self.done.set()


class Watch:
    """Listens to a run; in its midst it asks Hive, and drops a source."""

    def __init__(
        self, hive: HiveServer, client: HiveClient, database: str, *, patience: float
    ) -> None:
        """`patience`: how many seconds the node `plain` waits for the source to be dropped."""
        self._client, self._database, self._patience = client, database, patience
        self.exclusive = Exclusive(hive, f"{database}.orders")
        self.locks: list[dict[str, Any]] = []
        self.open: set[str] = set()
        self.dropped_meanwhile = False
        self.said: list[str] = []

    def __call__(self, event: EventMsg) -> None:
        if event.info.name.startswith(("AdapterEvent", "JinjaLog")) and event.info.level != "debug":
            self.said.append(event.info.msg)  # type: ignore[attr-defined]
        if finished(event, "reader"):
            self.locks = locks_of_dbt(self._client, self._database)
            self.open = {str(row["txnid"]) for row in open_transactions(self._client)}
            self.exclusive.start()
        if finished(event, "plain"):
            self.dropped_meanwhile = self.exclusive.done.wait(self._patience)

    def told(self, part: str) -> list[str]:
        """The messages that contain a text."""
        return [message for message in self.said if part in message]


@pytest.fixture
def make_project(
    tmp_path: Path, hive: HiveServer, hive_client: HiveClient, database: str, spark: object
) -> Callable[..., DbtProject]:
    """Makes a project on both sources. A model fails, another over a source is skipped for it."""

    def make(**profile: Any) -> DbtProject:
        make_tables(hive_client, database)
        project = DbtProject(tmp_path / "project", hive, database, profile=profile)
        project.sources("orders", "items")
        settings = (project.path / "dbt_project.yml").read_text(encoding="utf-8")
        project.write("dbt_project.yml", settings + AT_END)
        project.models(
            part="{{ config(materialized='ephemeral') }} " + ORDERS + " where day = '2'",
            reader=ORDERS + " union all select id from {{ source('shop', 'items') }}",
            through="select * from {{ ref('part') }}",
            broken="select raise_error('no') as id from {{ source('shop', 'items') }}",
            skipped=ORDERS + " where id in (select id from {{ ref('broken') }})",
            plain="select count(*) as n from {{ ref('reader') }}",
        )
        return project

    return make


def files_on_disk(hive: HiveServer, database: str, table: str) -> list[Path]:
    """The bucket files that Hive has written, those of delete events too."""
    found = (Path(hive.warehouse) / f"{database}.db" / table).rglob("bucket_*")
    return [path for path in found if not path.name.endswith(".crc")]


def test_a_source_can_be_dropped_once_its_last_reader_has_ended(
    make_project: Callable[..., DbtProject],
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
) -> None:
    project = make_project()
    files = {table: files_on_disk(hive, database, table) for table in ("orders", "items")}
    assert {path.parent.name.rpartition("_delta_")[0] for path in files["orders"]} >= {"delete"}
    lengths = {table: sum(p.stat().st_size for p in paths) for table, paths in files.items()}
    high = {
        table: int(hive_client.query(f"SELECT max(row__id.writeid) FROM {table}")[0][0])
        for table in ("orders", "items")
    }
    watch = Watch(hive, hive_client, database, patience=60)
    result = project.invoke("run", "--vars", "read_at_end: true", on_event=watch)
    assert watch.dropped_meanwhile, "while the run went on"
    outcome = {r["unique_id"].split(".")[2]: r for r in project.run_results()}
    statuses = {name: r["status"] for name, r in outcome.items() if "on-run-end" not in name}
    assert statuses == {
        "reader": "success",
        "through": "success",
        "broken": "error",
        "skipped": "skipped",
        "plain": "success",
    }
    assert not result.success

    report = project.artifact("hiveacid_snapshot.json")
    run_results = project.artifact("run_results.json")
    assert report["metadata"]["invocation_id"] == run_results["metadata"]["invocation_id"]
    transaction = report["transaction"]
    assert {str(lock["transaction_id"]) for lock in watch.locks} == {str(transaction["id"])}
    assert str(transaction["id"]) in watch.open
    assert {lock["table"] for lock in watch.locks if lock["lock_state"] == "ACQUIRED"} == {
        source["table"].rpartition(".")[2] for source in report["sources"]
    }
    assert not transaction["is_open"]
    assert transaction["ended_after"] in {
        f"model.test.{name}" for name in ("reader", "through", "broken", "skipped")
    }
    assert 0 < transaction["held_seconds"] < run_results["elapsed_time"]
    for source in report["sources"]:
        table = source["table"].rpartition(".")[2]
        # The deleted row's own write id is in the delete events, of which Hive shows no rows.
        assert source["high_watermark"] == high[table] + (1 if table == "orders" else 0)
        assert source["write_ids"] == (
            f"{source['table']}:{source['high_watermark']}:9223372036854775807::"
        )
        assert (source["files"], source["bytes"]) == (len(files[table]), lengths[table])
        assert source["partitions"] == (2 if table == "orders" else 0)
        assert source["transaction_id"] == transaction["id"]
        assert source["held_seconds"] == transaction["held_seconds"]
        assert 0 <= source["lock_wait_seconds"] < 60
    read = {
        node["unique_id"]: {r["table"].rpartition(".")[2]: r for r in node["reads"]}
        for node in report["nodes"]
    }
    assert {name: set(tables) for name, tables in read.items()} == {
        "model.test.reader": {"orders", "items"},
        "model.test.through": {"orders"},
        "model.test.broken": {"items"},
    }
    assert read["model.test.reader"]["items"]["files"] == len(files["items"])
    # So do the node's response and the log. One row was deleted.
    (line,) = watch.told("model.test.reader: ")
    for table, events in (("items", 0), ("orders", 1)):
        amount = read["model.test.reader"][table]
        assert amount["delete_events"] == events
        (source,) = (s for s in report["sources"] if s["table"] == amount["table"])
        told = outcome["reader"]["adapter_response"]["reads"][amount["table"]]
        assert {"table": amount["table"], **told} == {**amount, "write_ids": source["write_ids"]}
        assert f"{source['table']} (write ids up to {high[table] + events}, " in line
    assert "model.test.reader: 3 rows; read " in line
    assert line.endswith(f", 1 delete event) in transaction {transaction['id']}")
    assert not watch.told("model.test.plain: ")

    # The hook saw the same, and could not read on.
    (told,) = watch.told("report ")
    seen = json.loads(told.partition("report ")[2])
    assert seen["metadata"].pop("generated_at") < report["metadata"].pop("generated_at")
    assert seen == report
    (hook,) = (r for name, r in outcome.items() if "on-run-end" in name and r["status"] == "error")
    assert f"the run has ended transaction {transaction['id']}" in hook["message"]
    assert "set `hold_until: run_end` in the profile" in hook["message"]
    (line,) = watch.told("One snapshot of ")
    assert line.endswith(f"ended after {transaction['ended_after']}")
    assert_nothing_held(hive_client, database)


def test_it_waits_for_the_end_of_a_run_that_holds_on(
    make_project: Callable[..., DbtProject],
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
) -> None:
    project = make_project(hold_until="run_end", hold_warning=1)
    watch = Watch(hive, hive_client, database, patience=5)
    project.invoke("run", "--exclude", "broken+", "--vars", "read_at_end: true", on_event=watch)
    assert not watch.dropped_meanwhile
    assert {r["status"] for r in project.run_results()} == {"success"}
    assert watch.exclusive.done.wait(60), "the run is over"
    (warning,) = watch.told("has held shared locks on ")
    assert warning.endswith("wait until the run ends.")
    (told,) = watch.told("report ")
    seen = json.loads(told.partition("report ")[2])["transaction"]
    report = project.artifact("hiveacid_snapshot.json")
    assert seen["is_open"] and not report["transaction"]["is_open"]
    assert seen["held_seconds"] < report["transaction"]["held_seconds"]
    assert report["transaction"]["ended_after"] is None
    assert report["nodes"][-1]["unique_id"].startswith("operation.test.test-on-run-end-")


BUILD_TESTS = """
models:
  - name: built
    columns: [{{name: id, data_tests: [not_null]}}]
sources:
  - name: shop
    schema: {database}
    tables:
      - name: orders
        columns: [{{name: id, data_tests: [not_null]}}]
"""

BATCHES = """
{{ config(materialized='incremental', incremental_strategy='microbatch', event_time='at',
   begin='2024-01-01', batch_size='day', file_format='delta', partition_by='at') }}
select id, date'2024-01-01' as at from {{ source('shop', 'orders') }}
"""

LATE = """
{% macro late(t) %}{% if execute %}from {{ source('shop', t) }} limit 1{% endif %}{% endmacro %}
"""


def test_every_kind_of_node_that_reads_a_source_keeps_it(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    make_tables(hive_client, database)
    project = dbt_project
    project.write("models/all.yml", BUILD_TESTS.format(database=database))
    project.write("macros/late.sql", LATE)
    project.write(
        "snapshots/kept.sql",
        "{% snapshot kept %}{{ config(unique_key='id', strategy='check', check_cols='all', "
        f"file_format='delta') }}}} {ORDERS} {{% endsnapshot %}}",
    )
    project.models(
        built=ORDERS,
        batches=BATCHES,
        dynamic="select 1 as n {{ late('orders') }}\n"
        "-- {{ ref('built') }} depends_on: {{ source('shop', 'orders') }}",
        last="select 1 as x -- {{ ref('dynamic') }} {{ ref('kept') }} {{ ref('batches') }}",
    )
    order: list[str] = []

    def listen(event: EventMsg) -> None:
        if event.info.name == "NodeFinished":
            order.append(event.data.node_info.node_name)
        elif "One snapshot of " in event.info.msg:  # type: ignore[attr-defined]
            order.append("ended")

    window = ("--event-time-start", "2024-01-01", "--event-time-end", "2024-01-04")
    project.succeed("build", *window, on_event=listen)
    assert order.count("ended") == 1
    before = order[: order.index("ended")]
    assert before.count("batches") == 4, "three batches and the model"
    assert {"built", "batches", "dynamic", "kept", "source_not_null_shop_orders_id"} <= {*before}
    assert "last" in order[order.index("ended") :]
    read = {node["unique_id"] for node in project.artifact("hiveacid_snapshot.json")["nodes"]}
    assert {name.split(".")[2] for name in read} == {
        "built",
        "batches",
        "dynamic",
        "kept",
        "source_not_null_shop_orders_id",
    }
    assert_nothing_held(hive_client, database)


def test_a_node_whose_source_dbt_cannot_find_is_told_how_to_name_it(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    make_tables(hive_client, database)
    project = dbt_project
    project.sources("orders")
    project.write("macros/late.sql", LATE)
    hidden = "select 1 as n {% if execute %}{{ late('orders') }}{% endif %} -- {{ ref('built') }}"
    project.models(built=ORDERS, hidden=hidden)
    assert not project.invoke("run").success
    (failed,) = (r for r in project.run_results() if r["status"] == "error")
    assert failed["unique_id"] == "model.test.hidden"
    assert f"Model hidden reads {database}.orders, but the run has ended" in failed["message"]
    advice = "-- depends_on: {{ source('shop', 'orders') }}"
    assert f"name it in the node's SQL: `{advice}`" in failed["message"]

    project.models(hidden=f"{hidden}\n{advice}")
    project.succeed("run")
    report = project.artifact("hiveacid_snapshot.json")
    assert report["transaction"]["ended_after"] == "model.test.hidden"
    assert_nothing_held(hive_client, database)


def test_what_a_view_reads_is_locked_at_once_and_held_for_its_last_reader(
    dbt_project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    """The views are built before, and not selected."""
    make_tables(hive_client, database)
    hive_client.execute("CREATE TABLE plain_rows (id int)")
    project = dbt_project
    project.sources("orders", "items")
    view = "{{ config(materialized='view') }}"
    project.models(
        stg=f"{view} select 1 as id -- {{{{ source('shop', 'orders') }}}}",
        between=f"{view} select * from {{{{ ref('stg') }}}}",
        first="select id from {{ source('shop', 'items') }}",
        mart="select * from {{ ref('between') }} -- {{ ref('first') }}",
        raw=f"select count(*) as n from {database}.plain_rows -- {{{{ ref('mart') }}}}",
        last="select * from {{ ref('mart') }} -- {{ ref('raw') }}",
    )
    project.succeed("run", "--select", "stg", "between")
    locked: set[str] = set()

    def listen(event: EventMsg) -> None:
        if finished(event, "first"):
            locked.update(lock["table"] for lock in locks_of_dbt(hive_client, database))

    project.succeed("run", "--select", "first", "mart", "last", on_event=listen)
    assert locked == {"items", "orders"}
    report = project.artifact("hiveacid_snapshot.json")
    assert report["transaction"]["ended_after"] == "model.test.mart"

    project.succeed("run", "--select", "first", "raw", "last")
    report = project.artifact("hiveacid_snapshot.json")
    assert report["transaction"]["ended_after"] == "model.test.raw", "it may be any table"
    assert_nothing_held(hive_client, database)
