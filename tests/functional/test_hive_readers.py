"""Statements that write tables for Hive: the settings they run with, and the warnings before them.

Whether Hive reads the tables: integration/test_targets_in_hive.py.
"""

import re

import pytest

from dbt.adapters.hiveacid.node_context import NodeContext, Stage
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.spark.time_zones import SESSION_ZONE, TimeZones
from dbt.adapters.hiveacid.targets import hive_readers
from dbt.adapters.hiveacid.targets.hive_readers import HiveReaders

LEGACY = "spark.sql.parquet.writeLegacyFormat"
CALENDAR = "spark.sql.parquet.datetimeRebaseModeInWrite"
CODEC = "spark.sql.orc.compression.codec"
CORRECTED = {CALENDAR: "CORRECTED"}
TIMES = "select 1 as id, array(current_timestamp()) as seen, timestamp_ltz'2026-01-31' as made"
TABLES = ("t", "times", "lake")


@pytest.fixture
def warnings(monkeypatch):
    found = []
    monkeypatch.setattr(hive_readers.logger, "warning", found.append)
    monkeypatch.setattr(hive_readers, "has_its_tables_in", lambda *_: True)
    return found


@pytest.fixture
def prepare(spark, warnings):
    """Prepare a statement in a session of its own, and run it. Return the session."""

    def prepare(sql, readers=None, settings=CORRECTED, stages=()):
        node = NodeContext(SessionHandle(spark, settings))
        node.stages.update(stages)
        readers = readers or HiveReaders("uri", lambda: "4.0.1", CORRECTED)
        plan = node.session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
        readers.prepare(node, plan)
        node.session.sql(sql)
        return node.session

    yield prepare
    for table in TABLES:
        spark.sql(f"drop table if exists default.{table}")


def hive(version):
    return HiveReaders("uri", lambda: version, CORRECTED)


@pytest.mark.parametrize(
    ("version", "format", "key", "expected"),
    [
        ("3.0", "parquet", LEGACY, "true"),
        ("3.1.3000.7.1", "parquet", LEGACY, "true"),
        ("4.0.1", "parquet", LEGACY, "false"),
        ("3.0", "parquet", CALENDAR, "CORRECTED"),
        ("4.0.1", "parquet", CALENDAR, "LEGACY"),
        ("3.0", "orc", CODEC, "snappy"),
        ("3.0", "delta", LEGACY, "false"),
        ("4.0.1", "delta", CALENDAR, "CORRECTED"),
    ],
)
def test_files_are_written_as_hive_reads_them(prepare, version, format, key, expected):
    session = prepare(f"create table default.t using {format} as select 1 as id", hive(version))
    assert session.conf.get(key) == expected


@pytest.mark.parametrize(("key", "chosen"), [(LEGACY, "false"), (CODEC, "zstd")])
def test_a_setting_of_the_users_own_stays(prepare, key, chosen):
    format = "orc" if "orc" in key else "parquet"
    sql = f"create table default.t using {format} as select 1 as id"
    assert prepare(sql, hive("3.0"), {key: chosen}).conf.get(key) == chosen


def test_a_default_of_the_adapters_own_gives_way(prepare):
    sql = "create table default.t using parquet as select 1 as id"
    assert prepare(sql, settings={CALENDAR: "CORRECTED"}).conf.get(CALENDAR) == "LEGACY"
    sql = "insert into default.t select 2"
    assert prepare(sql, settings={CALENDAR: "EXCEPTION"}).conf.get(CALENDAR) == "EXCEPTION"


def test_a_time_zone_that_nobody_chose_is_said_once(prepare, warnings):
    readers = hive("4.0.1")
    prepare("create table default.t using parquet as select 1 as id", readers)
    assert warnings == []
    prepare(f"create table default.times using parquet as {TIMES}", readers)
    prepare(f"insert into default.times {TIMES}", readers)
    (warning,) = warnings
    assert warning.startswith("[HIVEACID_WARN_TIME_ZONE_NOT_KNOWN] ")
    assert "default.times (seen, made)" in warning
    assert "Set hive_time_zone" in warning
    assert len(re.split(r"\s+", warning)) <= 60


@pytest.mark.parametrize(
    "sql",
    [
        f"insert into default.times {TIMES}",
        f"insert overwrite default.times {TIMES}",
        f"create or replace table default.lake using delta as {TIMES}",
        f"select * from ({TIMES})",
        f"create or replace temporary view seen as {TIMES}",
    ],
)
def test_which_statements_write_for_hive(prepare, warnings, sql):
    prepare(f"create table default.times using orc as {TIMES}")
    warnings.clear()
    prepare(sql)
    assert bool(warnings) == sql.startswith("insert"), warnings


@pytest.mark.parametrize("role", ["stage", "changes"])
def test_a_stage_is_said_by_the_name_of_its_target(prepare, warnings, role):
    """Changes are on their way into a target of any format."""
    stage, target = (
        HiveAcidRelation.create(schema="default", identifier=name) for name in ("t", "orders")
    )
    sql = f"create table {stage} using parquet as {TIMES}"
    prepare(sql, stages={role: Stage(stage, target, "0123")})
    assert [("default.orders (seen, made)" in it) for it in warnings] == [True] * (role == "stage")


def test_a_time_zone_of_the_profile_is_no_warning(prepare, warnings, spark):
    zone = TimeZones.of(spark).java
    for format in ("parquet", "orc"):
        sql = f"create table default.times using {format} as {TIMES}"
        prepare(sql, settings={SESSION_ZONE: zone})
        spark.sql("drop table default.times")
    assert warnings == []


def test_a_java_elsewhere_is_said_where_its_clock_is_stored(prepare, warnings, spark):
    elsewhere = {SESSION_ZONE: "Pacific/Chatham"}
    prepare(f"create table default.t using parquet as {TIMES}", settings=elsewhere)
    assert warnings == []
    prepare(f"create table default.times using orc as {TIMES}", settings=elsewhere)
    (warning,) = warnings
    assert warning.startswith("[HIVEACID_WARN_JAVA_TIME_ZONE] ")
    assert "default.times (seen, made)" in warning
    assert "-Duser.timezone=Pacific/Chatham" in warning
    assert len(re.split(r"\s+", warning)) <= 60


@pytest.mark.parametrize(
    "value",
    [
        "timestamp_ntz'2026-01-31 00:00:00'",
        "array(timestamp_ntz'2026-01-31 00:00:00')",
        "interval '1-2' year to month",
        "named_struct('a', interval '1' day)",
        "null",
    ],
)
def test_a_table_that_is_hidden_from_hive_is_said(prepare, warnings, value):
    prepare(f"create table default.t using parquet as select 1 as id, {value} as c")
    (warning,) = warnings
    assert warning.startswith("[HIVEACID_WARN_HIDDEN_FROM_HIVE] Hive cannot read default.t: ")
    assert "no type for c, and Spark" in warning
    assert len(re.split(r"\s+", warning)) <= 60


def test_time_zones_of_a_session(spark):
    session = spark.newSession()
    session.conf.set(SESSION_ZONE, "Pacific/Chatham")
    zones = TimeZones.of(session)
    assert (zones.session, zones.is_chosen, zones.is_same) == ("Pacific/Chatham", True, False)
    assert str(zones) == (
        f"Time zone of the session: Pacific/Chatham; Spark's Java: {TimeZones.of(spark).java}"
    )
    assert str(TimeZones.of(spark)).endswith(", that of this machine")
