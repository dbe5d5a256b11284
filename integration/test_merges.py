"""`merge` and `replace` of `hiveacid.transaction`, beside Hive's own statements."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import functions as F

from integration.support.hive import HiveClient, HiveServer
from integration.support.library_examples import run_here
from integration.support.shop import ACID, Shop

ROWS = "(1, 10, 'a'), (1, 11, 'b'), (2, 20, 'a'), (3, 30, NULL), (CAST(NULL AS INT), 0, 'a')"
SOURCE = ((1, 100), (2, 5), (4, 40), (None, 1))

UPDATE = "WHEN MATCHED {} THEN UPDATE SET v = s.v, n = '-'"
INSERT = " WHEN NOT MATCHED {} THEN INSERT VALUES (s.id, s.v, '-')"
MERGES: dict[str, tuple[str, dict[str, Any], str]] = {
    "all columns": ("t.id = s.id", {"on": "id"}, UPDATE.format("") + INSERT.format("")),
    "some rows": (
        "t.id = s.id",
        {
            "on": "id",
            "where_matched": "source.v > target.v",
            "where_not_matched": "source.v > 39",
        },
        UPDATE.format("AND s.v > t.v") + INSERT.format("AND s.v > 39"),
    ),
    "some columns": (
        "t.id = s.id",
        {"on": "id", "update": {"V": "target.v + source.v"}, "when_not_matched": None},
        "WHEN MATCHED THEN UPDATE SET v = t.v + s.v",
    ),
    "deletes": (
        "t.id = s.id",
        {"on": ["id"], "when_matched": "delete", "where_matched": "target.n = 'a'"},
        "WHEN MATCHED AND t.n = 'a' THEN DELETE" + INSERT.format(""),
    ),
    "a condition": (
        "t.id + 1 = s.id AND s.v > 10",
        {},
        UPDATE.format("") + INSERT.format(""),
    ),
    "inserts": ("t.id = s.id", {"on": "id", "when_matched": None}, INSERT.format("")),
}


@pytest.fixture
def twins(shop: Shop, hive_client: HiveClient) -> Shop:
    """Two equal tables, `t` for the library and `h` for Hive, and the new rows as `s`."""
    for table in ("t", "h"):
        hive_client.execute(f"CREATE TABLE {table} (id INT, v INT, n STRING) {ACID}")
        hive_client.execute(f"INSERT INTO {table} VALUES {ROWS}")
    values = ", ".join(f"({'CAST(NULL AS INT)' if i is None else i}, {v})" for i, v in SOURCE)
    hive_client.execute(f"CREATE TABLE s (id INT, v INT) {ACID}")
    hive_client.execute(f"INSERT INTO s VALUES {values}")
    return shop


def test_merges_are_those_of_hive(twins: Shop, hive_client: HiveClient) -> None:
    """One after the other, so that each finds what the others have left.

    Without arguments the merge is by a condition, which can only be made once Spark runs.
    """
    source = twins.rows(*SOURCE).withColumn("n", F.lit("-"))
    condition = {
        "on": F.expr("target.id + 1 = source.id") & (F.col("source.v") > 10),
        "update": {"v": "source.v", "n": F.lit("-")},
    }
    for name, (on, arguments, clauses) in MERGES.items():
        with twins.transaction() as transaction:
            transaction.merge(twins.name("t"), source, **arguments or condition)
        hive_client.execute(f"MERGE INTO h AS t USING s ON {on} {clauses}")
        assert twins.shown("t") == twins.shown("h"), name


def test_rows_of_a_key_are_replaced(twins: Shop, hive_client: HiveClient) -> None:
    source = twins.rows((1, 7), (1, 8), (None, 9), (5, 5)).withColumn("n", F.lit("-"))
    with twins.transaction() as transaction:
        transaction.replace(twins.name("t"), source, "ID")
    hive_client.execute("DELETE FROM h WHERE id IN (1, 5)")
    hive_client.execute(
        "INSERT INTO h VALUES (1, 7, '-'), (1, 8, '-'), (NULL, 9, '-'), (5, 5, '-')"
    )
    assert twins.shown("t") == twins.shown("h")


def test_the_example_changes_rows_that_differ(
    hive: HiveServer, hive_client: HiveClient, shop: Shop
) -> None:
    hive_client.execute("CREATE DATABASE marts")
    hive_client.execute(f"CREATE TABLE marts.customers (id INT, name STRING, changes INT) {ACID}")
    hive_client.execute("INSERT INTO marts.customers VALUES (1, 'Ada', 0), (2, 'G.', 3)")
    try:
        run_here("merge_customers", hive)
        assert shop.shown("marts.customers") == [(1, "Ada", 0), (2, "Grace", 4)]
    finally:
        hive_client.execute("DROP DATABASE marts CASCADE")
