"""Tables that `Transaction.create` makes, beside the same tables of Hive's CREATE TABLE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.metastore.writing_client import WritingClient
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.library_examples import run_here
from integration.support.shop import ACID, INSERT_ONLY, Shop

HIVES = (
    "a TINYINT COMMENT 'it\\'s a', b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g BOOLEAN, "
    "h STRING, i BINARY, j DATE, k TIMESTAMP, l DECIMAL(38,10), m ARRAY<TIMESTAMP>, "
    "n MAP<STRING,INT>, o STRUCT<x:INT,y:ARRAY<STRUCT<z:DATE>>>"
)
"""The columns in Hive's DDL."""

SPARKS = (
    "A tinyint COMMENT 'it\\'s a', b smallint, p int COMMENT 'a key', c int, d bigint, e float, "
    "f double, g boolean, h string, i binary, j date, k timestamp, l decimal(38,10), "
    "m array<timestamp>, n map<string,int>, o struct<X:int,y:array<struct<z:date>>>"
)
"""The same columns in Spark's DDL, the partition column among them."""


def described(client: HiveClient, table: str) -> list[tuple[str, ...]]:
    """What Hive tells about a table, without its name, id and times."""
    own = "Location CreateTime LastDdlTime Database Table: COLUMN_STATS num Size".split()
    return [
        tuple((cell or "").strip() for cell in row)
        for row in client.query(f"DESCRIBE FORMATTED {table}")
        if not any(word.lower() in f"{row[0]}{row[1]}".lower() for word in own)
    ]


def test_a_created_table_is_one_of_hive(
    shop: Shop, differential: Differential, hive_client: HiveClient
) -> None:
    hive_client.execute(
        f"CREATE TABLE hives ({HIVES}) COMMENT 'Some values' PARTITIONED BY "
        "(p INT COMMENT 'a key') STORED AS ORC TBLPROPERTIES ('transactional'='true', 'x'='y')"
    )
    hive_client.execute(f"CREATE TABLE io (c INT) {INSERT_ONLY.format('PARQUET')}")
    rows = shop.rows((1, 1), (2, 2), schema="c int, p int")
    created: dict[str, tuple[str, dict[str, Any]]] = {
        "t": (SPARKS, {"partitioned_by": "P", "comment": "Some values", "properties": {"x": "y"}}),
        "plain": ("c int, p int", {"kind": "insert_only", "file_format": "parquet"}),
        "empty": ("c int", {}),
    }
    with shop.transaction() as transaction:
        for name, (schema, options) in created.items():
            assert transaction.create(shop.name(name), schema, **options)
        of_types = shop.spark.createDataFrame([], SPARKS).schema
        transaction.append(
            shop.name("t"),
            rows.unionByName(shop.spark.createDataFrame([], of_types), allowMissingColumns=True),
        )
        transaction.append(shop.name("plain"), rows)
        transaction.append(shop.name("plain"), rows)
        assert hive_client.query("SHOW TABLES") == [("hives",), ("io",)]
    assert described(hive_client, "t") == described(hive_client, "hives")
    assert shop.shown("t", "c, p") == [(1, 1), (2, 2)]
    assert shop.shown("plain") == [(1, 1), (1, 1), (2, 2), (2, 2)]
    assert shop.shown("empty", "count(*)") == [(0,)]
    hive_client.execute("UPDATE t SET h = 'x' WHERE c = 1")
    hive_client.execute("INSERT INTO t (c, p) VALUES (3, 3)")
    hive_client.execute("INSERT INTO plain VALUES (3, 3)")
    hive_client.execute("INSERT INTO empty VALUES (1)")
    with shop.transaction() as transaction:
        transaction.delete(shop.name("t"), "c = 2")
    for kind in ("minor", "major"):
        hive_client.compact("t", kind, "p=1", cleaned=True)
        assert shop.shown("t", "c, h, p") == [(1, "x", 1), (3, None, 3)]
    assert shop.shown("plain", "count(*)") == [(5,)]
    for table in ("t", "plain", "empty"):
        differential.check(shop.name(table))


def test_a_table_is_created_only_with_its_rows(
    shop: Shop,
    hive_client: HiveClient,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    one = shop.rows((1, 1))

    def write(transaction: hiveacid.Transaction) -> None:
        transaction.create(shop.name("t"), one.schema)
        transaction.append(shop.name("t"), one)

    def write_and_fail(*_: object) -> None:
        hive_client.execute("INSERT INTO t VALUES (2, 2)")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), shop.transaction() as transaction:
        write(transaction)
        raise ZeroDivisionError
    with monkeypatch.context() as patch:
        patch.setattr(WritingClient, "invalidate_statistics", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError), shop.transaction() as transaction:
            write(transaction)
        assert hive_client.query("SHOW TABLES") == []
        # Another one finds the table before it is dropped, and writes into it.
        patch.setattr(WritingClient, "invalidate_statistics", write_and_fail)
        with pytest.raises(ZeroDivisionError), shop.transaction() as transaction:
            write(transaction)
    assert "HIVEACID_WARN_TABLE_LEFT" in caplog.text
    assert shop.shown("t") == [(2, 2)]
    with pytest.raises(hiveacid.UnwritableTableError, match="HIVEACID_TABLE_EXISTS"):
        with shop.transaction() as transaction:
            write(transaction)
    with shop.transaction() as transaction:
        assert not transaction.create(shop.name("t"), "x int", if_not_exists=True)
        transaction.append(shop.name("t"), one)
    assert shop.shown("t") == [(1, 1), (2, 2)]
    with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_CONFLICT"):
        with shop.transaction() as transaction:
            transaction.create(shop.name("new"), one.schema)
            hive_client.execute("CREATE TABLE new (x INT)")
    assert hive_client.query("SHOW TABLES") == [("new",), ("t",)]


def test_what_cannot_be_created(shop: Shop, hive_client: HiveClient) -> None:
    cases: tuple[tuple[str, dict[str, Any], str], ...] = (
        ("a int, A int", {}, "INVALID_ARGUMENT"),
        ("a int", {"partitioned_by": "a"}, "INVALID_ARGUMENT"),
        ("a int", {"partitioned_by": "b"}, "INVALID_ARGUMENT"),
        ("a int", {"clustered_by": "a"}, "INVALID_ARGUMENT"),
        ("a int", {"buckets": 2}, "INVALID_ARGUMENT"),
        ("a int", {"file_format": "parquet"}, "INVALID_ARGUMENT"),
        ("a int", {"properties": {"EXTERNAL": "true"}}, "INVALID_ARGUMENT"),
        ("a nothing", {}, "INVALID_ARGUMENT"),
        ("a timestamp_ntz", {}, "NO_HIVE_TYPE"),
        ("a array<interval day to second>", {}, "NO_HIVE_TYPE"),
        ("a struct<`x,y`: int>", {}, "NO_HIVE_TYPE"),
        ("a int, b double", {"partitioned_by": "b"}, "WRITE_NOT_SUPPORTED"),
    )
    for schema, options, code in cases:
        with pytest.raises(hiveacid.HiveAcidError, match=code):
            with shop.transaction() as transaction:
                transaction.create(shop.name("t"), schema, **options)
    with pytest.raises(hiveacid.MetastoreError), shop.transaction() as transaction:
        transaction.create("no_such_database.t", "a int")
    assert hive_client.query("SHOW TABLES") == []


def test_the_example_creates_a_table_with_its_rows(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession
) -> None:
    hive_client.execute("CREATE DATABASE IF NOT EXISTS shop")
    hive_client.execute("CREATE DATABASE IF NOT EXISTS marts")
    hive_client.execute(f"CREATE TABLE shop.orders (id INT, country STRING) {ACID}")
    hive_client.execute("INSERT INTO shop.orders VALUES (1, 'uk'), (2, 'us')")
    try:
        run_here("create_marts", hive)
        found = hive_client.query("SELECT id, country FROM marts.orders")
        assert sorted(found) == [(1, "uk"), (2, "us")]
    finally:
        hive_client.execute("DROP DATABASE shop CASCADE")
        hive_client.execute("DROP DATABASE marts CASCADE")


@pytest.fixture(scope="module")
def strict_hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive that translates tables, is strict, and makes every managed table transactional."""
    external = tmp_path_factory.mktemp("external")
    settings = HiveSettings(
        translate_tables=True,
        extra={
            "metastore.warehouse.external.dir": f"file://{external}",
            "metastore.strict.managed.tables": "true",
            "metastore.create.as.acid": "true",
        },
    )
    with HiveServer(settings, work=tmp_path_factory.mktemp("strict_hive")) as server:
        yield server


def test_a_strict_metastore_takes_the_table_as_it_is(
    strict_hive: HiveServer, spark: SparkSession, tmp_path: Path
) -> None:
    """Managed tables of a database may have a place of their own."""
    with HiveClient(strict_hive.hs2_port) as client:
        client.execute("CREATE DATABASE a")
        client.execute(f"CREATE DATABASE b MANAGEDLOCATION 'file://{tmp_path}/b'")
        for database in ("a", "b"):
            client.execute(f"USE {database}")
            kinds: tuple[dict[str, Any], ...] = ({}, {"kind": "insert_only"})
            with hiveacid.transaction(spark, strict_hive.metastore_uri) as transaction:
                for number, options in enumerate(kinds):
                    name, rows = f"{database}.t{number}", spark.sql("SELECT 1 id, 2 k")
                    transaction.create(name, rows.schema, partitioned_by="k", **options)
                    transaction.append(name, rows)
            for number in range(len(kinds)):
                client.execute(f"INSERT INTO t{number} VALUES (3, 4)")
                assert sorted(client.query(f"SELECT * FROM t{number}")) == [(1, 2), (3, 4)]
            client.execute("UPDATE t0 SET id = 5 WHERE id = 1")
            assert sorted(client.query("SELECT * FROM t0")) == [(3, 4), (5, 2)]
    found = list(tmp_path.glob("b/*"))
    assert {path.name for path in found} == {"t0", "t1"}, "no stage is left"
