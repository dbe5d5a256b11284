"""Columns named like those of ACID files or of Spark, like keywords, and with odd characters."""

from __future__ import annotations

import json

import pytest

from hiveacid.errors import UnreadableTableError
from hiveacid.formatting import quoted
from integration.support.differential import Differential, canonical, collected
from integration.support.hive import HiveClient
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS, make_table, storage

ACID_NAMES = [
    "operation",
    "bucket",
    "rowid",
    "originaltransaction",
    "currenttransaction",
    "row",
    "__none",
    "_metadata",
    "value",
    "select",
    "order",
    "UPPER",
    "Ü",
]
#: Names that ORC can hold; Hive's Parquet writer fails on most of them.
ODD_NAMES = ["a b", "we`ird", "1", 'x"y', "a\\b", "a<b", "x'y", "(x)", "日本"]


@pytest.mark.parametrize(
    ("storage", "names"),
    [
        ("full acid", ACID_NAMES + ODD_NAMES),
        pytest.param("originals", ACID_NAMES + ODD_NAMES, marks=REPEATS),
        pytest.param("orc", ACID_NAMES + ODD_NAMES, marks=REPEATS),
        ("parquet", ACID_NAMES),
    ],
    ids=["full acid", "originals", "orc", "parquet"],
)
def test_filters_hit_the_column_that_they_name(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    storage: str,
    names: list[str],
) -> None:
    """Every value occurs in one column only, so a filter on another column finds nothing."""
    table = f"{database}.named"
    columns = ", ".join(f"{quoted(name)} int" for name in names)
    rows = (", ".join(str(row * 1000 + i) for i in range(len(names))) for row in (1, 2, 3))
    values = f"VALUES {', '.join(f'({row})' for row in rows)}"
    make_table(hive_client, table, f"({columns})", values, storage)
    differential.check(table)
    filters = [f"{quoted(name)} = {2000 + i}" for i, name in enumerate(names)]
    found = differential.check_filters(table, filters)
    assert [len(rows) for rows in found] == [1] * len(names)
    if storage in ("full acid", "originals"):
        hive_client.execute(f"DELETE FROM {table} WHERE {quoted(names[0])} = 2000")
        assert differential.check_filters(table, filters[:7]) == [[]] * 7


def test_a_struct_called_row(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.named"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, `row` struct<a:int,id:int,`row`:int,operation:int>, "
        f"operation int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    rows = (
        f"SELECT {i}, named_struct('a', {10 + i}, 'id', {20 + i}, 'row', {30 + i}, "
        f"'operation', {40 + i}), {50 + i}"
        for i in (1, 2, 3)
    )
    hive_client.execute(f"INSERT INTO {table} {' UNION ALL '.join(rows)}")
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    fields = ["id", "`row`.a", "`row`.id", "`row`.`row`", "`row`.operation", "operation"]
    with differential.pinned_frame(table) as (_, frame):
        for where in (f"{field} = {10 * i + 2}" for i, field in enumerate(fields)):
            shown = collected(frame.where(where).selectExpr(*fields))
            expected = hive_client.query(f"SELECT {', '.join(fields)} FROM {table} WHERE {where}")
            assert canonical(shown) == canonical(expected), where
            assert len(expected) == 1


def test_partition_columns_called_like_acid_columns(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.named"
    names = ["operation", "bucket", "row", "rowid"]
    keys = ", ".join(f"{quoted(name)} int" for name in names)
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY ({keys}) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    rows = (f"({i}, {10 + i % 2}, {20 + i % 2}, {30 + i % 2}, {40 + i % 2})" for i in range(6))
    hive_client.execute(f"INSERT INTO {table} VALUES {', '.join(rows)}")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (2, 3)")
    for i, name in enumerate(names):
        where = f"{quoted(name)} = {10 * i + 11} AND id > 1"
        assert len(differential.check(table, where=where).rows) == 4


def test_a_column_called_like_the_readers_own_is_refused(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.named"
    hive_client.execute(
        f"CREATE TABLE {table} (`__hiveacid_file` int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    with pytest.raises(UnreadableTableError, match="Column __hiveacid_file of .* begins with"):
        differential.read(table)


def test_partitions_that_hive_hides_are_refused(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.hidden"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (`_day` int) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 1)")
    assert hive_client.query(f"SELECT * FROM {table}") == []
    with pytest.raises(UnreadableTableError, match="is partitioned by _day. Hive hides"):
        differential.read(table)


@pytest.mark.parametrize(
    ("format", "properties"),
    [
        storage("full acid"),
        storage("parquet"),
        storage("avro"),
        storage("json"),
        storage("text"),
        pytest.param("SEQUENCEFILE", INSERT_ONLY, id="sequence file"),
        pytest.param("RCFILE", INSERT_ONLY, id="rc file"),
    ],
)
def test_fields_of_structs_have_the_names_that_hive_shows(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    properties: str,
) -> None:
    """ORC and Parquet keep the case of a name, the other formats have lower case."""
    table = f"{database}.fields"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, s struct<wB:int,`wÄ`:struct<cC:int>>, "
        f"a array<struct<`Ñx`:string>>) STORED AS {format} TBLPROPERTIES ({properties})"
    )
    with differential.pinned_frame(table) as (_, frame):
        without_rows = frame.schema.simpleString()
    hive_client.execute(
        f"INSERT INTO {table} SELECT 1, named_struct('wB', 1, 'wÄ', named_struct('cC', 2)), "
        "array(named_struct('Ñx', 'v'))"
    )
    (row,) = hive_client.query(f"SELECT s, a FROM {table}")
    hives = [json.loads(value) for value in row]
    assert ("wB" in hives[0]) == (format in ("ORC", "PARQUET"))
    for value in ("false", "true"):
        with (
            differential.session_setting("spark.sql.caseSensitive", value),
            differential.pinned_frame(table) as (_, frame),
        ):
            assert frame.schema.simpleString() == without_rows
            (ours,) = frame.selectExpr("to_json(s)", "to_json(a)").collect()
            assert [json.loads(text) for text in ours] == hives, value
