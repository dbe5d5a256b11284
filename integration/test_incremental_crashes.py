"""A run that is killed at any step leaves what the next run makes right.

`make test` kills at the steps of `SHORT`, `make long` at every step on every format.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.crash_page import DBT, PAGE, write_section
from integration.support.crash_points import STEPS, CrashPoint, crash_points, document
from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import ORDERS, Incremental
from integration.support.metastore import locks_of_dbt
from integration.support.stopped_dbt import StoppedDbt, settings_like

_FOUND: dict[CrashPoint, str] = {}
_SECONDS: list[float] = []
"""What the long tests of this process have found so far, and how long they took."""


class Crashes:
    """Models that are killed, one a crash point, and what becomes of them."""

    def __init__(self, incremental: Incremental, hive: HiveServer, work: Path) -> None:
        self._incremental = incremental
        self._server = hive
        self._hive = incremental.hive
        self._work = work

    def kill(self, points: Sequence[CrashPoint], *, wait: bool = False) -> dict[CrashPoint, str]:
        """What is wrong with each model after the next runs; `right` if nothing is.

        With `wait` the metastore's timeout ends the dead run's transaction.
        """
        run, project = self._incremental.run, self._incremental.project
        self._source("orders")
        self._source("events")
        project.sources("orders", "events")
        project.models(**{point.model: point.sql for point in points})
        self._incremental.run_except([it.model for it in points if it.kind == "first run"])
        self._hive.execute("UPDATE orders SET amount = amount + 1 WHERE id IN (1, 2)")
        for source in ("orders", "events"):
            self._hive.execute(f"INSERT INTO {source} VALUES (5, 50, 'new'), (6, 60, 'paid')")
            self._hive.execute(f"INSERT INTO {source} VALUES (7, 70, 'new'), (8, 80, 'paid')")
        self._hive.execute("DELETE FROM orders WHERE id IN (3, 6)")

        stops = {point.model: point.stop for point in points}
        slow = ("--vars", "{slow: true, anew: true}")
        with StoppedDbt(project, stops, self._work / "killed", *slow) as dbt:
            dbt.wait()
            dbt.kill()
        if not wait:
            self._end_transactions()
        run()
        told = [
            text for text in self._incremental.warnings if "before its rows were checked" in text
        ]
        outcomes = {point: self._outcome(point) for point in points}
        for point in points:
            if point.step == "rows checked" and not any(point.model in text for text in told):
                outcomes[point] += "; the next run goes on from rows that nobody has checked"
        messages = run()
        for point in points:
            if point.kind != "table" and messages[point.model] != "OK, no changes":
                outcomes[point] += f"; the run after that says {messages[point.model]}"
        if wait:
            self._end_transactions()
            self._hive.execute("INSERT INTO orders VALUES (9, 90, 'new')")
            self._hive.execute("INSERT INTO events VALUES (9, 90, 'new')")
            run()
        database = self._incremental.database
        tables = self._tables(database)
        directory = self._server.warehouse / f"{database}.db"
        assert {path.name for path in directory.iterdir()} == tables, "directories"
        models = {point.model for point in points}
        tables |= self._tables(f"lake.{database}")
        assert tables == {"orders", "events", *models}, "stages and backups"
        return outcomes

    def _source(self, name: str) -> None:
        self._hive.script(ORDERS.format(clause="").replace("TABLE orders", f"TABLE {name}"))
        self._hive.execute(
            f"INSERT INTO {name} VALUES (1, 10, 'new'), (2, 20, 'paid'), (3, 30, 'new')"
        )
        self._hive.execute(f"INSERT INTO {name} VALUES (4, 40, 'paid')")

    def _end_transactions(self) -> None:
        """What the metastore does after its timeout."""
        database = self._incremental.database
        held = {str(lock["transaction_id"]) for lock in locks_of_dbt(self._hive, database)}
        for transaction in held:
            self._hive.execute(f"ABORT TRANSACTIONS {transaction}")

    def _outcome(self, point: CrashPoint) -> str:
        expected = self._incremental.hives_rows(point.source)
        rows = self._incremental.rows(point.model)
        if rows != expected:
            return f"{rows} instead of {expected}"
        if point.file_format == "iceberg":
            refs = self._incremental.rows(f"{point.model}.refs", "name")
            if refs != [("main",)]:
                return f"the table has {refs}"
        return "right"

    def _tables(self, schema: str) -> set[str]:
        session = self._incremental.spark.newSession()
        if not session.catalog.databaseExists(schema):
            return set()
        return {row.tableName for row in session.sql(f"show tables in {schema}").collect()}


@pytest.fixture
def crashes(
    tmp_path: Path,
    hive: HiveServer,
    hive_client: HiveClient,
    spark: SparkSession,
    database: str,
) -> Crashes:
    """Crashes of a process with a Spark of its own."""
    project = DbtProject(
        tmp_path / "project",
        hive,
        database,
        profile={"lock_timeout": 90},
        spark=settings_like(spark),
    )
    return Crashes(Incremental(project, hive_client, spark, database), hive, tmp_path)


#: Every step of the format that has the most, each once; the others are done by `make long`.
SHORT = [
    *crash_points("parquet", ["by unique_key", "appending"]),
    CrashPoint("parquet", "first run", "being written"),
    CrashPoint("parquet", "first run", "in place"),
    CrashPoint("parquet", "full refresh", "former version renamed"),
    CrashPoint("parquet", "table", "former version renamed"),
    CrashPoint("delta", "by row id", "committed"),
    CrashPoint("delta", "full refresh", "rows checked"),
    CrashPoint("iceberg", "by row id", "written in a branch"),
    CrashPoint("iceberg", "first run", "rows checked"),
]


def test_a_run_that_is_killed_is_made_right_by_the_next(crashes: Crashes) -> None:
    outcomes = crashes.kill(SHORT)
    wrong = {point.model: text for point, text in outcomes.items() if text != "right"}
    assert wrong == {}


@pytest.mark.long("every step on every format, and the metastore's timeout")
@pytest.mark.parametrize("file_format", STEPS)
def test_a_run_that_is_killed_at_any_step(crashes: Crashes, file_format: str) -> None:
    """Waits for the metastore's timeout, and writes docs/crash-points.md."""
    started = time.monotonic()
    outcomes = crashes.kill(crash_points(file_format), wait=True)
    _FOUND.update(outcomes)
    _SECONDS.append(time.monotonic() - started)
    write_section(DBT, document(_FOUND, dt.date.today(), sum(_SECONDS)))
    wrong = {point.model: text for point, text in outcomes.items() if text != "right"}
    assert wrong == {}, f"See {PAGE}"
