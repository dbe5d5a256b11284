"""Columns that were changed after rows were written: their values are those that Hive shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from pyspark.sql import DataFrame

from integration.support.differential import Differential, canonical, collected
from integration.support.hive import HiveClient, HiveSqlError
from integration.support.tables import FULL_ACID, REPEATS, storage

_TEXTS = ("string", "char(3)", "char(10)", "varchar(3)", "varchar(10)")
_DECIMALS = ("decimal(9,0)", "decimal(10,2)", "decimal(20,4)")

#: Every change of a type that Hive 4.0.1 allows, of those between the primitive types; char,
#: varchar and decimal stand for themselves with some lengths. It refuses all others, those of
#: boolean and binary among them.
WIDENINGS = {
    "tinyint": ("smallint", "int", "bigint", "float", "double", *_DECIMALS, *_TEXTS),
    "smallint": ("int", "bigint", "float", "double", *_DECIMALS, *_TEXTS),
    "int": ("bigint", "float", "double", *_DECIMALS, *_TEXTS),
    "bigint": ("float", "double", *_DECIMALS, *_TEXTS),
    "float": ("double", *_TEXTS),
    "double": _TEXTS,
    "decimal(10,2)": ("float", "double", "decimal(9,0)", "decimal(20,4)", *_TEXTS),
    "string": _TEXTS[1:],
    "char(6)": _TEXTS,
    "varchar(6)": _TEXTS,
    "date": _TEXTS,
    "timestamp": _TEXTS,
}

#: Values at the edges of each type.
VALUES = {
    "tinyint": ("127", "-128"),
    "smallint": ("32767", "-32768"),
    "int": ("2147483647", "-2147483648"),
    "bigint": ("9223372036854775807", "-9223372036854775808"),
    "float": ("0.1", "-3.4e38"),
    "double": ("0.1", "-1.7e308"),
    "decimal(10,2)": ("12345678.91", "-99999999.99"),
    "string": ("'ü日本語'", "'2026-01-02 '"),
    "char(6)": ("'ü日本語'", "'abcdef'"),
    "varchar(6)": ("'ü日本語'", "'ab '"),
    "date": ("'2026-03-29'", "'0001-01-01'"),
    "timestamp": ("'2026-03-29 02:30:00.123456'", "'1970-01-01 00:00:00'"),
}

#: HiveServer2 sends a float as the double that its shortest text stands for: these are the same.
FLOAT_VALUES = ("1.25", "-64")

PAIRS = [(old, new) for old, news in WIDENINGS.items() for new in news]


@pytest.mark.parametrize(("format", "properties"), [storage("full acid"), storage("orc", REPEATS)])
def test_every_widening_that_hive_allows(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.widened"
    old = ", ".join(f"c{i} {before}" for i, (before, _) in enumerate(PAIRS))
    new = ", ".join(f"c{i} {after}" for i, (_, after) in enumerate(PAIRS))
    hive_client.execute(
        f"CREATE TABLE {table} (id int, {old}) STORED AS {format} TBLPROPERTIES ({properties})"
    )
    edges = [
        ", ".join(
            f"cast({(FLOAT_VALUES if after == 'float' else VALUES[before])[row]} as {before})"
            for before, after in PAIRS
        )
        for row in (0, 1)
    ]
    for identity, values in enumerate(edges):
        hive_client.execute(f"INSERT INTO {table} SELECT {identity}, {values}")
    hive_client.execute(f"INSERT INTO {table} (id) VALUES (3)")
    hive_client.execute(f"ALTER TABLE {table} REPLACE COLUMNS (id int, {new})")
    hive_client.execute(f"INSERT INTO {table} SELECT 2, {edges[0]}")
    _check_widened(differential, hive_client, table)
    if properties == FULL_ACID:
        hive_client.execute(f"DELETE FROM {table} WHERE id = 1")
    hive_client.compact(table, "major")
    _check_widened(differential, hive_client, table)


@pytest.mark.long("asks Hive for every pair of types; our reader is not in it")
def test_hive_allows_no_other_change_of_a_type(hive_client: HiveClient, database: str) -> None:
    """Else `WIDENINGS` would be too short."""
    types = sorted({*WIDENINGS, *_TEXTS, *_DECIMALS, "boolean", "binary"})
    others = [
        (old, new)
        for old in types
        for new in types
        if (old, new) not in PAIRS
        and old != new
        # Lengths and scales other than those in the pairs stand for no case of their own.
        and not (old.startswith(("char", "varchar", "decimal")) and old not in WIDENINGS)
        and new not in ("char(6)", "varchar(6)", "decimal(10,2)")
    ]
    columns = ", ".join(f"c{i} {old}" for i, (old, _) in enumerate(others))
    hive_client.execute(f"CREATE TABLE wide ({columns}) STORED AS ORC TBLPROPERTIES ({FULL_ACID})")
    for i, (_, new) in enumerate(others):
        with pytest.raises(HiveSqlError, match="types incompatible with the existing columns"):
            hive_client.execute(f"ALTER TABLE wide CHANGE COLUMN c{i} c{i} {new}")


def test_added_and_renamed_columns_go_by_position(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.evolved"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b')")
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (extra double)")
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN name label string")
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN id id bigint")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 'c', 0.5)")
    differential.check(table, where="label = 'a'")
    hive_client.execute(f"DELETE FROM {table} WHERE label = 'b'")
    differential.check(table)


@pytest.mark.parametrize(
    ("format", "properties"),
    [storage("full acid"), storage("orc", REPEATS), storage("parquet", REPEATS)],
)
def test_columns_that_swap_their_names(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    """ORC goes on by position, Parquet by name."""
    table = f"{database}.swapped"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a string, b string) STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'one', 'two'), (2, NULL, 'one')")
    for old, new in (("a", "t"), ("b", "a"), ("t", "b")):
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {old} {new} string")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 'one', 'two')")
    swapped = differential.check(table, where="a = 'one'")
    assert ((1, "one", "two") in swapped.rows) == (format == "ORC"), "by position"
    differential.check(table, where="b = 'one'")
    hive_client.compact(table, "major")
    for where in ("a = 'one'", "b = 'one'"):
        differential.check(table, where=where)


def test_replaced_columns(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Hive lets the columns of ORC tables be replaced, but neither dropped nor moved.

    A filter is compared with the converted values, not with those in the file.
    """
    table = f"{database}.replaced"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a int, b string, x double, i int, d decimal(10,2)) "
        f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 1, 'abcd', 0.5, 0, 12.60), (2, 2, 'b', 1.5, 7, 1)"
    )
    for refused, message in (
        ("REPLACE COLUMNS (id int, a int)", "Replacing columns cannot drop columns"),
        ("CHANGE COLUMN b b string AFTER x", "Reordering columns is not supported"),
        ("CHANGE COLUMN b b string FIRST", "Reordering columns is not supported"),
    ):
        with pytest.raises(HiveSqlError, match=message):
            hive_client.execute(f"ALTER TABLE {table} {refused}")
    new = "id bigint, aa string, b varchar(3), x string, i double, d decimal(9,0), added int"
    hive_client.execute(f"ALTER TABLE {table} REPLACE COLUMNS ({new})")
    # Not on b: Hive shows 'abc' there, and finds no row by it before a compaction.
    filter = "aa = '1' AND x > '0.1' AND i < 0.5 AND d = 13 AND id < 7000000000"
    differential.check(table, where=filter)
    with differential.pinned_frame(table) as (_, frame):
        assert frame.where("b = 'abc'").count() == 1
    hive_client.execute(f"INSERT INTO {table} SELECT * FROM {table} WHERE aa = '1'")
    hive_client.execute(f"DELETE FROM {table} WHERE b = 'b'")
    differential.check(table, where=filter)
    hive_client.compact(table, "major")
    differential.check(table, where=filter)


@pytest.mark.parametrize(
    ("format", "properties"),
    [storage("full acid"), storage("text"), storage("orc", REPEATS), storage("avro", REPEATS)],
)
def test_columns_of_one_partition_changed(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.parts"
    hive_client.script(
        f"""
        CREATE TABLE {table} (id int, a string) PARTITIONED BY (p int) STORED AS {format}
          TBLPROPERTIES ({properties});
        INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b', 2);
        ALTER TABLE {table} PARTITION (p=1) ADD COLUMNS (x int);
        ALTER TABLE {table} PARTITION (p=1) CHANGE COLUMN a renamed string;
        ALTER TABLE {table} PARTITION (p=1) CHANGE COLUMN id id bigint;
        INSERT INTO {table} VALUES (3, 'c', 1), (4, 'd', 2);
        """
    )
    differential.check(table, where="a IN ('a', 'd')")
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (x int)")
    hive_client.execute(f"INSERT INTO {table} VALUES (5, 'e', 50, 1), (6, 'f', 60, 2)")
    differential.check(table, where="x > 1")


def test_nested_fields_added_and_renamed(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Fields inside of a column go by name."""
    table = f"{database}.nested"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, s struct<a:int,b:string>, l array<struct<x:int>>, "
        f"m map<string,struct<k:int>>) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    insert = (
        f"INSERT INTO {table} SELECT {{0}}, named_struct('a', {{0}}, 'b', 'x'), "
        "array(named_struct('x', {0})), map('q', named_struct('k', {0}))"
    )
    for identity in (1, 2):
        hive_client.execute(insert.format(identity))
    refused = []
    for change in (
        "s s struct<a:int,b:string,c:int>",
        "l l array<struct<x:int,y:string>>",
        "m m map<string,struct<k:int,j:int>>",
        "s s struct<a:bigint,b:string,c:int>",
        "s s struct<a:int,renamed:string,c:int>",
        "s s struct<renamed:string,a:int,c:int>",
        "s s struct<a:int>",
    ):
        try:
            hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {change}")
        except HiveSqlError as error:
            refused.append((change, str(error)))
            continue
        check_nested(differential, hive_client, table)
    hive_client.compact(table, "major")
    check_nested(differential, hive_client, table)
    assert refused == []


@pytest.mark.parametrize(
    ("format", "properties"),
    [storage("full acid"), storage("parquet", REPEATS), storage("avro", REPEATS)],
)
def test_texts_made_shorter(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    table = f"{database}.shorter"
    text = "'äbc fgh'"
    hive_client.script(
        f"""
        CREATE TABLE {table} (s string, v varchar(8), c char(8), l array<varchar(8)>,
          r struct<c:char(8),v:varchar(8)>) STORED AS {format} TBLPROPERTIES ({properties});
        INSERT INTO {table} SELECT {text}, {text}, {text}, array(cast({text} AS varchar(8))),
          named_struct('c', cast({text} AS char(8)), 'v', cast({text} AS varchar(8)));
        ALTER TABLE {table} CHANGE COLUMN v v varchar(4);
        ALTER TABLE {table} CHANGE COLUMN c c char(3);
        ALTER TABLE {table} CHANGE COLUMN l l array<varchar(3)>;
        ALTER TABLE {table} CHANGE COLUMN r r struct<c:char(4),v:varchar(4)>;
        """
    )
    if format != "AVRO":  # Hive's reader of Avro fails on a string that became a varchar
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN s s varchar(4)")
    shown = [f"concat({text}, '|')" for text in ("s", "v", "c", "l[0]", "r.c", "r.v")]
    differential.check_columns(table, shown)


def check_nested(differential: Differential, client: HiveClient, table: str) -> None:
    """HiveServer2 shows nested values as JSON."""
    shown = [f"to_json({name}, map('ignoreNullFields', 'false'))" for name in ("s", "l", "m")]
    with differential.pinned_frame(table) as (_, frame):
        rows = [tuple(row) for row in frame.selectExpr("id", *shown).collect()]
    expected = [
        tuple(value.decode() if isinstance(value, bytes) else value for value in row)
        for row in client.query(f"SELECT * FROM {table}")
    ]
    assert sorted(rows) == sorted(expected)


def _check_widened(differential: Differential, client: HiveClient, table: str) -> None:
    """Compare column by column, so that a failure names the pair of types.

    Each row is found by each of the values that Hive shows (its own filter may lose some).
    """
    expected = sorted(client.query(f"SELECT * FROM {table}"))
    assert client.query(f"SELECT count(*) FROM {table}") == [(len(expected),)]
    with differential.pinned_frame(table) as (_, frame):
        rows = sorted(tuple(row) for row in frame.collect())
        assert frame.count() == len(expected)
        for id_, *values in expected:
            filters = [_equals(i, value) for i, value in enumerate(values)]
            found = collected(frame.where(" AND ".join(filters)).select("id"))
            lost = [] if (id_,) in found else [f for f in filters if not _finds(frame, f, id_)]
            assert (id_,) in found, (id_, lost)
    assert [row[0] for row in rows] == [row[0] for row in expected]
    wrong = {}
    for i, pair in enumerate(PAIRS, start=1):
        ours, hives = (_texts(row[i] for row in some) for some in (rows, expected))
        if ours != hives:
            wrong[pair] = (ours, hives)
    assert not wrong, "types before and after, our values, Hive's"


def _equals(i: int, value: Any) -> str:
    """A filter on column `c{i}`, with a literal of the column's own type."""
    if value is None:
        return f"c{i} IS NULL"
    ((text,),) = canonical([[value]])
    type_ = PAIRS[i][1]
    if type_.startswith(("char", "varchar", "string")):
        return f"c{i} = '{text.rstrip() if type_.startswith('char') else text}'"
    return f"c{i} = cast('{text}' AS {type_})"


def _finds(frame: DataFrame, where: str, id_: int) -> bool:
    return (id_,) in collected(frame.where(where).select("id"))


def _texts(values: Iterable[Any]) -> list[str]:
    # Hive pads a char when it prints it.
    return [canonical([[value]])[0][0].rstrip() for value in values]
