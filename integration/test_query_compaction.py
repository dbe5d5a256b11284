"""Compactions that run as queries on Tez: minor, major and REBALANCE."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import hiveacid
from hiveacid.metastore.models import TableName
from hiveacid.metastore.writing_client import RowsToWrap, WritingClient
from integration.support.changes import Changes
from integration.support.differential import Differential
from integration.support.emptied import Emptied
from integration.support.hive import HiveClient, HiveServer, HiveSettings, HiveSqlError
from integration.support.hive.config import ON_MAPREDUCE
from integration.support.tables import FULL_ACID

pytestmark = pytest.mark.long("starts a Hive whose compactions run on Tez")

ORC = f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """A Hive whose compactions are queries on Tez."""
    settings = HiveSettings(query_compaction=True, cleaner_interval=0.5)
    with HiveServer(settings, work=tmp_path_factory.mktemp("hive_on_tez")) as server:
        yield server


@pytest.fixture(scope="module")
def client(server: HiveServer) -> Iterator[HiveClient]:
    """A session whose own statements run on MapReduce, which is faster."""
    with HiveClient(server.hs2_port, log=server.log) as client:
        client.execute(ON_MAPREDUCE)
        yield client


@pytest.fixture(scope="module")
def reads(server: HiveServer, client: HiveClient, spark: SparkSession) -> Differential:
    """Compares our reads with this Hive's answers."""
    return Differential(server, client, spark)


TABLES = {
    "plain": f"(id int, v string) {ORC}",
    "bucketed": f"(id int, v string) CLUSTERED BY (id) INTO 2 BUCKETS {ORC}",
    "parted": f"(id int, v string) PARTITIONED BY (p int) {ORC}",
}


@pytest.mark.parametrize("name", TABLES)
def test_rows_and_changes_over_compactions(
    name: str, server: HiveServer, client: HiveClient, reads: Differential
) -> None:
    changes, table = Changes(reads), f"default.{name}"
    of_partition = ", 1" if name == "parted" else ""
    partition = "p=1" if name == "parted" else None

    def insert(*ids: int) -> None:
        rows = ", ".join(f"({i}, 'v{i}'{of_partition})" for i in ids)
        client.execute(f"INSERT INTO {table} VALUES {rows}")

    def change(*statements: str) -> None:
        for statement in statements:
            client.execute(statement.format(t=table))

    def directories() -> set[str]:
        root = server.warehouse / name
        return {it.name.partition("_")[0] for it in root.rglob("*_v*") if it.is_dir()}

    client.execute(f"CREATE TABLE {table} {TABLES[name]}")
    insert(1, 2, 3, 4)
    insert(5, 6, 7)
    change("DELETE FROM {t} WHERE id = 2", "UPDATE {t} SET v = 'x' WHERE id IN (3, 5)")
    reads.check(table, where="id > 3")
    seen = changes.take(table)
    insert(10, 11)
    change("DELETE FROM {t} WHERE id = 6")
    client.compact(table, "minor", partition, cleaned=True)
    assert "delta" in directories()
    reads.check(table, where="v = 'x'")
    # A session that tells upper from lower case finds the ACID columns, too.
    with reads.session_setting("spark.sql.caseSensitive", "true"):
        reads.check(table, where="v = 'x'")
    changes.check(table, seen)
    seen = changes.take(table)
    insert(12)
    change("UPDATE {t} SET v = 'y' WHERE id IN (1, 10)", "DELETE FROM {t} WHERE id = 11")
    before = changes.take(table)
    client.compact(table, "major", partition, cleaned=True)
    assert "base" in directories()
    reads.check(table, where="id > 3")
    changes.check(table, before)


def test_minor_compactions_of_what_the_library_writes(
    server: HiveServer, client: HiveClient, reads: Differential, spark: SparkSession
) -> None:
    """They take in rows with ACID columns, which it writes here; rows without are refused."""
    table = "default.written"
    client.execute(f"CREATE TABLE {table} {TABLES['parted'].replace('p int', 'bucket int')}")

    def write(*ids: int) -> None:
        rows = spark.createDataFrame([(i, f"v{i}", 1) for i in ids], "id int, v string, bucket int")
        with hiveacid.transaction(spark, server.metastore_uri) as transaction:
            transaction.append(table, rows.repartition(3))
        with hiveacid.transaction(spark, server.metastore_uri) as transaction:
            changed = rows.withColumn("v", F.lit("merged")).where("id % 2 = 0")
            more = spark.createDataFrame([(-ids[0], "new", 1)], rows.schema)
            transaction.merge(table, changed.union(more), "id")

    expected = []
    for ids in (range(1, 20), range(20, 40)):
        write(*ids)
        expected += [(i, f"v{i}" if i % 2 else "merged", 1) for i in ids]
        expected.append((-ids[0], "new", 1))
        assert sorted(reads.check(table, where="v = 'merged'").rows) == sorted(expected)
        client.compact(table, "minor", "bucket=1", cleaned=True)
        assert sorted(reads.check(table, where="v = 'merged'").rows) == sorted(expected)
        directories = {it.name for it in (server.warehouse / "written" / "bucket=1").iterdir()}
        assert len(directories) == 2, directories
    client.execute(f"DELETE FROM {table} WHERE id % 3 = 0")
    client.compact(table, "major", "bucket=1", cleaned=True)
    found = reads.check(table, where="id > 5").rows
    assert sorted(found) == sorted(row for row in expected if row[0] % 3)

    with patch.object(WritingClient, "rows_to_wrap", lambda _: RowsToWrap.NONE):
        write(100, 101)
        write(102, 103)
    with pytest.raises(HiveSqlError, match="Query based Minor compaction is not possible"):
        client.compact(table, "minor", "bucket=1")
    reads.check(table)


def test_a_partition_by_a_decimal(client: HiveClient, reads: Differential) -> None:
    """It is compacted, since the server has `hive.strict.checks.type.safety=false`."""
    table = "default.by_decimal"
    client.execute(f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p decimal(6,2)) {ORC}")
    for kind in ("minor", "major"):
        for id_ in (1, 2):
            client.execute(f"INSERT INTO {table} VALUES ({id_}, '{kind}', 1.5)")
        client.compact(table, kind, "p='1.5'", cleaned=True)
        found = reads.check(table, where="id > 1")
    assert len(found.rows) == 4 and found.directories[0].startswith("p=1.5/base_")
    # Hive itself takes another partition for that of the rows.
    client.execute(f"DELETE FROM {table} WHERE id = 1")
    assert len(reads.check(table, where="id = 1").rows) == 4
    client.execute(f"UPDATE {table} SET v = 'x' WHERE id = 2")
    assert len(reads.check(table, where="v = 'x'").rows) == 6


def test_a_minor_compaction_below_an_open_write(
    server: HiveServer, client: HiveClient, reads: Differential, tmp_path: Path
) -> None:
    """It takes nothing in, but leaves no directory by which the cleaner would remove the rows."""
    name = TableName("default", "below_open_write")
    with Emptied.make(server, client, name, tmp_path, FULL_ACID) as table:
        assert table.compact_below_open_write() == []
        reads.check(str(name))
        table.commit()
        assert table.is_cleaned()
        assert sorted(reads.check(str(name)).rows) == [(1,), (2,), (3,)]


@pytest.mark.parametrize("name", ["plain", "parted"])
def test_rebalance(name: str, server: HiveServer, client: HiveClient, reads: Differential) -> None:
    """Rows get new row ids: what has kept the old ones is named, and none is reconciled."""
    changes, table = Changes(reads), f"default.balanced_{name}"
    of_partition = ", 1" if name == "parted" else ""
    client.execute(f"CREATE TABLE {table} {TABLES[name]}")
    for first in (0, 10):
        rows = ", ".join(f"({i}, 'v{i}'{of_partition})" for i in range(first, first + 4))
        client.execute(f"INSERT INTO {table} VALUES {rows}")
    client.execute(f"DELETE FROM {table} WHERE id = 1")
    seen = changes.take(table)
    client.compact(table, "rebalance", "p=1" if name == "parted" else None, cleaned=True)
    (base,) = {it.name for it in (server.warehouse / table.partition(".")[2]).rglob("base_*")}
    reads.check(table, where="id > 2")
    plan = changes.check(table, seen, [f"the compaction that made {base} may have numbered"])
    assert plan.is_empty
    client.execute(f"DELETE FROM {table} WHERE id % 3 = 0")
    client.execute(f"UPDATE {table} SET v = 'new' WHERE id = 11")
    reads.check(table, where="v = 'new'")


def test_a_rebalance_of_one_partition(client: HiveClient, reads: Differential) -> None:
    """Hive's query does not ask for the partition, and brings the rows of all others in."""
    table = "default.balanced_twice"
    client.execute(f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int) {ORC}")
    client.execute(f"INSERT INTO {table} VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    client.compact(table, "rebalance", "p=1", cleaned=True)
    rows = reads.check(table, where="id > 2").rows
    assert sorted((id_, p) for id_, _, p in rows) == [(1, 1), (2, 1), (3, 1), (3, 2)]
