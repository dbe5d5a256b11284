"""Insert-only tables whose files Hive's own classes read inside Spark."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException

from hiveacid.errors import UnreadableTableError
from hiveacid.reader.formats import hive_serde
from hiveacid.reader.verify import verify
from integration.support.changes import Changes
from integration.support.differential import Differential
from integration.support.hive import HiveClient
from integration.support.tables import INSERT_ONLY

_SERDE = "org.apache.hadoop.hive.serde2"
_RCFILE = (
    "STORED AS INPUTFORMAT 'org.apache.hadoop.hive.ql.io.RCFileInputFormat' "
    "OUTPUTFORMAT 'org.apache.hadoop.hive.ql.io.RCFileOutputFormat'"
)
_CSV = f"ROW FORMAT SERDE '{_SERDE}.OpenCSVSerde'"
_REGEX = f"ROW FORMAT SERDE '{_SERDE}.RegexSerDe' WITH SERDEPROPERTIES ('input.regex'="

#: Storages that Hive itself can write, with every type.
TYPED = {
    "rcfile": f"ROW FORMAT SERDE '{_SERDE}.columnar.ColumnarSerDe' {_RCFILE}",
    "binary rcfile": f"ROW FORMAT SERDE '{_SERDE}.columnar.LazyBinaryColumnarSerDe' {_RCFILE}",
    "sequencefile": "STORED AS SEQUENCEFILE",
}

Refusal = Callable[[str], str]


@pytest.fixture
def refusal(differential: Differential) -> Refusal:
    """The function that gives the message with which the reader refuses a table."""

    def message(table: str) -> str:
        with pytest.raises(UnreadableTableError) as refused:
            differential.read(table)
        return refused.value.message

    return message


@pytest.mark.parametrize("storage", TYPED.values(), ids=TYPED)
def test_every_type(
    differential: Differential, hive_client: HiveClient, database: str, storage: str
) -> None:
    """Every type, NULLs, partitions, and what an overwrite leaves."""
    table = f"{database}.typed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, t tinyint, s smallint, b bigint, f float, d double, "
        "yes boolean, amount decimal(20,4), day date, at timestamp, c char(5), v varchar(3), "
        "text string, bytes binary, a array<int>, m map<string,decimal(4,2)>, "
        f"r struct<x:int,y:array<char(3)>>) PARTITIONED BY (p string) {storage} "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    row = (
        "cast({0} AS tinyint), cast(-{0} AS smallint), cast(9000000000 AS bigint), "
        "cast(1.5 AS float), cast(-0.1 AS double), {0} = 1, cast(1234.5 AS decimal(20,4)), "
        "cast('{1}' AS date), cast('{1} 01:30:00.123456' AS timestamp), cast('ab' AS char(5)), "
        "cast('日本語日' AS varchar(3)), '{2}', cast('bin' AS binary), array({0}, NULL), "
        "map('k', cast({0} AS decimal(4,2)), 'Ü', NULL), "
        "named_struct('x', {0}, 'y', array(cast('z' AS char(3))))"
    )
    for old, partition in (("x", "gone"), ("y", "kept")):
        hive_client.execute(
            f"INSERT INTO {table} PARTITION (p='{partition}') "
            f"SELECT 1, {row.format(1, '2026-11-01', old)}"
        )
    hive_client.execute(
        f"INSERT OVERWRITE TABLE {table} PARTITION (p='gone') "
        f"SELECT 2, {row.format(2, '1970-01-01', 'new')}"
    )
    hive_client.execute(f"INSERT INTO {table} (id, p) VALUES (3, NULL), (4, 'kept')")
    shown = [
        *("id", "t", "s", "b", "cast(f AS double)", "d", "yes", "amount", "cast(day AS string)"),
        *("cast(at AS string)", "concat(c, '|')", "v", "text", "bytes", "a[0]", "a[1]"),
        *("m['k']", "m['Ü']", "a IS NULL", "r.x", "concat(r.y[0], '|')", "coalesce(p, '')"),
    ]
    shown[-1] = "coalesce(p = 'kept', false)"
    differential.check_columns(table, shown, ["UTC", "America/New_York"])
    differential.check_filters(
        table,
        ["p = 'kept'", "P = 'kept' AND ID > 1", "p = 'gone'", "p = 'x' OR id = 4", "c = 'ab'"],
        ["id"],
    )
    spark = differential.spark
    with differential.pinned_frame(table) as (_, frame):
        frame.createOrReplaceTempView("serde_view")
        assert frame.dtypes[:4] == [
            *(("id", "int"), ("t", "tinyint"), ("s", "smallint"), ("b", "bigint"))
        ]
        assert dict(frame.dtypes) | {"c": "string", "v": "string"} == dict(frame.dtypes)
        assert [field.metadata for field in frame.schema] == [{}] * 18
        assert frame.count() == 4
        assert frame.where("p = 'kept'").count() == 2
        joined = spark.sql(
            "SELECT one.id FROM serde_view one JOIN serde_view other ON one.id = other.ID "
            "WHERE one.P = 'kept' AND other.p = 'kept'"
        )
        assert sorted(row.id for row in joined.collect()) == [1, 4]
        ids = spark.sql(
            "SELECT id FROM serde_view WHERE p IN (SELECT p FROM serde_view WHERE text = 'new')"
        )
        assert [row.id for row in ids.collect()] == [2]
        assert [row.id for row in frame.where("p IS NULL").collect()] == [3]
        spark.catalog.dropTempView("serde_view")


def test_csv(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    refusal: Refusal,
) -> None:
    """Quotes, separators inside of quotes, lines with too few cells, a header in each file."""
    table = f"{database}.csv"
    hive_client.execute(
        f"CREATE TABLE {table} (a string, b string) {_CSV} STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    file = tmp_path / "rows"
    file.write_text('1,"x,y"\n2,"say ""so"""\n3\n\n4,b,c\n5,é\n"6,"\n')
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    differential.check(table, "a > '1'")
    hive_client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ('skip.header.line.count'='1')")
    for number, text in enumerate(['"a, quoted",b\n7,z\n8,z\n', "only a header\n", "", "h\n1,1"]):
        file = tmp_path / f"more{number}"
        file.write_text(text)
        hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(b"a,b\n9,packed\n"))
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{packed}' INTO TABLE {table}")
    with pytest.MonkeyPatch.context() as patched:
        # A task reads several files, as of many small ones.
        patched.setattr(hive_serde, "_BYTES_PER_TASK", 1 << 40)
        patched.setattr(type(differential.spark.sparkContext), "defaultParallelism", 1)
        read = differential.check(table, "a > '1'")
    assert len(read.rows) == 10
    differential.check_filters(table, ["a = '1'", "b = 'z'", "a IS NULL", "b = 'b'"])
    with differential.pinned_frame(table) as (_, frame):
        assert frame.where("a = '7'").collect() == [("7", "z")]
    hive_client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ('skip.header.line.count'='2')")
    assert "with skip.header.line.count = '2' cannot be read yet" in refusal(table)


def test_plain_csv(differential: Differential, hive_client: HiveClient, database: str) -> None:
    table = f"{database}.csv"
    hive_client.execute(
        f"CREATE TABLE {table} (a string, b string) PARTITIONED BY (p int) {_CSV} "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES ('1', 'x\"y', 1), ('2', 'u,v', 2), (NULL, NULL, 2), "
        "('', '', 1)"
    )
    hive_client.execute(f"INSERT OVERWRITE TABLE {table} PARTITION (p=1) SELECT '3', 'z'")
    differential.check(table, "p = 2 AND a = '2'")


def test_regex(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.log"
    hive_client.execute(
        f"CREATE TABLE {table} (host string, code int, size bigint) {_REGEX}"
        "'([^ ]*) ([0-9]*) ([0-9-]*)') "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    file = tmp_path / "rows"
    file.write_text("one 200 17\nno match\ntwo 404 9000000000\n")
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    differential.check(table, "code = 404")


def test_dates_and_times_of_another_calendar(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Texts are read as Hive 4 reads them; numbers that Spark takes for others are an error."""
    for name in ("rcfile", "binary rcfile"):
        table = f"{database}.{name.replace(' ', '_')}"
        hive_client.execute(
            f"CREATE TABLE {table} (id int, day date, at timestamp) {TYPED[name]} "
            f"TBLPROPERTIES ({INSERT_ONLY})"
        )
        hive_client.execute(
            f"INSERT INTO {table} VALUES (1, '1582-10-15', '1900-01-01 00:00:00'), "
            "(2, '9999-12-31', '9999-12-31 23:59:59.999999'), (3, NULL, NULL)"
        )
        shown = ["id", "cast(day AS string)", "cast(at AS string)"]
        differential.check_columns(table, shown, ["UTC", "Europe/Berlin"])
        hive_client.execute(
            f"INSERT INTO {table} VALUES (4, '1582-10-14', NULL), (5, '0001-01-01', NULL), "
            "(6, NULL, '1899-12-31 23:59:59'), (7, NULL, '0001-01-01 00:00:00')"
        )
        if name == "rcfile":
            differential.check_columns(table, shown, ["UTC", "Europe/Berlin"])
            continue
        with differential.pinned_frame(table) as (_, frame):
            assert frame.selectExpr("sum(id)").first() == (28,)
            for column in ("day", "at"):
                with pytest.raises(CapturedException, match=f"has in column {column} a time befo"):
                    frame.select(column).collect()


def test_text_that_hive_would_not_write(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Cells that are no values of their columns' types: files of a table of strings."""
    cells = ["1", " 1", "1.9", "+1", "", "abc", "1e3", "2147483648", "NaN", "2020-1-1x", "TRUE"]
    strings = f"{database}.strings"
    for table, types in (
        (strings, ("string", "string")),
        (f"{database}.numbers", ("int", "double")),
        (f"{database}.others", ("date", "boolean")),
        (f"{database}.decimals", ("decimal(5,2)", "timestamp")),
        (f"{database}.texts", ("char(3)", "binary")),
    ):
        hive_client.execute(
            f"CREATE TABLE {table} (id int, x {types[0]}, y {types[1]}) STORED AS SEQUENCEFILE "
            f"TBLPROPERTIES ({INSERT_ONLY})"
        )
        if table == strings:
            rows = ", ".join(f"({i}, '{cell}', '{cell}')" for i, cell in enumerate(cells))
            hive_client.execute(f"INSERT INTO {table} VALUES {rows}")
            (written,) = _files(differential, table)
            continue
        hive_client.execute(f"INSERT INTO {table} (id) VALUES (0)")
        (replaced,) = _files(differential, table)
        (replaced.parent / f".{replaced.name}.crc").unlink()
        replaced.write_bytes(written.read_bytes())
        y = {"binary": "hex(y)", "boolean": "y"}.get(types[1], "cast(y AS string)")
        shown = ["id", "cast(x AS string)", y]
        differential.check_columns(table, shown)


def test_delimiters(differential: Differential, hive_client: HiveClient, database: str) -> None:
    """Hive 2 spells one of the properties differently from Hive 4."""
    table = f"{database}.delimited"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a array<string>, m map<string,int>) ROW FORMAT DELIMITED "
        "FIELDS TERMINATED BY '|' COLLECTION ITEMS TERMINATED BY ',' MAP KEYS TERMINATED BY ':' "
        f"NULL DEFINED AS '-' STORED AS SEQUENCEFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 1, array('x', NULL, 'y\u0002z'), map('k', 1, 'l', NULL)"
    )
    hive_client.execute(f"INSERT INTO {table} SELECT NULL, array('-'), map('-', 2)")
    shown = ["id", "a[0]", "a[1]", "a[2]", "size(a)", "m['k']", "m['l']", "size(m)"]
    differential.check_columns(table, shown)


def _files(differential: Differential, table: str) -> list[Path]:
    """The files that a read of the table needs."""
    with differential.pinned_frame(table) as (plan, _):
        return [Path(data.file.path.removeprefix("file:")) for data in plan.data]


def test_what_is_refused(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    refusal: Refusal,
    tmp_path: Path,
) -> None:
    """A class that Spark lacks, types that its classes show otherwise, a SerDe's own columns."""
    table = f"{database}.multi"
    hive_client.execute(
        f"CREATE TABLE {table} (a string, b string) ROW FORMAT SERDE '{_SERDE}.MultiDelimitSerDe' "
        "WITH SERDEPROPERTIES ('field.delim'='||') "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    file = tmp_path / "rows"
    file.write_text("1||x\n")
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    assert (
        f"{table} is stored as org.apache.hadoop.mapred.TextInputFormat with "
        f"{_SERDE}.MultiDelimitSerDe, and the class {_SERDE}.MultiDelimitSerDe is not on Spark's "
        "class path"
    ) in refusal(table)

    table = f"{database}.times"
    hive_client.execute(
        f"CREATE TABLE {table} (day date) {_REGEX}'(.*)') "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    file.write_text("2026-01-01\n")
    hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {table}")
    assert (
        f"column day (date) cannot be read: Spark's own version of {_SERDE}.RegexSerDe shows"
        in refusal(table)
    )

    table = f"{database}.nested"
    hive_client.execute(
        f"CREATE TABLE {table} (days array<date>) STORED AS SEQUENCEFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} SELECT array(cast('2026-01-01' AS date))")
    assert "column days (array<date>) cannot be read: Spark's own version of" in refusal(table)

    table = f"{database}.numbers"
    hive_client.execute(
        f"CREATE TABLE {table} (a int, b string) {_CSV} STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'x')")
    # As the message says.
    assert hive_client.query(f"DESCRIBE {table}")[0][1] == "int"
    assert hive_client.query(f"SELECT * FROM {table}") == [("1", "x")]
    assert f"but {_SERDE}.OpenCSVSerde reads struct<a:string,b:string>" in refusal(table)


def test_files_that_the_snapshot_leaves_out(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Hidden files, union directories, aborted and compacted directories."""
    table = f"{database}.parts"
    hive_client.execute(
        f"CREATE TABLE {table} (a string) {_CSV} STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 'one' UNION ALL SELECT 'two' UNION ALL SELECT 'three'"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES ('four')")
    read = differential.check(table)
    directory = Path(read.plan.data[-1].file.path.removeprefix("file:")).parent
    (directory / "_hidden").write_text('"hidden"\n')
    (directory / ".hidden").write_text('"hidden"\n')
    (directory / "empty").write_text("")
    (directory / "new").write_text("five, of another writer\n")
    planned = differential.check(table)
    assert len(planned.rows) == 5
    with differential.pinned_frame(table) as (_, frame):
        (directory / "later").write_text("six\n")
        assert frame.count() == 5
    with differential.pinned_frame(table) as (_, frame):
        (directory / "later").unlink()
        with pytest.raises((Py4JJavaError, CapturedException), match="does not exist: .*/later"):
            frame.count()


def test_partitions_of_other_storages(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Each partition is read by its own SerDe and columns, and shown with the table's."""
    table = f"{database}.mixed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, text string) PARTITIONED BY (p int) STORED AS SEQUENCEFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'sequence', 1)")
    hive_client.execute(f"ALTER TABLE {table} SET FILEFORMAT RCFILE")
    hive_client.execute(f"INSERT INTO {table} VALUES (2, 'rc', 2)")
    hive_client.execute(f"ALTER TABLE {table} SET FILEFORMAT ORC")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 'orc', 3)")
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (later bigint)")
    hive_client.execute(f"INSERT INTO {table} VALUES (4, 'orc', 5, 4)")
    read = differential.check(table, "p < 3")
    assert len(read.rows) == 4


def test_changes_and_a_check_of_the_table(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """What was inserted since a state, and the report of `verify`, come by the same way."""
    table = f"{database}.followed"
    hive_client.execute(
        f"CREATE TABLE {table} (a string, b string) PARTITIONED BY (p int) {_CSV} "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES ('1', 'x', 1), ('2', 'y', 2)")
    changes = Changes(differential)
    seen = changes.take(table)
    hive_client.execute(f"INSERT INTO {table} VALUES ('3', 'z', 1)")
    changes.check(table, seen)
    with differential.pinned(table) as pinned:
        verification = verify(differential.spark, pinned, differential.footers)
    assert (verification.problems, verification.rows, verification.shown) == ((), 3, 3)
