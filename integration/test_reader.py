"""Each kind of ACID table that Hive writes, step by step: our rows are Hive's own."""

from __future__ import annotations

from pathlib import Path

import pyorc
import pytest

from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.metastore.transactions import TransactionState
from integration.differential import Differential
from integration.hive import HiveClient, HiveServer, HiveSqlError

STORAGES = {
    "plain": "",
    "bucketed": "CLUSTERED BY (id) INTO 3 BUCKETS",
    "partitioned": "PARTITIONED BY (day date)",
    "partitioned and bucketed": "PARTITIONED BY (day date) CLUSTERED BY (id) INTO 2 BUCKETS",
}


@pytest.mark.parametrize("storage", STORAGES.values(), ids=STORAGES.keys())
def test_full_acid(
    differential: Differential, hive_client: HiveClient, database: str, storage: str
) -> None:
    table = f"{database}.orders"
    partitioned = "PARTITIONED" in storage
    day = ", day date" if not partitioned else ""
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string, amount decimal(12,2){day}) {storage} "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    differential.check(table)
    for step in (
        f"INSERT INTO {table} VALUES (1, 'a', 1.5, '2026-01-01'), (2, 'b', 2, '2026-01-02'),"
        " (3, NULL, 3, '2026-01-01'), (4, 'd', NULL, '2026-01-02'), (5, 'e', 5, NULL)",
        f"INSERT INTO {table} SELECT id + 10, name, amount, day FROM {table} WHERE id < 3"
        f" UNION ALL SELECT id + 20, name, amount, day FROM {table} WHERE id > 2",
        f"UPDATE {table} SET name = concat(coalesce(name, ''), '!') WHERE id % 2 = 1",
        f"DELETE FROM {table} WHERE id IN (2, 13, 25)",
        f"MERGE INTO {table} t USING (SELECT 1 AS id UNION ALL SELECT 99) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET amount = 100"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new', 0, '2026-01-03')",
    ):
        hive_client.execute(step)
        differential.check(table, where="id > 3")
    for kind in ("minor", "major"):
        _compact_everywhere(hive_client, table, kind, partitioned)
        differential.check(table, where="day = date '2026-01-02'")
        hive_client.execute(f"DELETE FROM {table} WHERE id = {1 if kind == 'minor' else 4}")
        hive_client.execute(f"INSERT INTO {table} VALUES (7, '{kind}', 7, '2026-01-01')")
        differential.check(table, where="id >= 7")
    hive_client.execute(f"TRUNCATE TABLE {table}")
    assert differential.check(table).rows == []
    hive_client.execute(f"INSERT INTO {table} VALUES (8, 'after', 8, '2026-01-01')")
    assert len(differential.check(table).rows) == 1


def _compact_everywhere(client: HiveClient, table: str, kind: str, partitioned: bool) -> None:
    """Compact the table, or each of its partitions that Hive thinks worth it."""
    if not partitioned:
        client.compact(table, kind)
        return
    compacted = 0
    for (name,) in client.query(f"SHOW PARTITIONS {table}"):
        key, _, value = name.partition("=")
        try:
            client.compact(table, kind, partition=f"{key}='{value}'")
            compacted += 1
        except HiveSqlError as error:
            assert "None of the compaction thresholds met" in str(error)
    assert compacted


FORMATS = {
    "orc": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "text": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' ESCAPED BY '\\\\' STORED AS TEXTFILE",
    "default text": "STORED AS TEXTFILE",
}


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize("partitioned", [False, True], ids=["plain", "partitioned"])
def test_insert_only(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    partitioned: bool,
) -> None:
    table = f"{database}.events"
    columns = "id int, what string, amount decimal(10,2), at timestamp"
    kind = f"({columns}, p string)" if not partitioned else f"({columns}) PARTITIONED BY (p string)"
    hive_client.execute(
        f"CREATE TABLE {table} {kind} {format} TBLPROPERTIES ('transactional'='true', "
        "'transactional_properties'='insert_only', 'NO_AUTO_COMPACTION'='true')"
    )
    differential.check(table)
    for step in (
        f"INSERT INTO {table} VALUES (1, 'a|b', 1.5, '2026-01-01 10:00:00.5', 'x y'), "
        "(2, NULL, 2, NULL, 'ü'), (3, '', NULL, '2026-06-01 00:00:00', NULL)",
        f"INSERT INTO {table} SELECT id + 10, what, amount, at, p FROM {table}",
        f"INSERT INTO {table} SELECT id + 20, what, amount, at, p FROM {table} WHERE id = 1"
        f" UNION ALL SELECT id + 30, what, amount, at, p FROM {table} WHERE id = 2",
    ):
        hive_client.execute(step)
        differential.check(table, where="p = 'ü'")
    if not partitioned:
        hive_client.compact(table, "major")
        differential.check(table, where="id > 10")
        hive_client.execute(f"INSERT OVERWRITE TABLE {table} SELECT * FROM {table} WHERE id < 3")
        differential.check(table)
    hive_client.execute(f"TRUNCATE TABLE {table}")
    assert differential.check(table).rows == []


ORIGINALS = {
    "plain": ("", ""),
    "partitioned": ("PARTITIONED BY (p int)", ""),
    "bucketed": ("", "CLUSTERED BY (id) INTO 2 BUCKETS"),
}


@pytest.mark.parametrize(("partition", "bucket"), ORIGINALS.values(), ids=ORIGINALS.keys())
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
    _compact_everywhere(hive_client, table, "major", bool(partition))
    compacted = differential.check(table)
    assert all(file.is_acid for file in compacted.plan.data)
    hive_client.execute(f"DELETE FROM {table} WHERE id = 2")
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


def test_overwrite_with_rows_and_with_none(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.overwritten"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1), (2), (3)")
    hive_client.execute(f"INSERT OVERWRITE TABLE {table} SELECT id FROM {table} WHERE id > 1")
    assert len(differential.check(table).rows) == 2
    hive_client.execute(f"INSERT OVERWRITE TABLE {table} SELECT id FROM {table} WHERE id > 9")
    differential.check(table)
    hive_client.execute(f"INSERT INTO {table} VALUES (4)")
    differential.check(table)


def test_odd_partition_values_dropped_and_truncated_partitions(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.odd"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (q string, n int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 'a b/c=d,{{e}}%', 1), (2, 'ü', 2), (3, NULL, 3), "
        "(4, '[x]*?', 4), (5, \"it's\", 5), (6, 'plain', NULL), (7, 'a:b', 7)"
    )
    differential.check(table, where="q = 'ü'")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (1, 4)")
    differential.check(table, where="n > 3")
    hive_client.execute(f"ALTER TABLE {table} DROP PARTITION (q='ü', n=2)")
    differential.check(table)
    hive_client.execute(f"TRUNCATE TABLE {table} PARTITION (q='a:b', n=7)")
    assert len(differential.check(table).rows) == 3


def test_partition_columns_of_every_type(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.typed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (a tinyint, b decimal(10,2), c date, "
        "d boolean, e bigint, f timestamp, g char(2), h varchar(5), i double) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 1, 1.50, '2026-01-01', true, 99999999999, "
        "'2026-01-01 10:00:00', 'ab', 'xyz', 0.5), "
        "(2, -1, -2.5, '1999-12-31', false, -1, '2026-01-01 00:00:00.5', 'cd', 'd', -1e10)"
    )
    differential.check(table, where="b = 1.5")


def test_a_partition_with_a_location_of_its_own(
    differential: Differential, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    table = f"{database}.elsewhere"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a', 1)")
    hive_client.execute(f"ALTER TABLE {table} ADD PARTITION (p=3) LOCATION 'file:{tmp_path}/p3'")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 'c', 3), (4, 'd', 3)")
    hive_client.execute(f"DELETE FROM {table} WHERE id = 3")
    assert len(differential.check(table, where="p = 3").rows) == 2


def test_partitions_repeat_row_ids(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """A dynamic-partition insert numbers the rows of each partition from 0 again."""
    table = f"{database}.repeated"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (p int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    values = ", ".join(f"({i}, {i % 4})" for i in range(40))
    hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    # Other row ids in each partition: one partition's delete events fit the other's rows, too.
    hive_client.execute(f"DELETE FROM {table} WHERE p = 1 AND id < 20")
    hive_client.execute(f"DELETE FROM {table} WHERE p = 2 AND id >= 20")
    assert len(differential.check(table, where="p IN (1, 2)").rows) == 30


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


def test_uncommitted_and_aborted_work_is_not_shown(
    differential: Differential, hive_client: HiveClient, hive: HiveServer, database: str
) -> None:
    """Files of an open and of an aborted transaction lie in the table, as a writer leaves them."""
    table = f"{database}.writers"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1), (2)")
    client = MetastoreClient(hive.metastore_uri, timeout=30)
    location = client.get_table(TableName(database, "writers")).storage.location
    with_ids = []
    for identity in (100, 200, 300):
        txn = client.open_txn("writer", "localhost", "a test's writer", read_only=False)
        write_id = client.allocate_table_write_ids(txn, TableName(database, "writers"))
        _write_delta(location, write_id, identity)
        with_ids.append(txn)
    aborted, open_, committed = with_ids
    client.abort_txn(aborted)
    client.commit_txn(committed)
    client.heartbeat(open_)  # a busy machine may be slower than the metastore's timeout
    shown = {row[0] for row in differential.check(table).rows}
    assert client.heartbeat(open_) is TransactionState.OPEN
    assert shown == {1, 2, 300}
    client.commit_txn(open_)
    assert {row[0] for row in differential.check(table).rows} == {1, 2, 200, 300}
    client.close()


def _write_delta(location: str, write_id: int, identity: int) -> None:
    directory = Path(location.removeprefix("file:").replace("//", "/", 1))
    directory /= f"delta_{write_id:07d}_{write_id:07d}_0000"
    directory.mkdir()
    (directory / "_orc_acid_version").write_text("2")
    schema = (
        "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
        "currentTransaction:bigint,row:struct<id:int>>"
    )
    with (directory / "bucket_00000").open("wb") as file, pyorc.Writer(file, schema) as writer:
        writer.write((0, write_id, 536870912, 0, write_id, (identity,)))


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
