"""Files without ACID columns: those of converted tables, and those that LOAD DATA moved in."""

from __future__ import annotations

from pathlib import Path

import pyorc
import pytest

from integration.differential import Differential
from integration.hive import HiveClient
from integration.tables import compact_everywhere

PARTITIONED = "PARTITIONED BY (p int)"
BUCKETED = "CLUSTERED BY (id) INTO 2 BUCKETS"


@pytest.mark.parametrize(
    ("partition", "bucket"),
    [
        pytest.param("", "", id="plain"),
        # What these two show, the table that is both shows, too.
        pytest.param(PARTITIONED, "", id="partitioned", marks=pytest.mark.long),
        pytest.param("", BUCKETED, id="bucketed", marks=pytest.mark.long),
        pytest.param(PARTITIONED, BUCKETED, id="both"),
    ],
)
def test_original_files(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    partition: str,
    bucket: str,
) -> None:
    table = f"{database}.customers"
    columns = "id int, name string" + ("" if partition else ", p int")
    hive_client.execute(
        f"CREATE TABLE {table} ({columns}) {partition} {bucket} STORED AS ORC "
        "TBLPROPERTIES ('transactional'='false')"
    )
    for first in (0, 100, 200):
        values = ", ".join(f"({first + i}, 'name {first + i}', {i % 2})" for i in range(6))
        hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    hive_client.execute(
        f"INSERT INTO {table} SELECT id + 1000, name, p FROM {table} WHERE id < 3"
        f" UNION ALL SELECT id + 2000, name, p FROM {table} WHERE id > 202"
    )
    hive_client.execute(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', "
        "'NO_AUTO_COMPACTION'='true')"
    )
    converted = differential.check(table, where="p = 1")
    assert all(file.row_ids is None for file in converted.plan.data), "no delete, no row ids"
    for step in (
        f"DELETE FROM {table} WHERE id IN (1, 104, 203, 1002)",
        f"INSERT INTO {table} VALUES (500, 'new', 0), (501, 'new', 1)",
        f"UPDATE {table} SET name = 'changed' WHERE id IN (0, 105, 500)",
    ):
        hive_client.execute(step)
        differential.check(table, where="p = 0")
    # A minor compaction takes in the deltas only, a major one the original files, too.
    compact_everywhere(hive_client, table, "minor", bool(partition))
    differential.check(table, where="id < 200")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (4, 2204, 2205)")
    differential.check(table)
    compact_everywhere(hive_client, table, "major", bool(partition))
    compacted = differential.check(table)
    assert all(file.is_acid for file in compacted.plan.data)
    hive_client.execute(f"DELETE FROM {table} WHERE id = 2")
    differential.check(table)


def test_files_without_statistics(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """A row index stride of 0 leaves them out: the row ids of deletes are in no footer."""
    table = f"{database}.unindexed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='false', 'orc.row.index.stride'='0')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    hive_client.execute(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', "
        "'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (4, 'd'), (5, 'e')")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (2, 5)")
    deleted = differential.check(table, where="id > 1")
    (delete,) = deleted.plan.deletes
    assert delete.row_id_range is not None and not delete.row_id_range.is_known
    hive_client.execute(f"UPDATE {table} SET name = 'x' WHERE id IN (1, 4)")
    differential.check(table)
    hive_client.compact(table, "minor")
    differential.check(table)
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    differential.check(table)
    hive_client.compact(table, "major")
    differential.check(table)


def test_load_data_into_a_full_acid_table(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.loaded"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'inserted')")
    for number in range(2):
        path = tmp_path / f"00000{number}_0"
        with path.open("wb") as file, pyorc.Writer(file, "struct<id:int,name:string>") as writer:
            for i in range(10):
                writer.write((10 * (number + 1) + i, f"loaded {i}"))
        hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{path}' INTO TABLE {table}")
    differential.check(table)
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (1, 13, 28)")
    deleted = differential.check(table, where="id > 20")
    assert len(deleted.rows) == 18
    hive_client.execute(f"UPDATE {table} SET name = 'x' WHERE id = 11")
    differential.check(table)


SPLITS = {
    "a file a task": {"openCostInBytes": "1g"},
    "all in one task": {"maxPartitionBytes": "1g", "maxPartitionNum": "1"},
    "a stripe a split": {"maxPartitionBytes": "8k", "openCostInBytes": "0"},
    "many splits, few tasks": {"maxPartitionBytes": "8k", "maxPartitionNum": "3"},
}


def test_rows_are_numbered_however_spark_divides_the_files(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.divided"
    location = tmp_path / "divided"
    location.mkdir()
    for number in range(3):
        path = location / f"00000{number}_0"
        schema = "struct<id:int,name:string>"
        with (
            path.open("wb") as file,
            pyorc.Writer(
                file, schema, stripe_size=4096, compression=pyorc.CompressionKind.NONE
            ) as writer,
        ):
            for i in range(6000):
                writer.write((10_000 * number + i, f"name {i * 7919 % 6007}"))
        with path.open("rb") as written:
            assert pyorc.Reader(written).num_of_stripes > 3
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        f"LOCATION 'file:{location}' TBLPROPERTIES ('transactional'='false')"
    )
    hive_client.execute(
        f"ALTER TABLE {table} SET TBLPROPERTIES ('transactional'='true', "
        "'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"DELETE FROM {table} WHERE id % 13 = 0 OR id BETWEEN 14000 AND 15000")
    spark = differential.spark
    for name, settings in SPLITS.items():
        for key, value in settings.items():
            spark.conf.set(f"spark.sql.files.{key}", value)
        try:
            read = differential.check(table, where="id % 10000 < 900")
        finally:
            for key in settings:
                spark.conf.unset(f"spark.sql.files.{key}")
        assert len(read.rows) == 15_692, name
