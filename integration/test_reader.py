"""Types and names of columns as Hive shows them, and what the reader refuses."""

from __future__ import annotations

import pytest

from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from integration.differential import Differential
from integration.hive import HiveClient


def test_nested_types(differential: Differential, hive_client: HiveClient, database: str) -> None:
    table = f"{database}.nested"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, items array<int>, by_name map<string,int>, "
        "place struct<x:int,y:string>) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 1, array(1, 2), map('a', 1), named_struct('x', 1, 'y', 'b')"
    )
    read = differential.read(table)
    ((identity, items, by_name, place),) = read.rows
    assert (identity, items, by_name, tuple(place)) == (1, [1, 2], {"a": 1}, (1, "b"))


def test_columns_named_like_the_acid_columns(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.named"
    hive_client.execute(
        f"CREATE TABLE {table} (operation int, bucket int, rowid int, originaltransaction int, "
        "currenttransaction int, `row` struct<a:int,b:string>) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(
        f"INSERT INTO {table} SELECT 7, 8, 9, 10, 11, named_struct('a', 5, 'b', 'x') "
        "UNION ALL SELECT 1, 2, 3, 4, 5, named_struct('a', 6, 'b', 'y')"
    )
    hive_client.execute(f"DELETE FROM {table} WHERE bucket = 2")
    with differential.pinned_frame(table) as (_, frame):
        assert frame.where("operation = 7 AND bucket = 8 AND row.a = 5").count() == 1
        assert frame.where("row.a = 5").select("row.b").collect()[0][0] == "x"
        assert frame.where("rowid = 3").count() == 0
        assert [tuple(row)[:5] for row in frame.collect()] == [(7, 8, 9, 10, 11)]


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kolkata"])
def test_timestamps_in_a_session_with_another_zone_than_java(
    differential: Differential, hive_client: HiveClient, database: str, zone: str
) -> None:
    times, nested = f"{database}.times", f"{database}.nested"
    hive_client.script(
        f"""
        CREATE TABLE {times} (id int, at timestamp) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {times} VALUES (1, '2026-03-08 12:30:00.123456'), (2, '1969-12-31 23:59:59');
        CREATE TABLE {nested} (inside array<timestamp>) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO {nested} SELECT array(cast('2026-07-01 00:00:00' as timestamp));
        """
    )
    before = str(differential.spark.conf.get("spark.sql.session.timeZone"))
    differential.spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        with differential.pinned_frame(times) as (_, frame):
            shown = [tuple(row) for row in frame.selectExpr("id", "cast(at as string)").collect()]
        with pytest.raises(UnreadableTableError, match="column inside .* has timestamps inside"):
            differential.read(nested)
    finally:
        differential.spark.conf.set("spark.sql.session.timeZone", before)
    expected = hive_client.query(f"SELECT id, cast(at as string) FROM {times}")
    assert sorted(shown) == sorted(expected)


def test_a_column_named_like_sparks_metadata_column(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.meta"
    hive_client.execute(
        f"CREATE TABLE {table} (`_metadata` int) STORED AS PARQUET TBLPROPERTIES "
        "('transactional'='true', 'transactional_properties'='insert_only')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1), (2)")
    differential.check(table)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("(a int) STORED AS AVRO TBLPROPERTIES ({insert_only})", "cannot be read yet"),
        (
            "(a timestamp with local time zone) STORED AS ORC TBLPROPERTIES ({full_acid})",
            r"column a \(timestamp with local time zone\) cannot be read: Spark's readers know no",
        ),
        (
            "(a array<int>) STORED AS TEXTFILE TBLPROPERTIES ({insert_only})",
            r"column a \(array<int>\) cannot be read from a text file yet",
        ),
    ],
)
def test_what_cannot_be_read_right_is_refused(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    definition: str,
    message: str,
) -> None:
    full_acid = "'transactional'='true'"
    properties = definition.format(
        full_acid=full_acid, insert_only=f"{full_acid}, 'transactional_properties'='insert_only'"
    )
    table = f"{database}.refused"
    hive_client.execute(f"CREATE TABLE {table} {properties}")
    value = "array(1)" if "array" in definition else "cast(null as string)"
    hive_client.execute(f"INSERT INTO {table} SELECT {value}")
    with pytest.raises(UnreadableTableError, match=message):
        differential.read(table)
