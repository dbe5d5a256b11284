"""A run keeps its transaction while it works, and replaces no target once it has lost it."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from integration.support.dbt_project import SLOW, DbtProject, finished, spark_settings
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.incremental import EXAMPLES, LAKE, SCHEMAS
from integration.support.metastore import locks_of_dbt
from integration.support.tables import REPEATS

SOURCE = "shop.orders"

#: The ways to build a target that is there already, by the model's name.
CONFIGS = {
    "rebuilt": "materialized='table'",
    "appended": "materialized='incremental', incremental_strategy='append'",
    "overwritten": "materialized='incremental', incremental_strategy='insert_overwrite'",
    "delta": "materialized='table', file_format='delta'",
    "merged": "materialized='incremental', incremental_strategy='merge', unique_key='id',"
    " file_format='delta'",
    "iceberg": f"materialized='table', {LAKE}",
}


@pytest.fixture(scope="module")
def hasty_hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive that aborts a transaction 10 to 12 seconds after its last heartbeat."""
    settings = HiveSettings(txn_timeout=10, reaper_interval=2)
    with HiveServer(settings, work=tmp_path_factory.mktemp("hasty_hive")) as server:
        yield server


@pytest.fixture(scope="module")
def hasty_client(hasty_hive: HiveServer) -> Iterator[HiveClient]:
    """A session on that Hive, which holds the sources; the targets are in the shared one."""
    with HiveClient(hasty_hive.hs2_port) as client:
        client.execute("CREATE DATABASE shop")
        yield client


MakeProject = Callable[..., DbtProject]


@pytest.fixture
def make_project(
    tmp_path: Path,
    hive: HiveServer,
    hasty_hive: HiveServer,
    hasty_client: HiveClient,
    database: str,
    spark: SparkSession,
) -> Iterator[MakeProject]:
    """Makes the test's project with other keys in its profile; its source has one row."""

    def make(threads: int = len(CONFIGS), **profile: Any) -> DbtProject:
        project = DbtProject(
            tmp_path / "project",
            hasty_hive,
            "shop",
            schema=database,
            threads=threads,
            profile=profile,
            spark=spark_settings(hive),
        )
        project.sources("orders")
        project.write(SCHEMAS, (EXAMPLES / SCHEMAS).read_text(encoding="utf-8"))
        return project

    spark.sql(f"create schema lake.{database}")
    hasty_client.execute(
        f"CREATE TABLE {SOURCE} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hasty_client.execute(f"INSERT INTO {SOURCE} VALUES (1)")
    yield make
    hasty_client.execute(f"DROP TABLE {SOURCE}")


def model(config: str, after: str | None = None) -> str:
    """A model that makes `repeat` rows, a variable, of each of the source's, 0.2 seconds each.

    Their ids count on from the source's.
    """
    return (
        f"{{{{ config({config}) }}}}\n"
        + (f"-- depends_on: {{{{ ref('{after}') }}}}\n" if after else "")
        + f"select o.id + n.id as id, {SLOW} as slept from {{{{ source('shop', 'orders') }}}} o"
        " cross join range(0, {{ var('repeat', 1) }}, 1, 1) n"
    )


def repeat(seconds: float) -> list[str]:
    """Command line arguments that make a model last so long, with one row in the source."""
    return ["--vars", json.dumps({"repeat": round(seconds / 0.2)})]


def contents(spark: SparkSession, database: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every table of a database, in both catalogs, as Spark's users find it, and its rows."""
    session = spark.newSession()
    return {
        row.tableName: sorted(map(tuple, session.table(f"{schema}.{row.tableName}").collect()))
        for schema in (database, f"lake.{database}")
        for row in session.sql(f"show tables in {schema}").collect()
    }


def outcome(project: DbtProject) -> dict[str, tuple[str, str]]:
    """Status and message of each node of the last command; the message in one line."""
    return {
        result["unique_id"].rpartition(".")[2]: (
            result["status"],
            " ".join(line.strip() for line in result["message"].splitlines()),
        )
        for result in project.run_results()
    }


def lost(name: str, transaction: str) -> tuple[str, str]:
    """The outcome of a model whose transaction was aborted."""
    return (
        "error",
        f"Runtime Error in model {name} (models/{name}.sql) "
        f"[HIVEACID_TRANSACTION_LOST] Metastore transaction {transaction}, which held the "
        f"snapshot of {SOURCE}, is lost: the metastore has aborted it. Files of the snapshot may "
        "be gone, so rows may be wrong from now on. Take a new snapshot. If it is lost, too, see "
        "the metastore's log, or lower heartbeat_interval. No target is replaced. Run dbt again.",
    )


def abort_transaction(hive: HiveClient) -> str:
    """What an administrator would do. The id of the transaction of dbt's that it was."""
    (transaction,) = {lock["transaction_id"] for lock in locks_of_dbt(hive, "shop")}
    hive.execute(f"ABORT TRANSACTIONS {transaction}")
    return str(transaction)


class AbortWhileReading(threading.Thread):
    """Aborts the transaction of the run once `jobs` Spark jobs have been at work for a moment."""

    def __init__(self, hive: HiveServer, spark: SparkSession, jobs: int) -> None:
        super().__init__()
        self._hive = hive
        self._tracker = spark.sparkContext.statusTracker()
        self._jobs = jobs
        self.transaction: str | None = None

    def run(self) -> None:
        with HiveClient(self._hive.hs2_port) as client:
            deadline = time.monotonic() + 120
            while len(self._tracker.getActiveJobsIds()) < self._jobs:
                if time.monotonic() > deadline:
                    return
                time.sleep(0.05)
            time.sleep(0.5)
            self.transaction = abort_transaction(client)


@pytest.mark.long("waits for longer than the metastore's timeout")
def test_a_run_longer_than_the_timeout_keeps_its_transaction(
    make_project: MakeProject, spark: SparkSession, database: str
) -> None:
    project = make_project(threads=1)
    project.models(
        first=model(CONFIGS["rebuilt"]),
        second=model(CONFIGS["appended"], after="first"),
    )
    project.succeed("run")
    started = time.monotonic()
    project.succeed("run", *repeat(20))
    assert time.monotonic() - started > 40
    assert {name: len(rows) for name, rows in contents(spark, database).items()} == {
        "first": 100,
        "second": 101,
    }


def test_without_heartbeats_the_same_run_fails(
    make_project: MakeProject, spark: SparkSession, database: str
) -> None:
    project = make_project(threads=1, heartbeat_interval=0)
    project.models(
        first=model(CONFIGS["rebuilt"]),
        second=model(CONFIGS["appended"]),
    )
    project.succeed("run")
    before = contents(spark, database)
    assert not project.invoke("run", *repeat(20)).success
    for status, message in outcome(project).values():
        assert status == "error"
        assert f"which held the snapshot of {SOURCE}, is lost: " in message
    assert contents(spark, database) == before


def test_lost_between_two_models(
    make_project: MakeProject, hasty_client: HiveClient, spark: SparkSession, database: str
) -> None:
    project = make_project()
    project.models(
        first=model("materialized='table'"),
        plain="select 1 as x -- {{ ref('first') }}",
        **{name: model(config, after="first") for name, config in CONFIGS.items()},
    )
    project.succeed("run")
    before = contents(spark, database)
    hasty_client.execute(f"INSERT INTO {SOURCE} VALUES (2)")
    aborted: list[str] = []

    def abort_once_first_is_there(event: Any) -> None:
        if finished(event, "first"):
            aborted.append(abort_transaction(hasty_client))

    assert not project.invoke("run", on_event=abort_once_first_is_there).success
    (transaction,) = aborted
    after = outcome(project)
    assert after.pop("first")[0] == "success", "it was finished before the loss"
    assert after.pop("plain")[0] == "success", "it reads no ACID source"
    assert after == {name: lost(name, transaction) for name in CONFIGS}
    now = contents(spark, database)
    assert now.keys() == before.keys(), "no stage is left"
    assert now["first"] == [(1, "null"), (2, "null")]
    assert {name: now[name] for name in CONFIGS} == {name: before[name] for name in CONFIGS}

    project.succeed("run")
    rows = {name: [row[0] for row in rows] for name, rows in contents(spark, database).items()}
    assert {name: rows[name] for name in CONFIGS} == {
        "rebuilt": [1, 2],
        "appended": [1, 1, 2],
        "overwritten": [1, 2],
        "delta": [1, 2],
        "iceberg": [1, 2],
        "merged": [1, 2],
    }


def test_heartbeats_find_the_loss_and_stop_the_models_that_read(
    make_project: MakeProject, hasty_hive: HiveServer, spark: SparkSession, database: str
) -> None:
    project = make_project()
    project.models(**{name: model(config) for name, config in CONFIGS.items()})
    project.succeed("run")
    before = contents(spark, database)
    abort = AbortWhileReading(hasty_hive, spark, jobs=len(CONFIGS))
    abort.start()
    started = time.monotonic()
    assert not project.invoke("run", *repeat(60)).success
    assert time.monotonic() - started < 60, "the models were stopped"
    abort.join()
    assert abort.transaction is not None
    assert outcome(project) == {name: lost(name, abort.transaction) for name in CONFIGS}
    assert contents(spark, database) == before
    tracker = spark.sparkContext.statusTracker()
    deadline = time.monotonic() + 5
    while tracker.getActiveJobsIds():  # a cancelled job ends once its tasks have noticed
        assert time.monotonic() < deadline, "a Spark job goes on"
        time.sleep(0.1)


@pytest.mark.parametrize(
    "name",
    [
        "rebuilt",
        "iceberg",
        pytest.param("delta", marks=REPEATS),
        pytest.param("appended", marks=REPEATS),
        pytest.param("overwritten", marks=REPEATS),
        pytest.param("merged", marks=REPEATS),
    ],
)
def test_a_loss_that_no_heartbeat_finds_leaves_the_target_as_it_was(
    make_project: MakeProject,
    hasty_hive: HiveServer,
    spark: SparkSession,
    database: str,
    name: str,
) -> None:
    project = make_project(heartbeat_interval=0)
    project.models(**{name: model(CONFIGS[name])})
    project.succeed("run")
    before = contents(spark, database)
    abort = AbortWhileReading(hasty_hive, spark, jobs=1)
    abort.start()
    assert not project.invoke("run", *repeat(8)).success
    abort.join()
    assert abort.transaction is not None
    assert outcome(project) == {name: lost(name, abort.transaction)}
    assert contents(spark, database) == before


def test_a_file_that_vanishes_after_a_loss_that_no_heartbeat_finds(
    make_project: MakeProject, hasty_hive: HiveServer, hasty_client: HiveClient
) -> None:
    """The loss is what is reported: it is why Hive's cleaner was free to remove the file."""
    project = make_project(heartbeat_interval=0)
    project.models(
        gone='{{ config(pre_hook="create temporary view seen as select * from '
        "{{ source('shop', 'orders') }}\") }} select * from seen"
    )
    (file,) = (hasty_hive.warehouse / "shop.db" / "orders").glob("delta_*/bucket_*")
    aborted: list[str] = []

    def abort_and_remove(event: Any) -> None:
        if event.info.name == "SQLQuery" and "select * from seen" in event.data.sql:
            aborted.append(abort_transaction(hasty_client))
            file.unlink()

    assert not project.invoke("run", on_event=abort_and_remove).success
    (transaction,) = aborted
    assert outcome(project) == {"gone": lost("gone", transaction)}


@pytest.mark.parametrize("stored", [pytest.param(False, marks=REPEATS), True])
def test_a_data_test_that_reads_after_a_loss_does_not_pass(
    make_project: MakeProject,
    hasty_hive: HiveServer,
    hasty_client: HiveClient,
    spark: SparkSession,
    database: str,
    stored: bool,
) -> None:
    """Files of a source that is read late may be gone by then: it would look empty."""
    hasty_client.execute(
        "CREATE TABLE shop.late (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hasty_client.execute("INSERT INTO shop.late VALUES (NULL)")
    # The next heartbeat comes when the test has read.
    project = make_project(threads=1, heartbeat_interval=8)
    project.sources("orders", "late")
    project.models(first=model("materialized='table'"))
    project.write(
        "tests/not_null.sql",
        f"{{{{ config(store_failures={stored}, schema='{database}') }}}}\n"
        "-- depends_on: {{ ref('first') }}\n"
        "select id from {{ source('shop', 'late') }} where id is null",
    )
    assert not project.invoke("build").success
    before = contents(spark, database).get("not_null")
    assert before == ([(None,)] if stored else None)
    aborted: list[str] = []

    def abort_and_clean(event: Any) -> None:
        if event.info.name == "NodeStart" and event.data.node_info.node_name == "not_null":
            aborted.append(abort_transaction(hasty_client))
            for directory in (hasty_hive.warehouse / "shop.db" / "late").iterdir():
                shutil.rmtree(directory)

    try:
        assert not project.invoke("build", on_event=abort_and_clean).success
        (transaction,) = aborted
        status, message = outcome(project)["not_null"]
        assert status == "error", "it has found no row"
        assert f"Metastore transaction {transaction}, which held the snapshot" in message
        assert contents(spark, database).get("not_null") == before
    finally:
        hasty_client.execute("DROP TABLE shop.late")
