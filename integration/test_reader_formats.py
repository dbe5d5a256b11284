"""The formats of insert-only tables beside ORC and Parquet: text, JSON and Avro."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import SparkRuntimeException

from hiveacid.errors import UnreadableTableError
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient
from integration.support.tables import INSERT_ONLY, storage

EVERY_TYPE = {
    "t": "tinyint",
    "s": "smallint",
    "i": "int",
    "b": "bigint",
    "f": "float",
    "d": "double",
    "yes": "boolean",
    "amount": "decimal(38,18)",
    "day": "date",
    "at": "timestamp",
    "c": "char(5)",
    "v": "varchar(3)",
    "text": "string",
    "bytes": "binary",
    "a": "array<int>",
    "m": "map<string,decimal(4,2)>",
    "r": "struct<x:int,y:array<char(3)>,z:timestamp>",
}
#: What is compared of these columns: a common notation for values that the clients print apart.
SHOWN = [
    "id",
    *("t", "s", "i", "b", "cast(f AS double)", "d", "yes", "amount"),
    *("cast(day AS string)", "cast(at AS string)"),
    *("concat(c, '|')", "v", "text", "bytes", "a[0]", "a[1]", "a IS NULL", "m['k']", "m['Ü']"),
    *("m IS NULL", "r.x", "concat(r.y[0], '|')", "cast(r.z AS string)"),
]


@pytest.mark.parametrize(
    ("format", "properties"),
    [storage("text"), storage("json"), storage("avro"), storage("parquet"), storage("full acid")],
)
def test_every_type(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    """Edges of every type, in partitions, in sessions of two time zones."""
    table = f"{database}.everything"
    columns = ", ".join(f"{name} {hive_type}" for name, hive_type in EVERY_TYPE.items())
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {columns}) PARTITIONED BY (p string) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    edges = [
        (
            *("-128", "-32768", "-2147483648", "-9223372036854775808", "NaN", "Infinity", "true"),
            *("99999999999999999999.999999999999999999", "0001-01-01", "1500-03-01 12:00:00"),
            *("ab", "abcde", 'q"u\\o|te', "bin"),
        ),
        (
            *("127", "32767", "2147483647", "9223372036854775807", "-Infinity", "-0.0", "false"),
            *("-0.000000000000000001", "9999-12-31", "2026-11-01 01:30:00.123"),
            *("", "", "", ""),
        ),
        (
            *("0", "0", "0", "0", "3.4028235E38", "1.7976931348623157E308", "true"),
            *("1.50", "1582-10-15", "1883-11-18 12:03:57"),
            *("Ü", "日本語日本", "日本語", "é"),
        ),
    ]
    selects = []
    for i, values in enumerate(edges):
        casts = ", ".join(
            f"cast('{value.replace(chr(92), chr(92) * 2)}' AS {hive_type})"
            for value, hive_type in zip(values, EVERY_TYPE.values(), strict=False)
        )
        r = f"'x', {i}, 'y', array(cast('z' AS char(3))), 'z', cast("
        selects.append(
            f"SELECT {i}, {casts}, array({i}, NULL), map('k', cast({i} AS decimal(4,2)), 'Ü', "
            f"NULL), named_struct({r}'{values[9]}' AS timestamp)), 'p {i % 2}'"
        )
    hive_client.execute(f"INSERT INTO {table} {' UNION ALL '.join(selects)}")
    hive_client.execute(f"INSERT INTO {table} (id, p) VALUES (10, NULL), (11, 'p 1')")
    differential.check_columns(
        table, [*SHOWN, "coalesce(p = 'p 1', false)"], ["UTC", "America/New_York"]
    )
    where = "text = '日本語' AND yes AND c = 'Ü' AND p = 'p 0'"
    with differential.pinned_frame(table) as (_, frame):
        assert [row[0] for row in frame.where(where).select("id").collect()] == [2]
        assert frame.count() == 5


def test_avro_of_a_writer_in_another_zone(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Hive writes instants, and in the file's header the zone that makes them its writer's time."""
    table = f"{database}.zoned"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, at timestamp, day date) STORED AS AVRO "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, '2026-11-01 01:30:00.123', '2026-11-01'), "
        "(2, '1890-03-01 12:00:00', '1500-03-01')"
    )
    with differential.pinned_frame(table) as (plan, _):
        (file,) = (Path(data.file.path.removeprefix("file:")) for data in plan.data)
    written = file.read_bytes()
    # A value follows the name, after twice its length.
    name, value = b"writer.time.zone", b"\x06PRC"
    start = written.index(name) + len(name)
    changed = written[:start] + value + written[start + 1 + written[start] // 2 :]
    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(changed)
    shown = ["id", "cast(at AS string)", "cast(day AS string)"]
    assert ("1", "2026-11-01 09:30:00.123", "2026-11-01") in canonical(
        hive_client.query(f"SELECT {', '.join(shown)} FROM {table}")
    )
    differential.check_columns(table, shown, ["UTC", "America/New_York"])


def load(client: HiveClient, table: str, path: Path, lines: Iterable[str]) -> None:
    """LOAD DATA of a text file with these lines."""
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    client.execute(f"LOAD DATA LOCAL INPATH '{path}' INTO TABLE {table}")


#: Values that Hive itself would not write, for the first 14 types of `EVERY_TYPE`.
LOOSE = [
    "1.0|1.9|-1.9|1.|1|1.|TRUE|1.005|2020-1-1|2020-1-1 1:2:3.4|abcdefg|éééé|x|YQ",
    "abc|abc|abc|abc|abc|abc|yes|abc|abc|abc|abc|abc|abc|abc",
    "128|32768|2147483648|9223372036854775808|3.5e40|1e400|1|1000|20200101|2020-01-01|x|x|x|#",
    " 1| 1 |1 |\t1| 1.5 | 1.5| true | 1.5 | 2020-01-01 | 2020-01-01 00:00:00 | ab |ab |x | YWJj",
    "|||||||||||||",
    "\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N|\\N",
    "+1|-1|.5|-.5|+1.5|-.5|tRuE|-1.555|2020-02-30|2020-02-30 00:00:00|a|b|c|YQ==",
    "-.|.|+.|-|NaN|+NaN|t|999.995|2020-12-31x|2020-01-01T10:20:30|é|日本語日|é|YQ=",
    "1e1|1 1|0x1|1_0|inf|nan|f|1e2|12020-01-01|2020-01-01 25:00:00|a|b|c|A",
    "1d|1L|--1|1-|1f|1D|0|.5|0001-01-01|0001-01-01 00:00:00|a|b|c|YW Jj",
    "00001|01|1.x|1.0e1|0x1p3|0X.8P1|FALSE|5.|1582-10-10|1582-10-10 00:00:00.5|a|b|c|d+/=",
    "1|1|1|1|-|+|n|-|1-1-1|2020-01-01 00:00:00+01:00|a|b|c|d-_=",
    "1|1|1|1|infinity|-Infinity|true |1e400|2020-01-01T00|2020-01-01 00:00|a|b|c|=",
    "1|1|1|1|1e-50|4.9E-324|x|1 1|2020/01/01|2020-01-01 00:00:00.|a|b|c|YWJjZA|more|still more",
    "1|1|1|1|16777217|1e|x|-0|0000-01-01|2020-01-01  00:00:00|a|b|c|é",
    "1|1|1|1|1_0|1 1|x|12345678901234567890123456789012345678901|2020-01|2020-01-01 24:00:00",
    "1|1|1|1|1|1|x|1|\t2020-01-01\t|\t2020-01-01 00:00:00\t",
    "1|1|1|1|1|1|x|1|2020-01-1x|2020-01-01T1:1:1",
    "1|1|1|1|1|1|x|1|2020-01-011|2020-01-011 00:00:00",
    "1|1|1|1|1|1|x|1|2020-001-01|2020-01-01T01:01:01.5",
    "1",
    "",
]


def test_text_in_any_form(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """What `LazySimpleSerDe` makes of values that Hive itself would not write."""
    table = f"{database}.loose"
    types = {name: EVERY_TYPE[name] for name in list(EVERY_TYPE)[:14]} | {"amount": "decimal(5,2)"}
    columns = ", ".join(f"{name} {hive_type}" for name, hive_type in types.items())
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {columns}) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    load(hive_client, table, tmp_path / "loose", (f"{i}|{line}" for i, line in enumerate(LOOSE)))
    differential.check_columns(table, [*SHOWN[:14], "concat(text, '|')", "hex(bytes)"])


#: Dates and timestamps with years of less than four digits, and texts that are none.
SHORT_YEARS = [
    "24-02-29|24-02-29 10:00:00",
    "999-12-31|999-12-31 00:00:00",
    "24-02-29 10:00|24-2-9 1:2:3.456",
    "24-2-9|24-2-9 1:2",
    "24-2-9xx|24-02-29",
    "1-1-1éé|1-1-1 1:2:3",
    "1-1-1|024-01-01T00:00:00",
    "23-02-29|23-02-29 10:00:00",
    " 24-02-29T10:00:00|\t24-02-29 10:00:00\t",
    "00024-01-01|000024-01-01 00:00:00",
    "24-02-290|12024-02-09T01:02:03",
    "2024-02-29|2024-02-29T10:20",
    "2024-02-29|2024-02-29T10:20.5",
    "2024-02-29|2024-02-29T10",
]


def test_years_of_less_than_four_digits(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Hive takes them as they are: `24` is the year 24."""
    table = f"{database}.years"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, day date, at timestamp, days array<date>, "
        "named map<string,date>) ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' COLLECTION ITEMS "
        f"TERMINATED BY ',' MAP KEYS TERMINATED BY '=' STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    days = [cells.partition("|")[0] for cells in SHORT_YEARS]
    lines = [f"{i}|{SHORT_YEARS[i]}|{day},{day}|k={day}" for i, day in enumerate(days)]
    load(hive_client, table, tmp_path / "years", lines)
    shown = [f"cast({it} AS string)" for it in ("day", "at", "days[1]", "named['k']")]
    rows = hive_client.query(f"SELECT {shown[0]}, {shown[1]} FROM {table} WHERE id < 2")
    assert rows[0] == ("0024-02-29", "0024-02-29 10:00:00")
    assert rows[1] == ("0999-12-31", "0999-12-31 00:00:00")
    differential.check_columns(table, ["id", *shown], ["UTC", "America/New_York"])


#: Cells for `array<int>`, `map<string,int>`, `struct<x:int,y:array<string>>`, `array<array<int>>`.
NESTED = [
    "1|1,2|a:1,a:2,b:3|1,u\x04v|1\x042,3",
    "2|,|a:b:c|,|,",
    "3|1,,x|:1,b,c:|1|1\x04\x042",
    "4||||",
    "5|\\N|\\N|\\N|\\N",
    "6|\\N,1|\\N:1,a:\\N|\\N,\\N|\\N,\\N\x041",
    "7|1|a|1,|",
    "8",
]


def test_nested_text(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.nested"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a array<int>, m map<string,int>, "
        "s struct<x:int,y:array<string>>, aa array<array<int>>) ROW FORMAT DELIMITED "
        "FIELDS TERMINATED BY '|' COLLECTION ITEMS TERMINATED BY ',' MAP KEYS TERMINATED BY ':' "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    load(hive_client, table, tmp_path / "nested", NESTED)
    nested = ["a", "s", "aa"]
    values = ["m['a']", "m['b']", "m['c']", "m['']", "coalesce(size(m), -1)", "m IS NULL"]
    rows = hive_client.query(f"SELECT id, {', '.join(nested + values)} FROM {table}")
    with differential.pinned_frame(table) as (_, frame):
        # As JSON, which is how HiveServer2 sends nested values.
        as_json = (f"to_json({column}, {KEEP_NULLS})" for column in nested)
        shown = frame.selectExpr("id", *as_json, *values).collect()
        assert canonical(shown) == canonical(map(_as_text, rows))


KEEP_NULLS = "map('ignoreNullFields', 'false')"


def _as_text(row: Iterable[object]) -> list[object]:
    return [value.decode() if isinstance(value, bytes) else value for value in row]


def test_properties_of_text(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Header lines, escapes, a NULL marker of one's own, and a last column that takes the rest."""
    serde = "ROW FORMAT SERDE 'org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe'"
    escaped = ["a\\,b,\\N,1", "a\\nb,a\\rb,2", "a\\tb,\\\\N,3", "\\\\,x\\,4", "\\\\\\,x,y,\\6"]
    for name, properties, table_properties, lines in (
        ("header", "'field.delim'=','", ", 'skip.header.line.count'='2'", ["h", "h", "1,x", "2,y"]),
        ("escapes", "'field.delim'=',', 'escape.delim'='\\\\'", "", [*escaped, "end\\,x\\", ",,"]),
        ("marker", "'field.delim'=',', 'serialization.null.format'='-'", "", ["-,-", "\\N,", "--"]),
        (
            "rest",
            "'field.delim'='59', 'serialization.last.column.takes.rest'='true'",
            "",
            ["1;b;c;d", "2", "3;", "4;;;"],
        ),
        ("backslash", "'field.delim'=',', 'escape.delim'=''", "", ["a\\,b,c,1", "\\\\,x,2"]),
        ("nothing", "'field.delim'='', 'serialization.format'='59'", "", ["1;2;3", "1\x012\x013"]),
    ):
        table = f"{database}.{name}"
        hive_client.execute(
            f"CREATE TABLE {table} (a string, b string, c int) {serde} WITH SERDEPROPERTIES "
            f"({properties}) STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY}{table_properties})"
        )
        load(hive_client, table, tmp_path / name, lines)
        load(hive_client, table, tmp_path / f"{name} again", lines[:3])
        assert differential.check(table).rows, "Hive shows some"
    structs, parted = f"{database}.structs", f"{database}.parted"
    hive_client.execute(
        f"CREATE TABLE {structs} (id int, s struct<x:string,y:string>) {serde} "
        "WITH SERDEPROPERTIES ('field.delim'='59', 'collection.delim'='58', "
        "'serialization.last.column.takes.rest'='true') "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    load(hive_client, structs, tmp_path / "structs", ["1;b:c:d", "2;b", "3;b:", "4;b:c;d:e", "5"])
    differential.check_columns(structs, ["id", "s.x", "s.y"])
    hive_client.execute(
        f"CREATE TABLE {parted} (id int, v string) PARTITIONED BY (p int) STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {parted} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    header = "('skip.header.line.count'='1')"
    hive_client.execute(f"ALTER TABLE {parted} PARTITION (p=1) SET SERDEPROPERTIES {header}")
    assert len(differential.check(parted).rows) == 3
    hive_client.execute(f"ALTER TABLE {parted} SET TBLPROPERTIES {header}")
    differential.check(parted)


def test_json_in_any_form(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """What Hive would not write is read as Hive reads it, or an error."""
    table = f"{database}.loose"
    hive_client.execute(
        f"CREATE TABLE {table} (i tinyint, s string, d date, r struct<x:int>, "
        "m map<int,string>, b binary) "
        f"PARTITIONED BY (line int) STORED AS JSONFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    fine = ['{"I": 1, "S": "A", "more": [1]}', '{"r": {"X": 5, "x": 6}, "d": "2020-01-01"}', "{}"]
    fine += ['{"m": {"1": "a", "2": "b", "01": "c"}, "b": "YWI="}', '{"m": {"3": "d"}, "b": null}']
    load(hive_client, f"{table} PARTITION (line = 0)", tmp_path / "fine", fine)
    differential.check_columns(table, ["i", "s", "cast(d AS string)", "r.x"])
    of_map = ["m[1]", "m[2]", "m[3]", "size(m)", "map_keys(m)[0]"]
    differential.check_columns(table, ["s", *of_map, "cast(b AS string)"])
    wrong = [
        '{"i": 128}',
        '{"i": "x"}',
        '{"s": 1.5}',
        '{"d": "2020-1-1"}',
        '{"i": 1',
        "",
        "[1]",
        '{"b": 1234}',
    ]
    for i, line in enumerate(wrong, 1):
        load(hive_client, f"{table} PARTITION (line = {i})", tmp_path / f"{i}", [line])
    with differential.pinned_frame(table) as (_, frame):
        assert frame.where("line = 0").count() == len(fine)
        for i in range(1, len(wrong) + 1):
            # The latter is what PySpark 3.5 makes of it.
            raised = (SparkRuntimeException, Py4JJavaError)
            with pytest.raises(raised, match="has JSON that is not what Hive"):
                frame.where(f"line = {i}").collect()


def test_properties_of_text_that_are_set_later(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """The table's own go before those of its SerDe, and old partitions follow the table's."""
    marked, parted = f"{database}.marked", f"{database}.parted"
    hive_client.execute(
        f"CREATE TABLE {marked} (id int, v string) ROW FORMAT DELIMITED NULL DEFINED AS 'nil' "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {marked} VALUES (1, 'a'), (2, NULL), (3, 'none'), (4, '')")
    differential.check(marked)
    hive_client.execute(
        f"ALTER TABLE {marked} SET TBLPROPERTIES ('serialization.null.format'='none')"
    )
    differential.check(marked, where="v IS NULL")
    hive_client.execute(
        f"CREATE TABLE {parted} (id int, v string) PARTITIONED BY (p int) STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {parted} VALUES (1, '|a', 1), (2, 'b|', 1)")
    hive_client.execute(f"ALTER TABLE {parted} SET SERDEPROPERTIES ('field.delim'='|')")
    hive_client.execute(f"INSERT INTO {parted} VALUES (3, 'c', 1), (4, 'd', 2)")
    differential.check(parted, where="v IS NOT NULL")


@pytest.mark.parametrize(
    ("format", "name", "value"),
    [
        ("JSONFILE", "skip.header.line.count", "1"),
        ("TEXTFILE", "field.delim", "-2"),
    ],
)
def test_properties_that_are_not_read_yet(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    name: str,
    value: str,
) -> None:
    table = f"{database}.odd"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    differential.check(table)
    hive_client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ('{name}'='{value}')")
    with pytest.raises(UnreadableTableError, match=f"{name} = '{value}' cannot be read yet"):
        differential.check(table)
