"""Models over tables of other writers, read in three ways: as a whole, by a filter, by changes."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient
from integration.support.tables import INSERT_ONLY
from integration.support.targets import ThreeWays

pytestmark = pytest.mark.long("dbt over files of other writers; the reader's tests read such files")


def write_times(path: Path, first: int) -> Path:
    """Write wall clocks as Impala does, in INT96 and without the zone of a Java."""
    times = [dt.datetime(1969, 12, 31, 23, 59, 59, 123456), dt.datetime(2026, 3, 8, 2, 30), None]
    ids = pyarrow.array(range(first, first + len(times)), pyarrow.int32())
    table = pyarrow.table({"id": ids, "at": pyarrow.array(times, pyarrow.timestamp("us"))})
    pyarrow.parquet.write_table(table, path, use_deprecated_int96_timestamps=True)
    return path


def test_parquet_of_another_writer(
    dbt_project: DbtProject, hive_client: HiveClient, spark: SparkSession, tmp_path: Path
) -> None:
    hive_client.execute(
        f"CREATE TABLE times (id int, at timestamp) STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    where = {"times": "at = timestamp '2026-03-08 02:30:00'"}
    columns = "id, cast(at AS string) AS at"
    models = ThreeWays(dbt_project, hive_client, spark, columns, where)
    for first in (1, 11):
        file = write_times(tmp_path / f"from_{first}.parquet", first)
        hive_client.execute(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE times")
        models.check()
    found = hive_client.query(f"SELECT {columns} FROM times WHERE {where['times']}")
    assert sorted(found) == [(2, "2026-03-08 02:30:00"), (12, "2026-03-08 02:30:00")]


def test_unions(dbt_project: DbtProject, hive_client: HiveClient, spark: SparkSession) -> None:
    for name, format in {"in_avro": "AVRO", "in_text": "TEXTFILE"}.items():
        hive_client.execute(
            f"CREATE TABLE {name} (id int, u uniontype<int,string>) STORED AS {format} "
            f"TBLPROPERTIES ({INSERT_ONLY})"
        )
    models = ThreeWays(
        dbt_project,
        hive_client,
        spark,
        "id, u.member0 AS number, u.member1 AS word",
        dict.fromkeys(("in_avro", "in_text"), "id > 1"),
        hives="id, extract_union(u, 0) AS number, extract_union(u, 1) AS word",
    )
    for first in (1, 11):
        for name in ("in_avro", "in_text"):
            hive_client.execute(
                f"INSERT INTO {name} SELECT {first}, create_union(0, {first}, 'w') UNION ALL "
                f"SELECT {first + 1}, create_union(1, 0, 'w')"
            )
        models.check()
