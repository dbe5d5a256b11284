"""Columns of insert-only text, Parquet and Avro tables that were changed after rows were written.

Text goes by the place in the line, and a partition's own columns; Parquet and Avro go by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import SparkRuntimeException

from hiveacid.errors import UnreadableTableError
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveSqlError
from integration.support.hive.client import Row
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS
from integration.test_reader_evolution import PAIRS, VALUES, check_nested

FORMATS = ("TEXTFILE", "PARQUET", "AVRO")
EVERY_FORMAT = pytest.mark.parametrize(
    "format", ["TEXTFILE", "PARQUET", pytest.param("AVRO", marks=REPEATS)]
)

SAME = "the same rows"
NEITHER = "neither reads it"
ONLY_WE = "Hive fails, we show it"
REFUSED = "Hive shows it, we refuse"


def hive_fails(format: str, old: str, new: str) -> bool:
    """Whether Hive itself cannot read values of `old` once the column is `new`."""
    is_text = new.startswith(("string", "char", "varchar"))
    if format == "PARQUET":
        return old == "date" and is_text
    if format != "AVRO":
        return False
    if old.startswith("decimal"):
        return new in ("float", "double") or (is_text and new != "string")
    if old == "string":
        return True
    return not old.startswith(("char", "varchar")) and (is_text or new.startswith("decimal"))


def we_refuse(format: str, old: str, new: str) -> bool:
    """Whether Hive shows something that we do not."""
    if format == "PARQUET":
        return old == "timestamp"  # its text may have nanoseconds
    # Hive shows the bytes of a decimal as if they were text.
    return format == "AVRO" and (old, new) == ("decimal(10,2)", "string")


@contextmanager
def any_change_of_type(client: HiveClient) -> Iterator[None]:
    """Let Hive change types back, and those of Avro, which has a tinyint as an int from then on."""
    name = "metaconf:hive.metastore.disallow.incompatible.col.type.changes"
    client.execute(f"SET {name}=false")
    try:
        yield
    finally:
        client.execute(f"SET {name}=true")


@EVERY_FORMAT
def test_every_widening(
    differential: Differential, hive_client: HiveClient, database: str, format: str
) -> None:
    table = f"{database}.widened"
    old = ", ".join(f"c{i} {before}" for i, (before, _) in enumerate(PAIRS))
    edges = [
        ", ".join(f"cast({VALUES[before][row]} AS {before})" for before, _ in PAIRS)
        for row in (0, 1)
    ]
    nulls = ", ".join(f"cast(NULL AS {before})" for before, _ in PAIRS)
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {old}) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 0, {edges[0]} UNION ALL SELECT 1, {edges[1]} "
        f"UNION ALL SELECT 2, {nulls}"
    )
    readable = [i for i, pair in enumerate(PAIRS) if not hive_fails(format, *pair)]
    types = {i: PAIRS[i][i in readable] for i in range(len(PAIRS))}
    with any_change_of_type(hive_client):
        if format == "AVRO":  # which knows no REPLACE
            for i in readable:
                hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN c{i} c{i} {types[i]}")
        else:
            new = ", ".join(f"c{i} {type_}" for i, type_ in types.items())
            hive_client.execute(f"ALTER TABLE {table} REPLACE COLUMNS (id int, {new})")
    hive_client.execute(f"INSERT INTO {table} SELECT 3, {edges[0]} UNION ALL SELECT 4, {edges[1]}")
    read = [i for i in readable if not we_refuse(format, *PAIRS[i])]
    refused = sorted({*readable} - {*read})
    _check_values(differential, table, read)
    with differential.pinned_frame(table) as (_, frame):
        for i in refused:
            with pytest.raises((SparkRuntimeException, Py4JJavaError)) as failed:
                frame.select(f"c{i}").collect()
            if format != "AVRO" or not pyspark.__version__.startswith("3."):  # which names no file
                assert "/widened/delta_0000001_0000001_0000/000000_0" in str(failed.value)
            if isinstance(failed.value, SparkRuntimeException):
                assert "[HIVEACID_" in str(failed.value)
            assert f"c{i}" in str(failed.value), "the column is named, too"
    # A compaction of an insert-only table writes what a SELECT shows.
    hive_client.compact(table, "minor" if format == "AVRO" else "major")
    _check_values(differential, table, readable)


#: They make no difference to a failure.
LENGTHS = ("char(10)", "varchar(3)", "decimal(10,2)", "decimal(20,4)")


@pytest.mark.parametrize("lengths", [False, pytest.param(True, marks=REPEATS)])
@pytest.mark.parametrize("format", ["PARQUET", pytest.param("AVRO", marks=REPEATS)])
def test_widenings_that_hive_cannot_read(
    differential: Differential, hive_client: HiveClient, database: str, format: str, lengths: bool
) -> None:
    pairs = [p for p in PAIRS if hive_fails(format, *p) and (p[1] in LENGTHS) == lengths]
    table = f"{database}.unreadable"
    types = list(VALUES)
    columns = ", ".join(f"c{n} {old}" for n, old in enumerate(types))
    values = ", ".join(f"cast({VALUES[old][1]} AS {old})" for old in types)
    hive_client.execute(
        f"CREATE TABLE {table} ({columns}) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(f"INSERT INTO {table} SELECT {values}")
    with any_change_of_type(hive_client):
        for n, old in enumerate(types):
            change = f"ALTER TABLE {table} CHANGE COLUMN c{n} c{n}"
            for new in (new for before, new in pairs if before == old):
                hive_client.execute(f"{change} {new}")
                # A string has no length in the file, where Hive looks for the varchar's.
                expected = ONLY_WE if old == "string" else NEITHER
                assert _outcome(differential, table, [f"c{n}"]) == expected, (old, new)
            hive_client.execute(f"{change} {old}")
    assert _outcome(differential, table, ["c0", "c1"]) == SAME


def _check_values(differential: Differential, table: str, columns: Sequence[int]) -> None:
    """Compare column by column, so that a failure names the pair of types."""
    # HiveServer2 sends a float as the double that its shortest text stands for.
    shown = [f"cast(c{i} AS double)" if PAIRS[i][1] == "float" else f"c{i}" for i in columns]
    some = f"id > 0 AND c{columns[0]} IS NOT NULL"
    expected = differential.client.query(f"SELECT id, {', '.join(shown)} FROM {table}")
    (count,) = differential.client.query(f"SELECT count(*) FROM {table}")[0]
    filtered = differential.client.query(f"SELECT id, c{columns[0]} FROM {table} WHERE {some}")
    with differential.pinned_frame(table) as (_, frame):
        rows = [tuple(row) for row in frame.selectExpr("id", *shown).collect()]
        assert frame.count() == count == len(expected)
        found = frame.where(some).select("id", f"c{columns[0]}").collect()
    assert canonical(found) == canonical(filtered)
    wrong = {
        PAIRS[i]: (ours, hives)
        for n, i in enumerate(columns, 1)
        if (ours := _column(rows, n)) != (hives := _column(expected, n))
    }
    assert not wrong, "types before and after, our values, Hive's"


def _column(rows: Sequence[Row], n: int) -> list[tuple[str, ...]]:
    # Hive pads a char when it prints it.
    return [tuple(value.rstrip() for value in row) for row in canonical((r[0], r[n]) for r in rows)]


def _outcome(differential: Differential, table: str, shown: Sequence[str]) -> str:
    """How both read some columns; they must not show different rows."""
    try:
        ours = None
        with differential.pinned_frame(table) as (_, frame):
            ours = canonical(frame.selectExpr(*shown).collect())
    except (Py4JJavaError, SparkRuntimeException, UnreadableTableError):
        pass
    try:
        hives = canonical(differential.client.query(f"SELECT {', '.join(shown)} FROM {table}"))
    except HiveSqlError:
        return NEITHER if ours is None else ONLY_WE
    assert ours in (None, hives), (table, shown)
    return REFUSED if ours is None else SAME


#: Steps on the columns (id int, a string, b string), each with values for a row after it.
STEPS = {
    "ADD COLUMNS (x int)": "7, 'a', 'b', 70",
    "CHANGE COLUMN a aa string": "8, 'aa', 'b', NULL",
    "CHANGE COLUMN aa aa string AFTER b": "9, 'b', 'aa', 90",
    "CHANGE COLUMN b b string FIRST": "",
    "REPLACE COLUMNS (id int, aa string, b string, x int)": "10, 'aa', 'b', 100",
    "REPLACE COLUMNS (b string, z int)": "",
    "REPLACE COLUMNS (id int, aa string, b string)": "11, 'aa', NULL",
    "ADD COLUMNS (x bigint)": "12, 'aa', 'b', 7000000000",
    "CHANGE COLUMN aa a string": "13, 'a', 'b', 130",
}
FIRST, REORDERED, WHOLESALE, DROP = [*STEPS][3:7]


@pytest.mark.parametrize(
    "layout",
    ["partitioned", pytest.param("plain", marks=REPEATS), pytest.param("cascade", marks=REPEATS)],
)
@pytest.mark.parametrize(
    "format",
    [
        "TEXTFILE",
        "PARQUET",
        pytest.param("AVRO", marks=REPEATS),
        pytest.param("JSONFILE", marks=REPEATS),
    ],
)
def test_columns_added_renamed_moved_and_dropped(
    differential: Differential, hive_client: HiveClient, database: str, format: str, layout: str
) -> None:
    """Each step adds a partition, and a row to the oldest one, which may have its own columns."""
    table = f"{database}.changed"
    parted = layout != "plain"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a string, b string) "
        f"{'PARTITIONED BY (p int)' if parted else ''} STORED AS {format} "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )

    def insert(values: str, partition: int) -> None:
        places = (f", {p}" for p in (1, partition)) if parted else ("",)
        rows = ", ".join(f"({values}{place})" for place in places)
        hive_client.execute(f"INSERT INTO {table} VALUES {rows}")

    insert("1, 'a1', '11'", 1)
    insert("2, 'a2', NULL", 1)
    refused = []
    for partition, (step, values) in enumerate(STEPS.items(), 2):
        if step.startswith("ADD COLUMNS (x big") and DROP in refused:
            continue  # x is still there
        try:
            suffix = " CASCADE" if layout == "cascade" else ""
            hive_client.execute(f"ALTER TABLE {table} {step}{suffix}")
        except HiveSqlError:
            refused.append(step)
            continue
        if "AFTER" in step or not step.startswith("CHANGE"):
            insert(values, partition)
        differential.check(table, hive_counts=False)
    if format == "JSONFILE":
        assert refused == [step for step in STEPS if step != "ADD COLUMNS (x bigint)"]
    elif format == "AVRO":
        assert refused == [FIRST, REORDERED, WHOLESALE, DROP]
    elif format == "PARQUET" and layout == "partitioned":
        assert refused == [FIRST, WHOLESALE, DROP]
    else:
        assert refused == [FIRST, WHOLESALE]
    kinds = ("minor", "major") if layout != "cascade" else ("major",)
    for kind in kinds if format != "JSONFILE" else ():
        insert("13, 'a', 'b', 130", 1)
        hive_client.compact(table, kind, partition="p=1" if parted else None)
        differential.check(table, where="id > 1 AND b = 'b'", hive_counts=kind == "major")


NESTED = (
    "s s struct<a:int,b:string,c:int>",
    "l l array<struct<x:int,y:string>>",
    "m m map<string,struct<k:int,j:int>>",
    "s s struct<a:bigint,b:string,c:int>",
    "s s struct<renamed:bigint,b:string,c:int>",
    "s s struct<b:string,renamed:bigint>",
)


@EVERY_FORMAT
def test_fields_inside_of_columns(
    differential: Differential, hive_client: HiveClient, database: str, format: str
) -> None:
    table = f"{database}.nested"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, s struct<a:int,b:string>, l array<struct<x:int>>, "
        f"m map<string,struct<k:int>>) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    for i in (1, 2):
        hive_client.execute(
            f"INSERT INTO {table} SELECT {i}, named_struct('a', {i}, 'b', 'x'), "
            f"array(named_struct('x', {i})), map('q', named_struct('k', {i}))"
        )
    for change in NESTED:
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {change}")
        check_nested(differential, hive_client, table)
    hive_client.compact(table, "major")
    check_nested(differential, hive_client, table)


@pytest.mark.parametrize(
    "change",
    ["s s struct<a:double,b:string>", "s s struct<c:string>", "l l array<struct<y:string>>"],
)
def test_refused_changes_inside_of_parquet_columns(
    differential: Differential, hive_client: HiveClient, database: str, change: str
) -> None:
    """Spark would show 2147483647 where Hive shows 2147483648, and a struct where it shows NULL."""
    table = f"{database}.refused"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, s struct<a:int,b:string>, l array<struct<x:int>>, "
        f"m map<string,int>) STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    values = "1, named_struct('a', 2147483647, 'b', 'x'), array(named_struct('x', 1)), map('k', 2)"
    for _ in (1, 2):
        hive_client.execute(f"INSERT INTO {table} SELECT {values}")
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {change}")
    where = rf"/000000_0 has .*<.*int.*> for column {change[0]}, which is {change[4:]} now"
    with pytest.raises(UnreadableTableError, match=where):
        differential.read(table)
    shown = hive_client.query(f"SELECT * FROM {table}")
    hive_client.compact(table, "major")
    assert hive_client.query(f"SELECT * FROM {table}") == shown
    check_nested(differential, hive_client, table)


#: Types before and after, and a value of each.
CHANGES = {
    "i": ("int", "bigint", "2147483647", "9223372036854775807"),
    "f": ("float", "double", "0.1", "0.1"),
    "x": ("int", "double", "2147483647", "0.5"),
    "v": ("varchar(6)", "varchar(3)", "'abcdef'", "'abcdef'"),
    "d": ("decimal(10,2)", "decimal(20,4)", "1.25", "2.1254"),
    "e": ("decimal(10,2)", "decimal(20,4)", "99999999.99", "9999999999999999.1234"),
    "n": ("decimal(10,2)", "decimal(9,0)", "99999999.99", "1"),
}


@pytest.mark.parametrize(
    ("format", "properties", "cascade"),
    [
        *(
            pytest.param(format, INSERT_ONLY, cascade, id=f"{format}-{name}", marks=marks)
            for name, cascade, marks in (
                ("own columns", "", ()),
                ("cascade", " CASCADE", REPEATS),
            )
            for format in FORMATS
        ),
        # Hive reads ORC by the table's columns in either case.
        pytest.param("ORC", INSERT_ONLY, "", id="ORC-own columns", marks=REPEATS),
        pytest.param("ORC", FULL_ACID, "", id="full acid-own columns"),
    ],
)
def test_partitions_with_columns_of_other_types(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
    cascade: str,
) -> None:
    table = f"{database}.typed"
    old = ", ".join(f"{name} {types[0]}" for name, types in CHANGES.items())
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {old}) PARTITIONED BY (p int) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    values = [", ".join(types[n] for types in CHANGES.values()) for n in (2, 3)]
    hive_client.execute(f"INSERT INTO {table} SELECT 1, {values[0]}, 1")
    for name, (_, new, *_) in CHANGES.items():
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {name} {name} {new}{cascade}")
    for p in (1, 2):
        hive_client.execute(f"INSERT INTO {table} SELECT {p + 1}, {values[1]}, {p}")
    outcomes = {name: _outcome(differential, table, ["id", "p", name]) for name in CHANGES}
    # Hive reads Parquet by the table's types, and takes the values for the partition's.
    failing = "ifx" if format == "PARQUET" and not cascade else ""
    assert outcomes == {name: ONLY_WE if name in failing else SAME for name in CHANGES}


#: Types of columns before and after, and a value.
CONVERTED = {
    "s": ("struct<a:int>", "struct<z:bigint,b:struct<v:char(3)>>", "named_struct('a', 1)"),
    "l": (
        "array<struct<a:int,b:string,c:int>>",
        "array<struct<c:string,a:varchar(2)>>",
        "array(named_struct('a', 1, 'b', 'xyz', 'c', 3), NULL)",
    ),
    "m": (
        "map<varchar(8),varchar(8)>",
        "map<varchar(3),char(3)>",
        "map(cast('abcdef' AS varchar(8)), cast('ab cd' AS varchar(8)))",
    ),
    "v": ("array<varchar(8)>", "array<varchar(3)>", "array(cast('abcdef' AS varchar(8)), NULL)"),
    "b": ("boolean", "string", "true"),
    # Hive keeps their low bits.
    "n": ("bigint", "int", "6442450947"),
    "t": ("array<int>", "array<tinyint>", "array(-129, 5, NULL)"),
    "at": ("timestamp", "string", "cast('2026-01-02 03:04:05.123456789' AS timestamp)"),
}


def test_text_partitions_with_nested_columns_of_other_types(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Fields of structs go by position; texts are cut, however deep."""
    table = f"{database}.converted"
    columns = ", ".join(f"{name} {types[0]}" for name, types in CONVERTED.items())
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {columns}) PARTITIONED BY (p int) STORED AS TEXTFILE "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    values = ", ".join(value for *_, value in CONVERTED.values())
    hive_client.execute(f"INSERT INTO {table} SELECT 1, {values}, 1")
    hive_client.execute(f"INSERT INTO {table} (id, p) VALUES (2, 1)")
    with any_change_of_type(hive_client):
        for name, (_, new, _) in CONVERTED.items():
            hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {name} {name} {new}")
    shown = hive_client.query(f"SELECT at FROM {table} WHERE id = 1")
    assert shown == [("2026-01-02 03:04:05.123456789",)]
    with pytest.raises(UnreadableTableError, match="partition p=1 has column at as timestamp, and"):
        differential.read(table)
    with any_change_of_type(hive_client):
        hive_client.execute(f"ALTER TABLE {table} PARTITION (p=1) CHANGE COLUMN at at string")
    differential.check_columns(
        table,
        [
            *("id", "s.z", "s.b IS NULL", "size(l)", "l[0].c", "l[0].a", "l[1] IS NULL", "at"),
            *("concat(m['abc'], '|')", "size(m)", "v[0]", "v[1]", "b", "s IS NULL", "m IS NULL"),
            *("n", "t[0]", "t[1]", "t[2]"),
        ],
    )
