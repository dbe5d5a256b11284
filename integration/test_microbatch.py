"""Microbatches of one model that run at the same time, over an ACID source."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import EXAMPLES, LAKE, SCHEMAS
from integration.support.metastore import assert_nothing_held
from integration.support.tables import REPEATS

FORMATS = {
    "of_parquet": "file_format='parquet'",
    "of_delta": "file_format='delta'",
    "of_lake": LAKE,
}
DAYS = 10
HOURS = (0, 1, 23)
THREADS = 8
AT_A_TIME = THREADS - 1
"""dbt keeps one thread for the model itself; the first and the last batch run alone."""
EVENTS = "select id, cast(at as date) as day from {{ source('shop', 'events') }}"


@pytest.fixture
def project(
    tmp_path: Path, hive: HiveServer, spark: SparkSession, hive_client: HiveClient, database: str
) -> DbtProject:
    """A model of each format with a batch for each of the source's days."""
    hive_client.execute(
        "CREATE TABLE events (id int, at timestamp) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    rows = ", ".join(
        f"({day * 100 + n}, timestamp '2024-01-{day:02} {n:02}:00:00')"
        for day in range(1, DAYS + 1)
        for n in HOURS
    )
    hive_client.execute(f"INSERT INTO events VALUES {rows}")
    project = DbtProject(tmp_path / "project", hive, database, threads=THREADS)
    project.write(SCHEMAS, (EXAMPLES / SCHEMAS).read_text(encoding="utf-8"))
    project.sources("events", config={"event_time": "at"})
    for name, file_format in FORMATS.items():
        project.models(
            **{
                name: "{{ config(materialized='incremental', incremental_strategy='microbatch', "
                "event_time='at', batch_size='day', begin='2024-01-01', partition_by=['day'], "
                f"{file_format}) }}}} {EVENTS}"
            }
        )
    return project


class Together:
    """Holds up batches until as many have started as can, so that they run at the same time."""

    def __init__(self) -> None:
        self._started: set[int] = set()
        self._changed = threading.Condition()
        self._is_late = False
        self.met = False

    def __call__(self, event: EventMsg) -> None:
        if event.info.name != "LogStartBatch" or event.data.batch_index in (1, DAYS):
            return
        with self._changed:
            self._started.add(event.data.batch_index)
            if len(self._started) == AT_A_TIME and not self._is_late:
                self.met = True
                self._changed.notify_all()
            # Those that have come wait here, so that none of them has gone on.
            if not self._changed.wait_for(lambda: self.met or self._is_late, timeout=60):
                self._is_late = True
                self._changed.notify_all()


@pytest.mark.parametrize(
    "model",
    [
        "of_parquet",
        pytest.param("of_delta", marks=REPEATS),
        pytest.param("of_lake", marks=REPEATS),
    ],
)
def test_batches_at_the_same_time(
    project: DbtProject, hive_client: HiveClient, spark: SparkSession, database: str, model: str
) -> None:
    def run() -> None:
        together = Together()
        arguments = ("--event-time-start", "2024-01-01", "--event-time-end", f"2024-01-{DAYS + 1}")
        project.succeed("run", "--select", model, *arguments, on_event=together)
        assert together.met, f"{AT_A_TIME} batches at a time"
        schema = f"lake.{database}" if model == "of_lake" else database
        # This session does not see what those of dbt's connections have overwritten.
        spark.sql(f"refresh table {schema}.{model}")
        rows = spark.sql(f"select id, day from {schema}.{model}").collect()
        expected = canonical(hive_client.query("SELECT id, cast(at AS date) FROM events"))
        assert canonical(rows) == expected

    run()
    hive_client.execute("UPDATE events SET id = id + 10000 WHERE id % 2 = 0")
    hive_client.execute("DELETE FROM events WHERE id % 100 = 1")
    run()
    assert_nothing_held(hive_client, database)
    # A session's temporary views are shown, too: those of the run's other tests.
    left = [row for row in spark.sql(f"show tables in {database}").collect() if not row.isTemporary]
    assert not [row.tableName for row in left if "__dbt_" in row.tableName]


def test_a_batch_is_a_day_of_the_sessions_clock(
    project: DbtProject, hive_client: HiveClient, spark: SparkSession, database: str
) -> None:
    """A batch that is off by the session's zone overwrites two days with a part of each."""
    zone = {"spark.sql.session.timeZone": "America/New_York"}
    project.add_target("new_york", database, spark=zone)
    arguments = ("--event-time-start", "2024-01-02", "--event-time-end", "2024-01-05")
    project.succeed("run", "--select", "of_parquet", "--target", "new_york", *arguments)
    rows = spark.sql(f"select id, day from {database}.of_parquet").collect()
    assert canonical(rows) == canonical(
        hive_client.query(
            "SELECT id, cast(at AS date) FROM events "
            "WHERE cast(at AS date) BETWEEN '2024-01-02' AND '2024-01-04'"
        )
    )
