"""Every type at its edges, as Hive shows it: values compared with what HiveServer2 returns."""

from __future__ import annotations

import datetime as dt
import itertools
import json
from pathlib import Path

import pyarrow
import pyarrow.orc
import pyorc
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException, SparkRuntimeException

import hiveacid
from hiveacid.errors import UnreadableTableError
from hiveacid.reader.verify import verify
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveSqlError
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS, setting, storage

TIMES = [
    "0001-01-01 00:00:00",
    "0900-02-28 23:59:59.999999",
    "1500-02-28 12:00:00",
    "1500-03-01 12:00:00",
    "1582-10-04 23:59:59.999999",
    "1582-10-10 10:10:10",  # a day that the change of calendars left out
    "1582-10-15 00:00:00",
    "1883-11-18 12:03:57",  # New York changes to standard time
    "1899-12-31 23:59:59",
    "1937-07-01 00:00:00",
    "1969-12-31 23:59:59",
    "1970-01-01 00:00:00.000001",
    "2024-02-29 23:59:59.123456",
    "2026-03-08 01:59:59",  # before the hour that New York skips
    "2026-11-01 01:30:00",  # in the hour that New York has twice
    "2026-10-25 02:30:00",
    "9999-12-31 23:59:59.999999",
]
CASE_SENSITIVE = "spark.sql.caseSensitive"
ZONES = ["UTC", "America/New_York", "Asia/Kolkata"]

#: What stands before the name of the setting by which Hive reads files that name no calendar.
GREGORIAN_DEFAULT = {"parquet": "date.", "avro": ""}

EVERY_FORMAT = pytest.mark.parametrize(
    ("format", "properties"),
    [
        storage("full acid"),
        storage("parquet"),
        storage("text"),
        storage("json", REPEATS),
        storage("orc", REPEATS),
        storage("avro", REPEATS),
    ],
)


def test_old_dates_in_files_of_sparks(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Hive counts them in the Julian calendar, whoever wrote them; Spark has not."""
    table = f"{database}.loaded"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, day date, days array<date>) STORED AS PARQUET "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 0, date '1500-03-01', array(date '1500-03-01')"
    )
    days = ["0001-01-01", "1500-03-01", "1582-10-15", "2026-11-25"]
    rows = ", ".join(f"({i}, date '{day}', array(date '{day}'))" for i, day in enumerate(days, 1))
    session = differential.spark.newSession()
    # Spark 3.5 asks how; this is what Spark 4 does by default.
    session.conf.set("spark.sql.parquet.datetimeRebaseModeInWrite", "CORRECTED")
    frame = session.sql(f"select * from values {rows} as v(id, day, days)")
    frame.coalesce(1).write.parquet(f"{tmp_path}/written")
    (written,) = (tmp_path / "written").glob("*.parquet")
    hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{written}' INTO TABLE {table}")
    columns = ["id", "cast(day AS string)", "cast(days[0] AS string)"]
    differential.check_columns(table, columns, ["UTC"])
    with differential.pinned_frame(table) as (_, frame):
        assert frame.where("day = date '1582-10-15'").count() == 1


def test_old_dates_that_a_spark_wrote_in_either_calendar(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """What Spark's reader converts by itself is not converted again, or refused."""
    days = ["1500-03-01", "1582-10-15", "2026-11-25"]
    rows = ", ".join(f"({i}, date '{day}', array(date '{day}'))" for i, day in enumerate(days))
    session, shown = differential.spark.newSession(), ["id", "cast(day AS string)", "days[0]"]
    shown[-1] = f"cast({shown[-1]} AS string)"
    for format, calendar in itertools.product(("parquet", "avro"), ("CORRECTED", "LEGACY")):
        table = f"{database}.{format}_{calendar}"
        session.conf.set(f"spark.sql.{format}.datetimeRebaseModeInWrite", calendar)
        frame = session.sql(f"select * from values {rows} as v(id, day, days)")
        frame.coalesce(1).write.format(format).save(f"{tmp_path}/{format}_{calendar}")
        (written,) = (tmp_path / f"{format}_{calendar}").glob(f"*.{format}")
        hive_client.execute(
            f"CREATE TABLE {table} (id int, day date, days array<date>) STORED AS {format} "
            f"TBLPROPERTIES ({INSERT_ONLY})"
        )
        hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{written}' INTO TABLE {table}")
        differential.check_columns(table, shown, ["UTC"])
        # As a Hive 3.1 shows them.
        proleptic = f"hive.{format}.{GREGORIAN_DEFAULT[format]}proleptic.gregorian.default"
        with setting(hive_client, proleptic, True, default=False):
            hives = canonical(hive_client.query(f"SELECT {', '.join(shown)} FROM {table}"))
        uri = differential.hive.metastore_uri
        with hiveacid.snapshot(session, uri, [table], old_dates="gregorian") as snapshot:
            ours = snapshot.table(table).selectExpr(*shown)
            if calendar == "CORRECTED":
                assert canonical(ours.collect()) == hives
                continue
            assert canonical(ours.where("id > 0").collect()) == hives[1:]
            # Spark 3.5 has no class of its own for it.
            errors, told = (SparkRuntimeException, Py4JJavaError), "holds a date before 1582-10-15"
            with pytest.raises(errors, match=told):
                ours.collect()


def test_types_and_names_in_files_of_others(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """LOAD DATA takes files whose columns have other types, or names in another case."""
    rows = "select 5 as orderId, {} as x, named_struct('a', 1) as s"
    for format, stored in (("parquet", "2147483647"), ("avro", "cast(1 as double)")):
        table = f"{database}.{format}"
        hive_client.execute(
            f"CREATE TABLE {table} (orderid int, x double, s struct<a:int>) STORED AS {format} "
            f"TBLPROPERTIES ({INSERT_ONLY})"
        )
        written = tmp_path / format
        frame = differential.spark.sql(rows.format(stored)).coalesce(1)
        frame.write.format(format).save(str(written))
        (file,) = written.glob(f"*.{format}")
        hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{file}' INTO TABLE {table}")
    # Also in a session that tells upper from lower case.
    for value in ("false", "true"):
        with differential.session_setting(CASE_SENSITIVE, value):
            shown = ["orderid", "x", "s.a"]
            differential.check_columns(f"{database}.parquet", shown, ["UTC"])
            filters = ["orderid = 5", "orderid = 6"]
            differential.check_filters(f"{database}.parquet", filters, shown)
    assert hive_client.query(f"SELECT orderid FROM {database}.avro") == [(None,)]
    with pytest.raises(
        UnreadableTableError, match="differ in case from the table's in column orderid"
    ):
        differential.check(f"{database}.avro")

    # Hive finds the names that it wrote itself.
    for format, properties in (("ORC", FULL_ACID), ("AVRO", INSERT_ONLY)):
        table = f"{database}.own_{format}"
        hive_client.execute(
            f"CREATE TABLE {table} (id int, s struct<orderId:int>) STORED AS {format} "
            f"TBLPROPERTIES ({properties})"
        )
        hive_client.execute(f"INSERT INTO {table} SELECT 1, named_struct('orderId', 7)")
        assert hive_client.query(f"SELECT s.orderid FROM {table}") == [(7,)]
        differential.check_columns(table, ["id", "s.orderId"], ["UTC"])
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN id id bigint")
    differential.check_columns(f"{database}.own_ORC", ["id", "s.orderId"], ["UTC"])
    # An ALTER TABLE changes the names of an Avro table, so that Hive loses the values.
    assert hive_client.query(f"SELECT s.orderid FROM {database}.own_AVRO") == [(None,)]
    with pytest.raises(UnreadableTableError, match="differ in case from the table's in column s"):
        differential.check(f"{database}.own_AVRO")

    hive_client.execute(
        f"CREATE TABLE {database}.orc (s struct<orderid:int>) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    path = tmp_path / "000000_0"
    with path.open("wb") as out, pyorc.Writer(out, "struct<s:struct<orderId:int>>") as writer:
        writer.write(((7,),))
    hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{path}' INTO TABLE {database}.orc")
    assert hive_client.query(f"SELECT s.orderid FROM {database}.orc") == [(None,)]
    with pytest.raises(
        UnreadableTableError, match="names of nested fields in .* differ in case from the table's"
    ):
        differential.check(f"{database}.orc")


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
DATE = {"type": "int", "logicalType": "date"}
LOCAL = {"type": "long", "logicalType": "local-timestamp-millis"}
RECORD = {"type": "record", "name": "r", "fields": [{"name": "x", "type": ["null", "int"]}]}
#: Types of Avro, values in a file, and the types of their columns in Hive, which shows the values.
CONVERTED: list[tuple[object, str, str]] = [
    ("bytes", "cast('ü' as binary)", "string"),
    ("string", "'ü'", "binary"),
    (DECIMAL, "cast(-12.35 as decimal(10,2))", "decimal(6,1)"),
    (DECIMAL, "cast(1234567.89 as decimal(10,2))", "decimal(6,1)"),
    ("int", "-128", "tinyint"),
    ("int", "32767", "smallint"),
    ({"type": "array", "items": ["null", "int"]}, "array(5, null)", "array<tinyint>"),
    (RECORD, "named_struct('x', 5)", "struct<x:smallint>"),
]
NOT_CONVERTED: list[tuple[object, str, str, str]] = [
    ("int", "300", "tinyint", "the int 300"),
    ("int", "70000", "tinyint", "the int 70000"),
    ("int", "-32769", "smallint", "the int -32769"),
    (DATE, "date '2024-01-01'", "tinyint", "the int 19723"),
    ({"type": "array", "items": "int"}, "array(5, 300)", "array<tinyint>", "the int 300"),
    ("int", "5", "timestamp", "int"),
    ({**RECORD, "name": "q"}, "named_struct('x', 5)", "struct<x:timestamp>", "struct<x:int>"),
    (DATE, "date '2024-01-01'", "timestamp", "date"),
    (LOCAL, "timestamp_ntz '2024-01-01 10:00:00'", "timestamp", "timestamp_ntz"),
    ({"type": "array", "items": "bytes"}, "array(X'61')", "array<string>", "array<binary>"),
]


def test_types_in_avro_files_of_others(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """What Hive converts is converted, or an error that names file, column and types."""
    table = f"{database}.others"
    cases = [*CONVERTED, *(case[:3] for case in NOT_CONVERTED)]
    columns = ", ".join(f"c{i} {hive_type}" for i, (_, _, hive_type) in enumerate(cases))
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {columns}) STORED AS AVRO TBLPROPERTIES ({INSERT_ONLY})"
    )
    fields: list[dict[str, object]] = [{"name": "id", "type": "int"}]
    fields += [{"name": f"c{i}", "type": ["null", case[0]]} for i, case in enumerate(cases)]
    schema = json.dumps({"type": "record", "name": "row", "fields": fields})
    values = ", ".join(f"if(id = 1, {case[1]}, null) as c{i}" for i, case in enumerate(cases))
    frame = differential.spark.sql(f"select id, {values} from values (1), (2) as v(id)")
    writer = frame.coalesce(1).write.format("avro").option("avroSchema", schema)
    writer.save(f"{tmp_path}/written")
    (file,) = (tmp_path / "written").glob("*.avro")
    hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{file}' INTO TABLE {table}")
    shown = ["c0", "hex(c1)", *(f"c{i}" for i in range(2, 6)), "c6[0]", "c7.x"]
    differential.check_columns(table, ["id", *shown], ["UTC"])
    with differential.pinned_frame(table) as (_, frame):
        for i, (_, _, hive_type, what) in enumerate(NOT_CONVERTED, len(CONVERTED)):
            hives = hive_client.query(f"SELECT c{i} FROM {table} WHERE id = 1")
            assert hives != [(None,)], (what, hive_type)
            with pytest.raises((SparkRuntimeException, Py4JJavaError)) as failed:
                frame.select(f"c{i}").collect()
            text = str(failed.value)
            assert f" has {what} for column c{i}, which is {hive_type} in {table}" in text
            assert "[HIVEACID_STORED_TYPE_DIFFERS] file:" in text
            assert frame.where("id = 2").select(f"c{i}").collect() == [(None,)]


def test_fractions_before_1970_in_orc_of_others(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Hive shows another second for one of pyorc's, and fails on Arrow's."""
    texts = ("1969-12-31 23:59:59.5", "1969-12-31 23:59:58.999999", "1900-01-01 00:00:00.123456")
    times = [dt.datetime.fromisoformat(text).replace(tzinfo=dt.timezone.utc) for text in texts]
    with (tmp_path / "pyorc").open("wb") as out:
        with pyorc.Writer(out, "struct<at:timestamp>") as writer:
            writer.writerows((time,) for time in times)
    of_arrow = pyarrow.array([time.replace(tzinfo=None) for time in times], pyarrow.timestamp("us"))
    pyarrow.orc.write_table(pyarrow.table({"at": of_arrow}), tmp_path / "arrow")
    for name in ("pyorc", "arrow"):
        table = f"{database}.{name}"
        hive_client.execute(
            f"CREATE TABLE {table} (at timestamp) STORED AS ORC TBLPROPERTIES ({INSERT_ONLY})"
        )
        hive_client.execute(f"LOAD DATA LOCAL INPATH '{tmp_path}/{name}' INTO TABLE {table}")
    shown = ["cast(at AS string)"]
    differential.check_columns(f"{database}.pyorc", shown)
    assert ("1970-01-01 00:00:00.5",) in hive_client.query(
        f"SELECT {shown[0]} FROM {database}.pyorc"
    )
    with pytest.raises(HiveSqlError, match="nanos > 999999999 or < 0|NanoOfSecond"):
        hive_client.query(f"SELECT {shown[0]} FROM {database}.arrow")
    with pytest.raises((Py4JJavaError, PySparkException), match="nanos > 999999999 or < 0"):
        differential.read(f"{database}.arrow")


@pytest.mark.parametrize(
    ("format", "properties"), [storage("full acid"), storage("parquet"), storage("text", REPEATS)]
)
def test_times_show_the_same_clock_in_every_session(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.times"
    rows = ", ".join(f"({i}, '{time}', '{time[:10]}')" for i, time in enumerate(TIMES))
    hive_client.execute(
        f"CREATE TABLE {table} (id int, at timestamp, day date) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES {rows}, (100, NULL, NULL)")
    columns = ["id", "cast(at AS string)", "cast(day AS string)"]
    differential.check_columns(table, columns, ZONES)
    with differential.session_zone(ZONES[1]), differential.pinned_frame(table) as (_, frame):
        found = frame.where("at = timestamp '2026-03-08 01:59:59' AND day = date '2026-03-08'")
        assert found.count() == 1
        assert frame.where("day = date '1500-03-01'").count() == 1


@pytest.mark.parametrize(("format", "properties"), [storage("full acid"), storage("parquet")])
def test_nested_times_show_the_same_clock_in_every_session(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    times, nested = f"{database}.times", f"{database}.nested"
    rows = ", ".join(f"({i}, '{time}')" for i, time in enumerate(TIMES))
    hive_client.script(
        f"""
        CREATE TABLE {times} (id int, at timestamp) STORED AS ORC
          TBLPROPERTIES ('transactional'='false');
        INSERT INTO {times} VALUES {rows};
        CREATE TABLE {nested} (id int, a array<timestamp>, m map<timestamp,date>,
          s struct<x:timestamp,y:array<struct<z:timestamp,w:int>>>) STORED AS {format}
          TBLPROPERTIES ({properties});
        INSERT INTO {nested} SELECT id, array(at, NULL), map(at, cast(at AS date)), named_struct(
          'x', at, 'y', array(named_struct('z', at, 'w', id))) FROM {times};
        INSERT INTO {nested} (id) VALUES (100);
        """
    )
    columns = [
        "id",
        "cast(a[0] AS string)",
        "a IS NULL",
        "a[1] IS NULL",
        "cast(map_keys(m)[0] AS string)",
        "cast(map_values(m)[0] AS string)",
        "cast(s.x AS string)",
        "cast(s.y[0].z AS string)",
        "s.y[0].w",
        "s IS NULL",
    ]
    differential.check_columns(nested, columns, ZONES)


def test_a_clock_that_the_session_skips_moves_on(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Spark's timestamp cannot hold it: docs/decisions.md, "Timestamps show Hive's wall clock"."""
    table = f"{database}.times"
    hive_client.execute(
        f"CREATE TABLE {table} (at timestamp) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES ('2026-03-08 02:30:00')")
    with differential.session_zone(ZONES[1]), differential.pinned_frame(table) as (_, frame):
        assert frame.where("cast(at AS string) = '2026-03-08 03:30:00'").count() == 1


def test_nanoseconds_are_cut_to_microseconds(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Spark's timestamp has microseconds: docs/decisions.md, "What Spark's types cannot hold"."""
    for format, properties in (("ORC", FULL_ACID), ("PARQUET", INSERT_ONLY)):
        table = f"{database}.nanos_{format}"
        hive_client.execute(
            f"CREATE TABLE {table} (at timestamp) STORED AS {format} TBLPROPERTIES ({properties})"
        )
        hive_client.execute(
            f"INSERT INTO {table} VALUES ('2026-01-01 00:00:00.123456789'), "
            "('1960-01-01 00:00:00.000000001'), ('0001-01-01 00:00:00.999999999'), "
            "('2000-01-01 00:00:00.123456')"
        )
        shown = hive_client.query(f"SELECT cast(at AS string) FROM {table}")
        with differential.pinned_frame(table) as (plan, frame):
            # Parquet keeps no statistics of such timestamps.
            assert plan.nanoseconds.keys() == ({"at"} if format == "ORC" else set())
            checked = verify(differential.spark, plan.pinned, differential.footers)
            assert checked.nanoseconds == ({"at": 3} if format == "ORC" else {})
            read = [
                row[0]
                for row in frame.selectExpr(
                    "date_format(at, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
                ).collect()
            ]
        assert sorted(read) == sorted(text[:26] for (text,) in shown)


@EVERY_FORMAT
def test_deep_nesting_empty_collections_and_long_texts(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.deep"
    key, one, two = ("string", "'1'", "'2'") if format == "AVRO" else ("int", "1", "2")
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a array<map<string,struct<x:int,y:array<decimal(38,10)>>>>,"
        f" m map<{key},array<string>>, e array<string>, em map<string,string>, "
        f"s struct<a:struct<b:struct<c:string>>>, l string) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    value = "named_struct('x', 1, 'y', array(cast('0.0000000001' AS decimal(38,10)), NULL))"
    hive_client.execute(
        f"INSERT INTO {table} SELECT 1, array(map('k', {value})), map({one}, array('a', NULL, '')),"
        " "
        "array(), map(), named_struct('a', named_struct('b', named_struct('c', 'd'))), "
        "repeat('é', 1000000)"
    )
    hive_client.execute(f"INSERT INTO {table} (id, l) VALUES (2, ''), (3, NULL)")
    if properties == FULL_ACID:
        hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    m = [f"m[{one}][{i}]" for i in range(3)]
    columns = [
        *("id", "a[0]['k'].x", "a[0]['k'].y[0]", "a[0]['k'].y[1]", "a IS NULL", *m),
        *(f"m[{two}]", "e IS NULL", "coalesce(size(e), -1)", "em IS NULL"),
        *("coalesce(size(em), -1)", "s.a.b.c", "s.a IS NULL", "length(l)", "md5(l)"),
    ]
    differential.check_columns(table, columns)
    with differential.pinned_frame(table) as (_, frame):
        found = frame.where(f"s.a.b.c = 'd' AND a[0]['k'].x = 1 AND m[{one}][0] = 'a'")
        assert [row[0] for row in found.select("id").collect()] == [1]


@EVERY_FORMAT
def test_any_bytes_and_empty_collections(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    """Binary values that are no text; collections without elements, and NULL."""
    table = f"{database}.edges"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, b binary, a array<int>, m map<string,int>, "
        f"s struct<x:int,y:array<string>>) STORED AS {format} TBLPROPERTIES ({properties})"
    )
    none = "array(1)", "map('k', 1)", "named_struct('x', 1, 'y', array('z'))"
    nothing = "named_struct('x', 2, 'y', array_slice(array('z'), 0, 0))"
    empty = "array_slice(array(1), 0, 0)", "map('l', cast(NULL AS int))", nothing
    for row in ((1, "unhex('00FF80C3')", *none), (2, "unhex('')", *empty)):
        hive_client.execute(f"INSERT INTO {table} SELECT {', '.join(map(str, row))}")
    hive_client.execute(f"INSERT INTO {table} (id) VALUES (3)")
    columns = ["id", "hex(b)", "m['k']", "s.x"]
    for value in ("a", "m", "s.y"):
        columns += [f"{value} IS NULL", f"coalesce(size({value}), -1)"]
    columns += [f"CASE WHEN size({value}) > 0 THEN {value}[0] END" for value in ("a", "s.y")]
    differential.check_columns(table, columns)
