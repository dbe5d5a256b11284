"""Timestamps in files that do not say whose clock they show, beside a Hive in New York."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.errors import InvalidSettingError
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveSettings
from integration.support.hive_in_zone import HiveInZone
from integration.support.tables import INSERT_ONLY, REPEATS, setting
from integration.test_reader_types import TIMES, ZONES

ZONE = "America/New_York"
IMPALA = b"impala version 4.1.0 (build 1.0)"


@pytest.fixture(scope="module")
def elsewhere(
    tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> Iterator[Differential]:
    """Compares with the answers of a Hive in New York; its database is `times`."""
    settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
    with (
        HiveInZone(ZONE, settings, work=tmp_path_factory.mktemp("hive_elsewhere")) as server,
        HiveClient(server.hs2_port, log=server.log) as client,
    ):
        client.execute("CREATE DATABASE times")
        yield Differential(server, client, spark, time_zone=ZONE)


def make(
    differential: Differential,
    name: str,
    *files: Path,
    columns: str = "id int, at timestamp",
    format: str = "PARQUET",
) -> str:
    """A table with the rows of some files."""
    table = f"times.{name}"
    differential.client.execute(
        f"CREATE TABLE {table} ({columns}) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    for file in files:
        differential.client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    return table


def instants(type_: pyarrow.DataType) -> pyarrow.Table:
    """The edges of times, as values of a type of Arrow's."""
    zone = dt.timezone.utc if type_.tz else None
    values = [dt.datetime.fromisoformat(time).replace(tzinfo=zone) for time in TIMES]
    if type_.tz:
        values[0] += dt.timedelta(days=1)  # In New York it would be in the year 0.
    ids = pyarrow.array(range(len(TIMES) + 1), pyarrow.int32())
    at = pyarrow.array([*values, None], pyarrow.timestamp("us", type_.tz)).cast(type_, safe=False)
    return pyarrow.table({"id": ids, "at": at})


def of_arrow(path: Path, type_: pyarrow.DataType, **options: object) -> Path:
    pyarrow.parquet.write_table(instants(type_), path, **options)
    return path


def of_impala(path: Path) -> Path:
    """As Impala writes: INT96, and its name."""
    of_arrow(path, pyarrow.timestamp("us"), use_deprecated_int96_timestamps=True)
    (by,) = {pyarrow.parquet.ParquetFile(path).metadata.created_by.encode()}
    assert len(by) >= len(IMPALA)
    path.write_bytes(path.read_bytes().replace(by, IMPALA.ljust(len(by))))
    return path


def of_spark(spark: SparkSession, path: Path, kind: str, calendar: str = "CORRECTED") -> Path:
    """As Spark writes; it names no zone."""
    session = spark.newSession()
    session.conf.set("spark.sql.parquet.outputTimestampType", kind)
    session.conf.set("spark.sql.parquet.int96RebaseModeInWrite", calendar)
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", calendar)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    # In New York the first one would be in the year 0.
    times = ["0001-01-02 00:00:00", *TIMES[1:]]
    rows = ", ".join(f"({i}, timestamp '{time}')" for i, time in enumerate(times))
    values = f"values {rows}, ({len(TIMES)}, null) as v(id, at)"
    frame = session.sql(f"select *, cast(at as date) as day from {values}")
    frame.coalesce(1).write.parquet(str(path))
    (file,) = path.glob("*.parquet")
    return file


WRITERS: dict[str, Callable[[SparkSession, Path], Path]] = {
    "arrow_int96": lambda _, path: of_arrow(
        path, pyarrow.timestamp("us"), use_deprecated_int96_timestamps=True
    ),
    "impala": lambda _, path: of_impala(path),
    "arrow_micros": lambda _, path: of_arrow(path, pyarrow.timestamp("us")),
    "arrow_millis": lambda _, path: of_arrow(path, pyarrow.timestamp("ms")),
    "arrow_utc": lambda _, path: of_arrow(path, pyarrow.timestamp("us", "UTC")),
    "spark_int96": lambda spark, path: of_spark(spark, path, "INT96"),
    "spark_micros": lambda spark, path: of_spark(spark, path, "TIMESTAMP_MICROS"),
}
#: Those whose timestamps Hive shows in the zone of its own Java.
ZONED = ("arrow_utc", "spark_int96", "spark_micros")


#: Filters that hit one row, several rows, and none; by the columns that the files have.
FILTERS = (
    "at = timestamp '2024-02-29 23:59:59.123456'",
    "at < timestamp '1900-01-01 00:00:00'",
    "at >= timestamp '2026-03-07 20:59:59' AND id < 14",
    "at IS NULL",
    "id = 3",
)
SHOWN = ["id", "cast(at AS string)"]


@pytest.mark.parametrize(
    "writer",
    [
        *("arrow_int96", "impala", "arrow_micros", "arrow_utc", "spark_int96"),
        pytest.param("arrow_millis", marks=REPEATS),
        pytest.param("spark_micros", marks=REPEATS),
    ],
)
def test_files_of_other_writers(elsewhere: Differential, tmp_path: Path, writer: str) -> None:
    """Rows, filters and changes are those that Hive shows."""
    spark, file = elsewhere.spark, WRITERS[writer](elsewhere.spark, tmp_path / "file.parquet")
    table = make(elsewhere, writer, file)
    elsewhere.check_columns(table, SHOWN, ZONES)
    elsewhere.check_filters(table, FILTERS, SHOWN)
    # Spark itself would move the times of writers other than Java.
    spark.conf.set("spark.sql.parquet.int96TimestampConversion", "true")
    try:
        elsewhere.check_columns(table, SHOWN, ["America/New_York"])
    finally:
        spark.conf.unset("spark.sql.parquet.int96TimestampConversion")
    hives = canonical(elsewhere.client.query(f"SELECT {', '.join(SHOWN)} FROM {table}"))
    uri, zone = elsewhere.hive.metastore_uri, ZONE if writer in ZONED else None
    with hiveacid.snapshot(spark, uri, [table], parquet_time_zone=zone) as snapshot:
        first = snapshot.changes(table)
        assert canonical(first.rows.selectExpr(*SHOWN).collect()) == hives
    elsewhere.client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    with hiveacid.snapshot(spark, uri, [table], parquet_time_zone=zone) as snapshot:
        since = snapshot.changes(table, first.state)
        assert not since.losses
        assert canonical(since.rows.selectExpr(*SHOWN).collect()) == hives
        assert snapshot.table(table).where("id = 3").count() == 2
    if writer in ZONED:
        with hiveacid.snapshot(spark, uri, [table], parquet_time_zone="UTC") as snapshot:
            (loss,) = snapshot.changes(table, first.state).losses
            assert f"the setting parquet_time_zone is UTC, before {ZONE}" in str(loss)


@pytest.mark.parametrize("writer", ["arrow_utc", "spark_int96"])
def test_without_the_zone_only_its_timestamps_are_refused(
    elsewhere: Differential, tmp_path: Path, writer: str
) -> None:
    file = WRITERS[writer](elsewhere.spark, tmp_path / "file.parquet")
    table, uri = make(elsewhere, f"refused_{writer}", file), elsewhere.hive.metastore_uri
    by = pyarrow.parquet.ParquetFile(file).metadata.created_by
    with hiveacid.snapshot(elsewhere.spark, uri, [table]) as snapshot:
        rows = snapshot.table(table)
        assert rows.count() == len(TIMES) + 1
        assert sorted(row.id for row in rows.select("id").collect()) == [*range(len(TIMES) + 1)]
        assert rows.where(f"id = {len(TIMES)}").collect() == [(len(TIMES), None)]
        assert snapshot.changes(table).rows.select("id").count() == len(TIMES) + 1
        with pytest.raises(SparkRuntimeException) as raised:
            rows.where("id = 3").collect()
        told = str(raised.value)
        assert f"{file.name} " in told and by in told and "Set `parquet_time_zone`, on the" in told
    with (
        pytest.raises(InvalidSettingError, match="parquet_time_zone must be a time zone that Java"),
        hiveacid.snapshot(elsewhere.spark, uri, [table], parquet_time_zone="Mars") as snapshot,
    ):
        snapshot.table(table)


#: Timestamps of Avro, and the times that are written.
AVRO_SCHEMA = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "id", "type": "int"},
        {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
        {"name": "us", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {
            "name": "times",
            "type": {"type": "array", "items": {"type": "long", "logicalType": "timestamp-millis"}},
        },
    ],
}


def of_sparks_avro(spark: SparkSession, path: Path, calendar: str = "CORRECTED") -> Path:
    """As Spark writes Avro; it names no zone."""
    session = spark.newSession()
    session.conf.set("spark.sql.avro.datetimeRebaseModeInWrite", calendar)
    session.conf.set("spark.sql.session.timeZone", "UTC")
    # In New York the first one would be in the year 0.
    times = ["0001-01-02 00:00:00", *TIMES[1:]]
    rows = ", ".join(f"({i}, timestamp '{time}')" for i, time in enumerate(times))
    frame = session.sql(
        f"select id, at, at as us, array(at) as times from values {rows} as v(id, at)"
    )
    writer = frame.coalesce(1).write.format("avro").option("avroSchema", json.dumps(AVRO_SCHEMA))
    writer.save(str(path))
    (file,) = path.glob("*.avro")
    return file


def test_timestamps_in_avro_of_spark(elsewhere: Differential, tmp_path: Path) -> None:
    """Rows, filters and changes are those that Hive shows; without the zone they are refused."""
    spark, uri = elsewhere.spark, elsewhere.hive.metastore_uri
    shown = [*SHOWN, "cast(times[0] AS string)"]
    columns = "id int, at timestamp, us timestamp, times array<timestamp>"
    file = of_sparks_avro(spark, tmp_path / "avro")
    table = make(elsewhere, "avro_of_spark", file, columns=columns, format="AVRO")
    elsewhere.check_columns(table, shown, ZONES)
    elsewhere.check_filters(table, FILTERS, SHOWN)
    with hiveacid.snapshot(spark, uri, [table], avro_time_zone=ZONE) as snapshot:
        state = snapshot.changes(table).state
        with pytest.raises(SparkRuntimeException, match="microseconds") as failed:
            snapshot.table(table).where("id = 3").select("us").collect()
        assert f"{file.name} stores timestamps in microseconds" in str(failed.value)
    (micros,) = elsewhere.client.query(f"SELECT year(us) FROM {table} WHERE id = 12")[0]
    assert micros > 9999, "Hive shows another year"
    with hiveacid.snapshot(spark, uri, [table], avro_time_zone="UTC") as snapshot:
        (loss,) = snapshot.changes(table, state).losses
        assert f"the setting avro_time_zone is UTC, before {ZONE}" in str(loss)
    with hiveacid.snapshot(spark, uri, [table]) as snapshot:
        assert snapshot.table(table).select("id").count() == len(TIMES)
        with pytest.raises(SparkRuntimeException, match="Set `avro_time_zone`, on the source or"):
            snapshot.table(table).where("id = 3").select("at").collect()

    old = of_sparks_avro(spark, tmp_path / "legacy", calendar="LEGACY")
    table = make(elsewhere, "avro_of_old_spark", old, columns=columns, format="AVRO")
    elsewhere.check_filters(table, ["id > 8 AND at >= timestamp '1901-01-01 00:00:00'"], SHOWN)
    with (
        elsewhere.pinned_frame(table) as (_, frame),
        pytest.raises(SparkRuntimeException, match="holds a timestamp before 1900 that"),
    ):
        frame.where("id = 1").select("at").collect()


@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("format", ["PARQUET", pytest.param("AVRO", marks=REPEATS)])
def test_what_a_hive_elsewhere_has_written(
    elsewhere: Differential, format: str, legacy: bool
) -> None:
    """A day that only the Julian calendar has is another one in each of Hive's conversions."""
    client, table = elsewhere.client, f"times.own_{format}_{legacy}"
    client.execute(
        f"CREATE TABLE {table} (id int, at timestamp) STORED AS {format} "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    rows = ", ".join(f"({i}, '{time}')" for i, time in enumerate(TIMES))
    name = f"hive.{format.lower()}.timestamp.write.legacy.conversion.enabled"
    with setting(client, name, legacy, default=False):
        client.execute(f"INSERT INTO {table} VALUES {rows}")
    elsewhere.check_columns(table, SHOWN, ZONES)
    elsewhere.check_filters(table, FILTERS, SHOWN)


def test_nanoseconds_and_several_ways_in_one_file(elsewhere: Differential, tmp_path: Path) -> None:
    path, us = tmp_path / "file.parquet", pyarrow.timestamp("us")
    nanos = [1_700_000_000_123_456_000, -1_000, None]
    times = [dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)] * 3
    inside = pyarrow.struct([("x", us), ("y", pyarrow.timestamp("us", "UTC"))])
    nanos_inside = pyarrow.struct([("at", pyarrow.timestamp("ns")), ("i", pyarrow.int32())])
    nanos_of_key = pyarrow.map_(pyarrow.string(), pyarrow.timestamp("ns"))
    of_file = pyarrow.table(
        {
            "id": [1, 2, 3],
            "n": pyarrow.array(nanos, pyarrow.timestamp("ns")),
            "z": pyarrow.array(nanos, pyarrow.timestamp("ns", "UTC")),
            "u": pyarrow.array(times, pyarrow.timestamp("ms", "UTC")),
            "a": pyarrow.array([[time] for time in times], pyarrow.list_(us)),
            "day": pyarrow.array([dt.date(1500, 3, 1)] * 3),
            "s": pyarrow.array([{"x": time, "y": time} for time in times], inside),
            "ns": pyarrow.array([{"at": n, "i": 7} for n in nanos[:2]] + [None], nanos_inside),
            "na": pyarrow.array([[n, None] for n in nanos], pyarrow.list_(nanos_inside[0].type)),
            "nm": pyarrow.array([[("k", n)] for n in nanos], nanos_of_key),
        }
    )
    pyarrow.parquet.write_table(of_file, path)
    columns = "id bigint, n timestamp, z timestamp, u timestamp, a array<timestamp>, day date"
    both = ", s struct<x:timestamp,y:timestamp>"
    deep = ", ns struct<at:timestamp,i:int>, na array<timestamp>, nm map<string,timestamp>"
    table = make(elsewhere, "ways", path, columns=columns + both + deep)
    times_of = ("n", "z", "u", "a[0]", "day", "ns.at", "na[0]", "na[1]", "nm['k']")
    shown = ["id", "ns.i", *(f"cast({c} AS string)" for c in times_of)]
    elsewhere.check_columns(table, shown, ZONES)
    elsewhere.check_filters(table, ["n < timestamp '1970-01-01 00:00:00'", "z IS NULL"], shown)
    with (
        elsewhere.pinned_frame(table) as (_, frame),
        pytest.raises(SparkRuntimeException, match="inside of one column in several encodings"),
    ):
        frame.select("s").collect()


def test_old_times_that_a_spark_wrote_in_its_legacy_calendar(
    elsewhere: Differential, tmp_path: Path
) -> None:
    for kind in ("INT96", "TIMESTAMP_MICROS"):
        file = of_spark(elsewhere.spark, tmp_path / kind, kind, calendar="LEGACY")
        columns = "id int, at timestamp, day date"
        table = make(elsewhere, f"legacy_{kind}", file, columns=columns)
        elsewhere.check_columns(table, ["id", "cast(day AS string)"], ZONES[:2])
        new = "at >= timestamp '1901-01-01 00:00:00'"
        elsewhere.check_filters(table, [f"id > 8 AND {new}"], SHOWN)
        with (
            elsewhere.pinned_frame(table) as (_, frame),
            pytest.raises(SparkRuntimeException, match="holds a timestamp before 1900 that"),
        ):
            frame.where("id = 0").collect()


@pytest.mark.parametrize("where", ["TBLPROPERTIES", pytest.param("SERDEPROPERTIES", marks=REPEATS)])
def test_columns_by_position(elsewhere: Differential, tmp_path: Path, where: str) -> None:
    """Within each file; what a file lacks is NULL, whatever it is called elsewhere."""
    pair = pyarrow.struct([("k", pyarrow.int32()), ("l", pyarrow.string())])
    whole = {
        "x": pyarrow.array([1, 2], pyarrow.int32()),
        "a": ["p", "q"],
        "s": pyarrow.array([{"k": 7, "l": "u"}, None], pair),
        "at": pyarrow.array([5, 6], pyarrow.int32()),
        "b": pyarrow.array([dt.datetime(2026, 1, 1, 12), None], pyarrow.timestamp("us")),
        "more": ["no", "no"],
    }
    part = {"b": pyarrow.array([3], pyarrow.int32()), "a": ["r"]}
    client, table = elsewhere.client, f"times.by_position_{where}"
    by_position = "'parquet.column.index.access'='true'"
    serde = f"WITH SERDEPROPERTIES ({by_position})" if where == "SERDEPROPERTIES" else ""
    more = f", {by_position}" if where == "TBLPROPERTIES" else ""
    client.execute(
        f"CREATE TABLE {table} (a int, b string, s struct<k:int,l:string>, d bigint, at timestamp) "
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' "
        f"{serde} STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY}{more})"
    )
    shown = ["a", "b", "s.k", "s.l", "d", "cast(at AS string)"]
    uri, state = elsewhere.hive.metastore_uri, None
    for i, columns in enumerate((whole, part)):
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / f"{i}.parquet")
        client.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/{i}.parquet' INTO TABLE {table}")
        elsewhere.check_columns(table, shown, ZONES[:2])
        elsewhere.check_filters(table, ["b IN ('q', 'r')", "d IS NULL", "a = 3", "s.k = 7"], shown)
        with hiveacid.snapshot(elsewhere.spark, uri, [table]) as snapshot:
            changes = snapshot.changes(table, state)
            state, new = changes.state, changes.rows.selectExpr(*shown).collect()
            hives = client.query(f"SELECT {', '.join(shown)} FROM {table}")
            assert canonical(new) == canonical(row for row in hives if i == 0 or row[0] == 3)


@pytest.mark.parametrize("now", ["false", "true"])
def test_columns_of_a_partition_by_position(
    elsewhere: Differential, tmp_path: Path, now: str
) -> None:
    """The table says how its columns are found, whatever a partition was made with."""
    client, table = elsewhere.client, f"times.partition_by_position_{now}"
    before = "false" if now == "true" else "true"
    client.execute(
        f"CREATE TABLE {table} (a string, b string) PARTITIONED BY (p int) "
        "ROW FORMAT SERDE 'org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe' "
        f"WITH SERDEPROPERTIES ('parquet.column.index.access'='{before}') "
        f"STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    swapped = pyarrow.table({"b": ["is b"], "a": ["is a"]})
    pyarrow.parquet.write_table(swapped, tmp_path / "swapped.parquet")
    load = f"LOAD DATA LOCAL INPATH '{tmp_path}/swapped.parquet' INTO TABLE {table}"
    client.execute(f"{load} PARTITION (p = 1)")
    client.execute(
        f"ALTER TABLE {table} SET SERDEPROPERTIES ('parquet.column.index.access'='{now}')"
    )
    client.execute(f"{load} PARTITION (p = 2)")
    elsewhere.check(table)
