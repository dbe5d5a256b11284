"""Tables that tests share, and how tests make and compact tables of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any

import pyorc
import pytest
from _pytest.mark import ParameterSet

from hiveacid.acid.layout import BucketProperty
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.histories.writer import OpenWriter, insert_together
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.sql_files import cases_of

#: Table properties. Hive must compact only when a test says so.
FULL_ACID = "'transactional'='true', 'NO_AUTO_COMPACTION'='true'"
INSERT_ONLY = f"{FULL_ACID}, 'transactional_properties'='insert_only'"

#: The end of a CREATE TABLE.
ACID = f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
PLAIN = "STORED AS ORC TBLPROPERTIES ('transactional'='false')"

#: Format and properties of every kind of table that can be read.
STORAGES = {
    "full acid": ("ORC", FULL_ACID),
    "originals": ("ORC", "'transactional'='false'"),
    "orc": ("ORC", INSERT_ONLY),
    "parquet": ("PARQUET", INSERT_ONLY),
    "avro": ("AVRO", INSERT_ONLY),
    "json": ("JSONFILE", INSERT_ONLY),
    "text": ("TEXTFILE", INSERT_ONLY),
}


#: The mark of a value of a parameter with which a test repeats what another value shows.
REPEATS = pytest.mark.long("goes through the code as another value of the parameter does")


def storage(name: str, *marks: pytest.MarkDecorator) -> ParameterSet:
    """Return one of `STORAGES` as the parameters `format` and `properties` of a test."""
    return pytest.param(*STORAGES[name], id=name, marks=marks)


def make_table(client: HiveClient, table: str, columns: str, rows: str, storage: str) -> None:
    """A table of one of `STORAGES` with the rows of a query, or of VALUES.

    `columns` are in parentheses, and a PARTITIONED BY may follow. Originals become full ACID.
    """
    format, properties = STORAGES[storage]
    client.execute(
        f"CREATE TABLE {table} {columns} STORED AS {format} TBLPROPERTIES ({properties})"
    )
    client.execute(f"INSERT INTO {table} {rows}")
    if storage == "originals":
        client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")


@contextmanager
def setting(client: HiveClient, name: str, value: bool, *, default: bool) -> Iterator[None]:
    """A setting of Hive that has this value for a while."""
    client.execute(f"SET {name}={value}")
    try:
        yield
    finally:
        client.execute(f"SET {name}={default}")


def compact_everywhere(client: HiveClient, table: str, kind: str, partitioned: bool) -> None:
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


def swap_partitions(client: HiveClient, table: str) -> None:
    """Give partition p=x the name of p=y, and the other way round."""
    for old, new in (("x", "z"), ("y", "x"), ("z", "y")):
        client.execute(f"ALTER TABLE {table} PARTITION (p='{old}') RENAME TO PARTITION (p='{new}')")


#: One small table for each thing that a reader can get wrong; tests share them and only read.
SMALL_TABLES = tuple(case.name for case in cases_of("small_tables.sql"))


def make_small_tables(hive: HiveServer, client: HiveClient, database: str) -> None:
    """Create and fill the tables of `small_tables.sql`."""
    for case in cases_of("small_tables.sql"):
        for statement in case.fill({"table": f"{database}.{case.name}"}):
            client.execute(statement)
    _abort_an_insert(hive, TableName(database, "aborted"))
    _stream(hive, TableName(database, "streamed"))


def _abort_an_insert(hive: HiveServer, table: TableName) -> None:
    """Leave the directory of an aborted transaction, below a write id that was committed."""
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = [OpenWriter.begin(client, table, None, deletes=False) for _ in range(2)]
        for writer in writers:
            writer.insert([writer.write_id])
        client.abort_txn(writers[0].txn_id)
        client.commit_txn(writers[1].txn_id)


def _stream(hive: HiveServer, table: TableName) -> None:
    """Leave rows of an aborted and of a committed transaction in one file."""
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        writers = [OpenWriter.begin(client, table, None, deletes=False) for _ in range(2)]
        insert_together([(writer, [writer.write_id]) for writer in writers])
        client.abort_txn(writers[0].txn_id)
        client.commit_txn(writers[1].txn_id)


#: One small table of each kind that a Hive writes, for readers that are compared with that Hive.
KINDS_OF_TABLES = cases_of("kinds_of_tables.sql")


def make_all_kinds(client: HiveClient, database: str) -> None:
    """Create a database with a table of each of `KINDS_OF_TABLES`."""
    client.execute(f"CREATE DATABASE {database}")
    client.execute(f"USE {database}")
    for case in KINDS_OF_TABLES:
        for statement in case.fill({"table": case.name}):
            client.execute(statement)
        if "compacted" in case.notes:
            client.compact(case.name, case.notes["compacted"])


def write_stripes(location: Path, files: int, rows: int) -> None:
    """Write original files with several stripes. The ids of a file begin at 10,000 times its
    number."""
    location.mkdir()
    for number in range(files):
        path = location / f"00000{number}_0"
        schema = "struct<id:int,name:string>"
        with (
            path.open("wb") as file,
            pyorc.Writer(
                file, schema, stripe_size=4096, compression=pyorc.CompressionKind.NONE
            ) as writer,
        ):
            for i in range(rows):
                writer.write((10_000 * number + i, f"name {i * 7919 % 6007}"))
        with path.open("rb") as written:
            assert pyorc.Reader(written).num_of_stripes > 3


def convert_stripes(client: HiveClient, table: str, location: Path) -> None:
    """Make a full-ACID table of the files of `write_stripes`."""
    client.execute(
        f"CREATE TABLE {table} (id int, name string) STORED AS ORC "
        f"LOCATION 'file:{location}' TBLPROPERTIES ('transactional'='false')"
    )
    client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")


def rebalance(base: Path, buckets: int) -> None:
    """Rewrite a base with one file: the same rows in other buckets, with other row ids."""
    (old,) = base.glob("bucket_*")
    with old.open("rb") as compacted:
        reader = pyorc.Reader(compacted)
        schema, rows = str(reader.schema), list(reader)
    for path in base.glob("*bucket_*"):  # with the checksums of Hadoop's local file system
        path.unlink()
    per_bucket = -(-len(rows) // buckets)
    numbered: list[tuple[int, tuple[Any, ...]]] = list(enumerate(rows))
    for bucket, group in groupby(numbered, lambda row: row[0] // per_bucket):
        with (base / f"bucket_{bucket:05d}").open("wb") as file, pyorc.Writer(file, schema) as out:
            for number, (operation, write_id, _, _, writer, row) in group:
                key = (write_id, BucketProperty(bucket, 0).encode(), number)
                out.write((operation, *key, writer, row))
