"""Filters find Hive's rows: no reader passes over files for an order of values that is not Spark's.

Each row is in a file of its own, whose statistics say all of it.
"""

from __future__ import annotations

import pytest

from integration.support.differential import Differential, canonical, collected
from integration.support.hive import HiveClient
from integration.support.tables import REPEATS, make_table

#: Types, and values at their edges.
EDGES = {
    "f": ("float", ["-0.0", "0.0", "NaN", "1.1", "-Infinity", "Infinity", "-1.5"]),
    "d": ("double", ["-0.0", "0.0", "NaN", "1.1", "-Infinity", "Infinity", "-1.5"]),
    "c": ("char(5)", ["ab", "abcde", "", "a", "ab!", "ü", "ab\\t"]),
    "v": ("varchar(5)", ["ab", "abcde", "", "ab ", "ab!", "ü", "ab\\t"]),
    "s": ("string", ["ab", "abcde", "", "ab ", "ab!", "ü", "ab\\t"]),
    "at": (
        "timestamp",
        [
            *("2026-11-01 01:30:00.123456", "1500-03-01 12:00:00", "1970-01-01 00:00:00.000001"),
            *("0001-01-01 00:00:00", "1582-10-15 00:00:00", "1582-10-04 23:59:59.999999"),
            "9999-12-31 23:59:59.999999",
        ],
    ),
    "day": (
        "date",
        [
            *("1500-03-01", "1582-10-15", "0001-01-01", "1582-10-04"),
            *("9999-12-31", "1969-12-31", "2026-11-01"),
        ],
    ),
    "m": ("decimal(10,2)", ["-1.50", "0", "0.01", "99999999.99", "-99999999.99", "1.5", "10"]),
    "w": (
        "decimal(38,18)",
        [
            *("-1.50", "0", "0.000000000000000001", "-0.000000000000000001", "1.5", "0.10"),
            "99999999999999999999.999999999999999999",
        ],
    ),
    "yes": ("boolean", ["true", "false", "true", "true", "false", "false", "true"]),
    "t": ("tinyint", ["-128", "127", "0", "1", "-1", "5", "6"]),
    "l": ("bigint", ["-9223372036854775808", "9223372036854775807", "0", "1", "-1", "5", "6"]),
    "b": ("binary", ["ab", "abcde", "", "ab ", "a", "z", "é"]),
}
NESTED = ["f", "d", "at", "day"]
"""The fields of a struct, which filters reach as well."""


def _literal(value: str, hive_type: str) -> str:
    if hive_type.startswith(("char", "varchar", "string")):
        return f"'{value}'"
    return f"cast('{value}' AS {hive_type})"


def _filters() -> list[str]:
    """Some of the comparisons that Spark hands on, with values of each type."""
    filters = []
    for number, (name, (hive_type, values)) in enumerate(EDGES.items()):
        literals = [_literal(value, hive_type) for value in dict.fromkeys(values)]
        filters += [f"{name} = {literal}" for literal in literals[:5]]
        if name in NESTED:
            filters += [f"r.{name} = {literal}" for literal in literals[:3]]
        for comparison in (("<=", ">"), (">=", "<"), ("<>", "<="))[number % 3]:
            filters.append(f"{name} {comparison} {literals[number % len(literals)]}")
        filters.append(f"{name} IN ({literals[-1]}, {literals[-2]})")
    return filters


@pytest.mark.parametrize(
    "storage",
    [
        "full acid",
        pytest.param("parquet", marks=REPEATS),
        pytest.param("originals", marks=REPEATS),
        pytest.param("orc", marks=REPEATS),
    ],
)
def test_a_filter_on_every_type(
    differential: Differential, hive_client: HiveClient, database: str, storage: str
) -> None:
    table = f"{database}.edges"
    columns = ", ".join(f"{name} {hive_type}" for name, (hive_type, _) in EDGES.items())
    fields = ",".join(f"{name}:{EDGES[name][0]}" for name in NESTED)
    selects = []
    for i, row in enumerate(zip(*(values for _, values in EDGES.values()), strict=True)):
        values = {
            name: f"cast('{value}' AS {hive_type})"
            for value, (name, (hive_type, _)) in zip(row, EDGES.items(), strict=True)
        }
        struct = ", ".join(f"'{name}', {values[name]}" for name in NESTED)
        selects.append(f"SELECT {i}, {', '.join(values.values())}, named_struct({struct}), {i}")
    make_table(
        hive_client,
        table,
        f"(id int, {columns}, r struct<{fields}>) PARTITIONED BY (p int)",
        " UNION ALL ".join(selects),
        storage,
    )
    hive_client.execute(f"INSERT INTO {table} (id, p) VALUES (100, 100)")
    filters = _filters()
    if storage == "full acid":
        # For the others: docs/decisions.md, "A statement's filters are handed to ORC by us".
        filters.append("day > date '1582-10-10'")
    differential.check_filters(table, filters, ["id"])


@pytest.mark.parametrize(
    "storage",
    [
        "full acid",
        "parquet",
        pytest.param("originals", marks=REPEATS),
        pytest.param("orc", marks=REPEATS),
    ],
)
def test_a_filter_on_texts_that_utf_8_and_utf_16_order_otherwise(
    differential: Differential, hive_client: HiveClient, database: str, storage: str
) -> None:
    """Statistics are in the order of UTF-8, and ORC compares with them in that of UTF-16."""
    table = f"{database}.surrogates"
    name = "'（株）山田商店'"
    # Hadoop cannot read a job's settings with such a character, as the query would be.
    beyond = "cast(unhex('F0A0AEB7') AS string)"
    rows = f"SELECT 1, {name} UNION ALL SELECT 2, {beyond} UNION ALL SELECT 3, 'x'"
    make_table(hive_client, table, "(id int, name string)", rows, storage)
    # One file with all of them.
    hive_client.execute(f"INSERT INTO {table} SELECT id + 10, name FROM {table} ORDER BY id")
    filters = [f"name = {name}", f"name IN ({name}, 'none')", f"name >= {name}", f"name < {beyond}"]
    differential.check_filters(table, filters, ["id"])


#: Comparisons of `char` and `varchar`.
TEXTS = [
    *("c = 'ab'", "c <> 'ab'", "c = v", "c = s", "c = n", "c < 'ab!'", "c > 'ab'", "c >= 'ab\\t'"),
    *("c IN ('ab', 'ü')", "c = ''", "length(c) = 2", "concat(c, '|') = 'ab|'", "c LIKE 'ab'"),
    *("c BETWEEN 'a' AND 'ab'", "v = 'ab'", "v = 'ab '", "v < 'ab!'", "v IN ('ab ', '')"),
    *("length(v) = 3", "v = s", "c IS NULL"),
]


@pytest.mark.parametrize(
    "storage",
    [
        "full acid",
        "parquet",
        pytest.param("text", marks=REPEATS),
        pytest.param("originals", marks=REPEATS),
        pytest.param("orc", marks=REPEATS),
        pytest.param("avro", marks=REPEATS),
        pytest.param("json", marks=REPEATS),
    ],
)
def test_texts_with_a_length_compare_as_in_hive(
    differential: Differential, hive_client: HiveClient, database: str, storage: str
) -> None:
    """But for a padded literal: docs/limits.md."""
    table = f"{database}.texts"
    types = {"c": "char(5)", "v": "varchar(5)", "s": "string", "n": "char(3)"}
    columns = ", ".join(f"{name} {hive_type}" for name, hive_type in types.items())
    texts = ["ab", "ab ", "ab!", "ab\\t", "a", "", "abc", "ü"]
    selects = (
        "SELECT {}, {}".format(
            i, ", ".join(f"cast('{text}' AS {hive_type})" for hive_type in types.values())
        )
        for i, text in enumerate(texts)
    )
    make_table(hive_client, table, f"(id int, {columns})", " UNION ALL ".join(selects), storage)
    hive_client.execute(f"INSERT INTO {table} (id) VALUES (100)")
    differential.check_filters(table, TEXTS, ["id"])
    padded = "c = 'ab   '"
    hives = hive_client.query(f"SELECT id FROM {table} WHERE {padded}")
    assert canonical(hives) == [("0",), ("1",)]
    with differential.pinned_frame(table) as (_, frame):
        assert collected(frame.where(padded)) == []
