"""Statements that write tables for Hive: the settings they run with, and the warnings before them.

Whether Hive reads the tables: integration/test_targets_in_hive.py.
"""

import re
from pathlib import Path

import pytest
from dbt.tests.util import run_dbt

from dbt.adapters.hiveacid.node_context import NodeContext, Stage
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.spark.time_zones import SESSION_ZONE, TimeZones, is_set
from dbt.adapters.hiveacid.targets import hive_readers
from dbt.adapters.hiveacid.targets.hive_readers import HiveReaders
from hiveacid.errors import MetastoreError

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
    """Prepare statements in a session of their own, and run them. Return the node."""

    def prepare(*statements, readers=None, settings=CORRECTED, stages=()):
        node = NodeContext(SessionHandle(spark, settings))
        node.stages.update(stages)
        readers = readers or hive("4.0.1")
        for sql in statements:
            plan = node.session._jsparkSession.sessionState().sqlParser().parsePlan(sql)
            readers.prepare(node, plan)
            node.cursor().execute(sql)
        return node

    yield prepare
    for table in TABLES:
        spark.sql(f"drop table if exists default.{table}")


def hive(version):
    return HiveReaders("uri", lambda: version, CORRECTED)


def setting(node, key):
    """The setting that the last statement ran with."""
    return {key: node.session.conf.get(key), **node.writer_settings}[key]


@pytest.mark.parametrize(
    ("version", "format", "key", "expected"),
    [
        ("3.0", "parquet", LEGACY, "true"),
        ("3.1.3000.7.1", "parquet", LEGACY, "true"),
        ("4.0.1", "parquet", LEGACY, "false"),
        ("3.0", "parquet", CALENDAR, "CORRECTED"),
        ("4.0.1", "parquet", CALENDAR, "LEGACY"),
        ("3.0", "orc", CODEC, "snappy"),
        ("3.0", "hive options (fileFormat 'orc')", CODEC, "snappy"),
        ("3.0", "delta", LEGACY, "false"),
        ("4.0.1", "delta", CALENDAR, "CORRECTED"),
    ],
)
def test_files_are_written_as_hive_reads_them(prepare, version, format, key, expected):
    sql = f"create table default.t using {format} as select 1 as id"
    assert setting(prepare(sql, readers=hive(version)), key) == expected


def test_settings_end_with_the_statement(prepare, spark_parameters):
    """Hooks at the end of a run share a session."""
    day = "select date'1500-01-01' as day"
    node = prepare(f"create table default.t using parquet as {day}")
    (file,) = Path(spark_parameters["spark.sql.warehouse.dir"], "t").glob("*.parquet")
    assert b"org.apache.spark.legacyDateTime" in file.read_bytes()
    assert node.session.conf.get(CALENDAR) == "CORRECTED"
    node = prepare(f"insert into default.t {day}", readers=hive("3.0"))
    assert node.writer_settings == {LEGACY: "true"} and not is_set(node.session, LEGACY)


@pytest.mark.parametrize(("key", "chosen"), [(LEGACY, "false"), (CODEC, "zstd")])
def test_a_setting_of_the_users_own_stays(prepare, key, chosen):
    format = "orc" if "orc" in key else "parquet"
    sql = f"create table default.t using {format} as select 1 as id"
    node = prepare(sql, readers=hive("3.0"), settings={key: chosen})
    assert setting(node, key) == chosen


def test_a_default_of_the_adapters_own_gives_way(prepare):
    sql = "create table default.t using parquet as select 1 as id"
    assert setting(prepare(sql, settings={CALENDAR: "CORRECTED"}), CALENDAR) == "LEGACY"
    sql = "insert into default.t select 2"
    assert setting(prepare(sql, settings={CALENDAR: "EXCEPTION"}), CALENDAR) == "EXCEPTION"


def test_a_default_that_a_model_sets_itself_stays(prepare):
    """In a `sql_header`, on Spark 3."""
    sql = "create table default.t using parquet as select 1 as id"
    node = prepare("set", f"set {CALENDAR} = CORRECTED", sql)
    assert CALENDAR not in node.writer_settings
    assert setting(node, CALENDAR) == "CORRECTED"


def test_a_metastore_that_does_not_name_its_version_stops_no_model(prepare):
    def fail():
        raise MetastoreError("getVersion failed.")

    readers = HiveReaders("uri", fail, CORRECTED)
    sql = "create table default.t using parquet as select 1 as id"
    assert prepare(sql, readers=readers).writer_settings == {}


@pytest.mark.parametrize(
    ("sql", "is_analysed"),
    [
        ("create table default.lake using delta as select 1 as id", False),
        ("create or replace table default.lake using delta as select 1 as id", False),
        ("create table default.t using Parquet as select 1 as id", True),
        ("create table default.t stored as orc as select 1 as id", True),
    ],
)
def test_which_queries_are_analysed_before_they_run(prepare, monkeypatch, sql, is_analysed):
    analysed, written = [], hive_readers._written
    monkeypatch.setattr(
        hive_readers, "_written", lambda *given: analysed.append(1) or written(*given)
    )
    prepare(sql)
    assert bool(analysed) == is_analysed


def test_a_time_zone_that_nobody_chose_is_said_once(prepare, warnings):
    readers = hive("4.0.1")
    prepare("create table default.t using parquet as select 1 as id", readers=readers)
    assert warnings == []
    prepare(f"create table default.times using parquet as {TIMES}", readers=readers)
    prepare(f"insert into default.times {TIMES}", readers=readers)
    (warning,) = warnings
    assert warning.startswith("[HIVEACID_WARN_TIME_ZONE_NOT_KNOWN] ")
    assert "default.times (seen, made)" in warning
    assert "Set hive_time_zone" in warning and "or spark.sql.session.timeZone" in warning
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


def test_an_insert_into_a_table_that_hive_does_not_read_is_not_analysed(
    prepare, warnings, monkeypatch
):
    """Its analysis takes as long as the one of the statement itself."""
    prepare(f"create table default.lake using delta as {TIMES}")
    prepare(f"create table default.times using orc as {TIMES}")
    warnings.clear()
    analysed = []
    written = hive_readers._written
    monkeypatch.setattr(hive_readers, "_written", lambda *it: analysed.append(it) or written(*it))
    for name in ("default.lake", "spark_catalog.default.Lake", "`default`.`lake`"):
        prepare(f"insert into {name} {TIMES}")
    assert (analysed, warnings) == ([], [])
    for name in ("default.times", "spark_catalog.default.times", "times"):
        prepare(f"insert into {name} {TIMES}")
    assert len(analysed) == len(warnings) == 3


@pytest.mark.parametrize("is_quoted", [False, True])
@pytest.mark.parametrize("role", ["stage", "changes"])
def test_a_stage_is_said_by_the_name_of_its_target(prepare, warnings, role, is_quoted):
    """Changes are on their way into a target of any format."""
    quoting = {"schema": is_quoted, "identifier": is_quoted}
    stage, target = (
        HiveAcidRelation.create(schema="Default", identifier=name, quote_policy=quoting)
        for name in ("T", "orders")
    )
    assert ("`" in str(stage)) is is_quoted
    sql = f"create table {stage} using parquet as {TIMES}"
    prepare(sql, stages={role: Stage(stage, target, "0123")})
    assert [("Default.orders (seen, made)" in it) for it in warnings] == [True] * (role == "stage")


def test_a_time_zone_of_the_profile_is_no_warning(prepare, warnings, spark):
    zone = TimeZones.of(spark).java
    for format in ("parquet", "orc"):
        sql = f"create table default.times using {format} as {TIMES}"
        prepare(sql, settings={SESSION_ZONE: zone})
        spark.sql("drop table default.times")
    assert warnings == []


@pytest.mark.parametrize(
    ("zone", "for_java"),
    [
        ("Pacific/Chatham", "Pacific/Chatham"),
        ("+02:00", "GMT+02:00"),
        ("UTC+02:00", "GMT+02:00"),
        ("JST", "Asia/Tokyo"),
    ],
)
def test_a_java_elsewhere_is_said_where_its_clock_is_stored(prepare, warnings, zone, for_java):
    elsewhere = {SESSION_ZONE: zone}
    prepare(f"create table default.t using parquet as {TIMES}", settings=elsewhere)
    assert warnings == []
    prepare(f"create table default.times using orc as {TIMES}", settings=elsewhere)
    (warning,) = warnings
    assert warning.startswith("[HIVEACID_WARN_JAVA_TIME_ZONE] ")
    assert "default.times (seen, made)" in warning
    assert f"-Duser.timezone={for_java} in" in warning
    assert "build ORC and text targets again" in warning
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


ESCAPES = "serialization.escape.crlf"


class TestTablesOfHivesFormat:
    """`file_format: hive` is text unless a setting names another format."""

    @pytest.fixture(scope="class")
    def models(self):
        config = "{{{{ config(materialized='table', file_format='{}'{}) }}}} select 1 as id"
        header = ", sql_header='set hive.default.fileformat={}'"
        return {
            "small.sql": config.format("hive", ""),
            "upper.sql": config.format("HIVE", ""),
            "named.sql": config.format("hive", header.format("TextFile")),
            "another.sql": config.format("hive", header.format("orc")),
        }

    def test_only_text_is_escaped(self, project):
        run_dbt(["run"])
        described = {
            name: str(
                project.run_sql(f"describe formatted {project.test_schema}.{name}", fetch="all")
            )
            for name in ("small", "upper", "named", "another")
        }
        escaped = {name for name, text in described.items() if ESCAPES in text}
        assert escaped == {"small", "upper", "named"}
        assert "OrcSerde" in described["another"]
