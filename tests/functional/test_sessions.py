"""Connections: their rows, their counts, and that they can be stopped."""

import threading
import time
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from dbt_common.exceptions import DbtRuntimeError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from dbt.adapters.hiveacid.spark.progress import task_counter
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.spark.sql import in_utc

SLOW = (
    "select count(slept) from "
    "(select reflect('java.lang.Thread', 'sleep', 100L) as slept from range(0, 600, 1, 60))"
)
"""Half a minute on two cores, in 60 tasks."""


@pytest.fixture
def handle(spark):
    return SessionHandle(spark, {"spark.sql.shuffle.partitions": "3", "spark.master": "local"})


def run(handle, sql, bindings=None):
    cursor = handle.cursor()
    cursor.execute(sql, bindings)
    return cursor


def test_rows_come_once(handle):
    cursor = run(handle, "select id from range(5) order by id;")
    assert cursor.fetchone()[0] == 0
    assert [row[0] for row in cursor.fetchmany(2)] == [1, 2]
    assert [row[0] for row in cursor.fetchall()] == [3, 4]
    assert cursor.fetchone() is None
    assert [column[:2] for column in cursor.description] == [("id", "bigint")]


def test_connections_share_neither_settings_nor_temporary_views(spark, handle):
    other = SessionHandle(spark, {})
    run(handle, "create temporary view mine as select 1")
    assert handle.session.catalog.tableExists("mine")
    assert not other.session.catalog.tableExists("mine")
    assert handle.session.conf.get("spark.sql.shuffle.partitions") == "3"
    assert other.session.conf.get("spark.sql.shuffle.partitions") == "1"


def test_values_of_seeds_arrive_as_they_are(handle):
    values = [None, True, Decimal("12345678901234567.25"), "it's a \\ and a %", date(2024, 2, 29)]
    values += [datetime(2024, 2, 29, 12, 30, 15, 123456), 7]
    types = ["string", "boolean", "decimal(20,2)", "string", "date", "timestamp_ntz", "bigint"]
    casts = ", ".join(f"cast(%s as {name})" for name in types)
    assert list(run(handle, f"select {casts}", values).fetchone()) == values


@pytest.fixture
def in_berlin(monkeypatch):
    """A Python process in Berlin."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Europe/Berlin")
        time.tzset()
        yield
    time.tzset()


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "+05:30"])
def test_timestamps_are_shown_by_the_sessions_clock(spark, in_berlin, zone):
    handle = SessionHandle(spark, {"spark.sql.session.timeZone": zone})
    noon, night = "timestamp'2026-07-01 12:00:00.25'", "timestamp'2026-03-29 02:30:00'"
    query = f"select {noon} as t, {night} as t, 7 as n, timestamp_ntz'2026-01-01 00:00:00' as z"
    shown = datetime(2026, 7, 1, 12, 0, 0, 250000)
    times = [shown, datetime(2026, 3, 29, 2, 30), 7, datetime(2026, 1, 1)]
    cursor = run(handle, query)
    # What dbt looks at for a model's columns stays.
    kinds = ["timestamp", "timestamp", "int", "timestamp_ntz"]
    assert [column[:2] for column in cursor.description] == list(zip("ttnz", kinds, strict=True))
    assert list(cursor.fetchone()) == times
    inside = run(handle, f"select array({noon}), map({noon}, 1), named_struct('a', {noon})")
    assert list(inside.fetchone()) == [[shown], {shown: 1}, (shown,)]
    assert run(handle, f"select {noon} where false").fetchall() == []
    moment = in_utc(handle.session, shown)
    offsets = {"UTC": 0, "America/New_York": -4, "+05:30": 5.5}
    assert moment == shown.replace(tzinfo=timezone.utc) - timedelta(hours=offsets[zone])


def test_what_a_command_answers_has_timestamps_too(spark, in_berlin):
    handle = SessionHandle(spark, {"spark.sql.session.timeZone": "UTC"})
    try:
        run(handle, "create table default.dated using delta as select 1 as i")
        (commit,) = run(handle, "describe history default.dated").fetchall()
        age = datetime.now(timezone.utc).replace(tzinfo=None) - commit["timestamp"]
        assert abs(age) < timedelta(minutes=10)
    finally:
        handle.session.sql("drop table if exists default.dated")


@pytest.mark.parametrize("file_format", ["parquet", "delta"])
def test_written_rows_are_counted(handle, file_format):
    table = f"default.counted_{file_format}"
    try:
        created = run(handle, f"create table {table} using {file_format} as select 1 as i")
        assert created.rows_written() == 1
        inserted = run(handle, f"insert into {table} select id from range(3)")
        assert inserted.rows_written() == 3
        assert run(handle, f"select * from {table}").rows_written() is None
    finally:
        handle.session.sql(f"drop table if exists {table}")


def test_delta_tells_the_rows_that_it_changed(handle):
    try:
        run(handle, "create table default.changed using delta as select id from range(5)")
        deleted = run(handle, "delete from default.changed where id < 2")
        assert deleted.rows_written() == 2
    finally:
        handle.session.sql("drop table if exists default.changed")


def test_a_query_whose_rows_nobody_wants_is_run(handle, monkeypatch):
    with pytest.raises(PySparkException, match="is not true!"):
        run(handle, "select assert_true(id < 3) from range(5)").run_query()
    run(handle, "select id as twice, id as twice from range(5)").run_query()
    # What a command answers is not computed again.
    monkeypatch.setattr(DataFrame, "write", None)
    for command in ("set spark.dbt.one = 1", "show tables in default", "describe function abs"):
        run(handle, command).run_query()


def test_statements_without_rows_count_none(handle):
    assert run(handle, "set spark.sql.shuffle.partitions = 2").rows_written() is None
    assert run(handle, "create or replace temporary view v as select 1").rows_written() is None


def query(handle):
    run(handle, SLOW).fetchall()


def python_code(handle):
    handle.cursor().run(lambda: handle.session.sql(SLOW).collect())


def start_slow(handle, slow=query):
    errors = []

    def work():
        try:
            slow(handle)
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    tracker = handle.session.sparkContext.statusTracker()
    until = time.monotonic() + 60
    while not tracker.getActiveJobsIds():
        assert thread.is_alive() and time.monotonic() < until, f"it never started: {errors}"
        time.sleep(0.05)
    return thread, errors


@pytest.mark.parametrize("slow", [query, python_code])
def test_cancel_stops_the_jobs_and_lets_nothing_start(handle, spark, slow):
    thread, errors = start_slow(handle, slow)
    started = time.monotonic()
    handle.cancel()
    thread.join(20)
    assert not thread.is_alive()
    assert time.monotonic() - started < 10
    assert len(errors) == 1
    assert not spark.sparkContext.statusTracker().getActiveJobsIds()
    with pytest.raises(DbtRuntimeError, match="The run was cancelled before this statement"):
        run(handle, "select 1")


def test_cancel_leaves_other_connections_alone(handle, spark):
    other = SessionHandle(spark, {})
    thread, errors = start_slow(handle)
    other.cancel()
    tasks, tag = task_counter(spark.sparkContext), handle._running._tag
    until = time.monotonic() + 60
    while tasks(tag)[0] < 2:
        assert thread.is_alive() and time.monotonic() < until, errors
        time.sleep(0.05)
    done, every = tasks(tag)
    # The stage of the result has one more task, which Spark may know of already.
    assert 2 <= done < every <= 61 and every >= 60, "what the terminal tells of the statement"
    assert tasks("another") == (0, 0)
    assert thread.is_alive()
    handle.stop_statement()
    thread.join(20)
    assert not thread.is_alive()
    assert run(handle, "select 1").fetchone()[0] == 1


def test_what_belongs_together_runs_to_its_end(handle):
    handle.cancel()
    with handle.uninterrupted():
        assert run(handle, "select 1").fetchone()[0] == 1
    with pytest.raises(DbtRuntimeError):
        run(handle, "select 1")
