"""Tables of a Hive 3.1.3 that `hiveacid.transaction` writes, in the three ways of Hive to read."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import hiveacid
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive.server import running_or_own
from integration.support.metastore import assert_nothing_held
from integration.support.shop import ACID, INSERT_ONLY, WAYS, Shop
from integration.test_writes import Meanwhile
from integration.test_writes_values import SHOWN, TYPES, VALUES


@pytest.fixture(scope="module")
def hive_3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive 3.1.3."""
    settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
    with running_or_own(settings, tmp_path_factory.mktemp("hive_3"), "3.1.3") as server:
        yield server


@pytest.fixture(scope="module")
def client(hive_3: HiveServer) -> Iterator[HiveClient]:
    with HiveClient(hive_3.hs2_port, log=hive_3.log) as client:
        client.execute("CREATE DATABASE writes")
        client.execute("USE writes")
        yield client


@pytest.fixture
def shop(hive_3: HiveServer, client: HiveClient, spark: SparkSession) -> Iterator[Shop]:
    yield Shop(hive_3, client, spark, "writes")
    assert_nothing_held(client, "writes")


@pytest.fixture
def reads(hive_3: HiveServer, client: HiveClient, spark: SparkSession) -> Differential:
    return Differential(hive_3, client, spark)


def test_appends_overwrites_and_merges(shop: Shop, reads: Differential) -> None:
    client, name = shop.client, shop.name("t")
    client.execute(f"CREATE TABLE t (id INT, v INT) {ACID}")
    client.execute("INSERT INTO t VALUES (1, 1), (2, 1)")
    with shop.transaction() as transaction:
        rows = shop.spark.range(3, 63, 1, 3).selectExpr("cast(id as int) id", "2 v")
        transaction.append(name, rows)
    state = {1: 1, 2: 1, **dict.fromkeys(range(3, 63), 2)}
    assert dict(shop.shown("t")) == state
    reads.check(name, "id > 50")
    with shop.transaction() as transaction:
        transaction.delete(name, "id % 7 = 0")
    state = {key: value for key, value in state.items() if key % 7}
    assert dict(shop.shown("t")) == state
    for step in (3, 4):
        source = [(i, step) for i in range(0, 80, 5)]
        with shop.transaction() as transaction:
            transaction.merge(name, shop.rows(*source), "id")
        state |= dict(source)
        assert dict(shop.shown("t")) == state
        reads.check(name)
    client.execute("UPDATE t SET v = 9 WHERE id % 10 = 0")
    client.execute("DELETE FROM t WHERE id IN (1, 5, 11)")
    state = {k: 9 if k % 10 == 0 else v for k, v in state.items() if k not in (1, 5, 11)}
    assert dict(shop.shown("t")) == state
    # A minor one would write the delete events of all files into each (docs/hive-quirks.md).
    client.compact("t", "major", cleaned=True)
    assert dict(shop.shown("t")) == state
    reads.check(name)
    with shop.transaction("t") as transaction:
        rows = transaction.table(name).where("v = 9").coalesce(1)
        transaction.overwrite(name, rows)
    state = {key: value for key, value in state.items() if value == 9}
    assert dict(shop.shown("t")) == state
    reads.check(name)
    client.execute("INSERT INTO t VALUES (500, 5)")
    with shop.transaction() as transaction:
        transaction.delete(name, "id = 10")
    del state[10]
    state[500] = 5
    for kind in ("minor", "major"):
        client.compact("t", kind, cleaned=True)
        assert dict(shop.shown("t")) == state
        reads.check(name)


@pytest.mark.parametrize("kind", [ACID, INSERT_ONLY.format("ORC"), INSERT_ONLY.format("PARQUET")])
def test_partitions(shop: Shop, reads: Differential, kind: str) -> None:
    client, table = shop.client, f"p_{abs(hash(kind)) % 1000}"
    name = shop.name(table)
    client.execute(f"CREATE TABLE {table} (id INT) PARTITIONED BY (day STRING, k INT) {kind}")
    client.execute(f"INSERT INTO {table} VALUES (1, 'a b/c', 1), (2, 'x=%e', 1)")
    schema = "id int, day string, k int"
    with shop.transaction() as transaction:
        rows = shop.rows((3, "x=%e", 1), (4, None, None), schema=schema)
        transaction.overwrite(name, rows, partitions="dynamic")
    assert [row[0] for row in shop.shown(table, "id")] == [1, 3, 4]
    reads.check(name)
    with shop.transaction() as transaction:
        transaction.append(name, shop.rows((5, "a b/c", 1), (6, "new", 2), schema=schema))
    assert [row[0] for row in shop.shown(table, "id")] == [1, 3, 4, 5, 6]
    reads.check(name)
    if kind == ACID:
        with shop.transaction() as transaction:
            rows = shop.rows((5, "new", 2), (1, "new", 2), (7, "a b/c", 1), schema=schema)
            transaction.merge(name, rows, "id")
        assert [row[0] for row in shop.shown(table, "id")] == [1, 3, 4, 5, 6, 7]
        reads.check(name)
        client.compact(table, "major", "day='a b/c',k=1", cleaned=True)
        assert [row[0] for row in shop.shown(table, "id")] == [1, 3, 4, 5, 6, 7]
    with shop.transaction() as transaction:
        transaction.overwrite(name, shop.rows((6, "third", 2), schema=schema))
    ways = WAYS[:2]
    assert shop.shown(table, "id", ways) == [(6,)]
    client.execute(f"INSERT INTO {table} VALUES (7, 'a b/c', 1)")
    assert shop.shown(table, "id", ways) == [(6,), (7,)]
    reads.check(name)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_values_of_every_type(shop: Shop, reads: Differential, zone: str) -> None:
    client, table = shop.client, f"types_{zone[:3]}"
    client.execute(f"CREATE TABLE {table} ({TYPES}) {ACID}")
    texts = [f"cast({it} as string)" for it in SHOWN]
    values = VALUES.replace("2026-03-08 02:30", "2026-03-08 03:30").replace(
        "0010-01-01", "1582-10-15"
    )
    values = values.replace("1582-10-04", "1582-10-15")
    # Such a Hive shows NULL as the text of 38 digits, also of its own.
    values = values.replace("-9999999999999999999999999999", "-99999999999999999999999")
    with reads.session_zone(zone):
        written = shop.spark.sql(values)
        with shop.transaction() as transaction:
            transaction.append(shop.name(table), written)
        given = sorted(map(tuple, written.selectExpr(*texts).collect()), key=repr)
        with shop.transaction(table) as transaction:
            read = transaction.table(shop.name(table)).selectExpr(*texts)
            assert sorted(map(tuple, read.collect()), key=repr) == given
    assert shop.shown(table, ", ".join(texts)) == given


def test_dates_before_1582_are_refused(shop: Shop) -> None:
    shop.client.execute(f"CREATE TABLE old (d DATE, t ARRAY<TIMESTAMP>) {ACID}")
    for date, time in (("1582-10-04", "2026-01-01"), ("2026-01-01", "0010-01-01")):
        rows = shop.spark.sql(f"SELECT date'{date}' d, array(timestamp'{time}') t")
        with pytest.raises(PySparkException, match="HIVEACID_DATE_BEFORE_1582"):
            with shop.transaction() as transaction:
                transaction.append(shop.name("old"), rows)


def test_conflicts(shop: Shop) -> None:
    client, name = shop.client, shop.name("c")
    client.execute(f"CREATE TABLE c (id INT, v INT) PARTITIONED BY (k INT) {ACID}")
    client.execute("INSERT INTO c VALUES (1, 1, 1), (2, 1, 2)")
    schema = "id int, v int, k int"
    for statement in (
        "UPDATE c SET v = 2 WHERE id = 1",
        "ALTER TABLE c DROP PARTITION (k = 2)",
        "TRUNCATE TABLE c PARTITION (k = 1)",
    ):
        with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_WRITE_CONFLICT"):
            with Meanwhile(partial(client.execute, statement)):
                with shop.transaction() as transaction:
                    transaction.merge(name, shop.rows((1, 5, 1), schema=schema), "id")
    # A write id that Hive gets meanwhile.
    with Meanwhile(lambda: client.execute("INSERT INTO c VALUES (3, 3, 3)")):
        with shop.transaction() as transaction:
            transaction.overwrite(name, shop.rows((4, 4, 4), schema=schema))
    assert shop.shown("c", ways=WAYS[:2]) == [(4, 4, 4)]
