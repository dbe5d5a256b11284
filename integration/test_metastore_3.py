"""The oldest metastore that has write ids, Hive 3.1.3's: tables are read through it as well.

It keeps a notification log, as where tables are replicated.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from hmsclient.genthrift.hive_metastore import ttypes
from pyspark.sql import SparkSession

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import LockState, Table, TableName
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.hive.metastore_3 import Metastore3

#: Those of the small tables whose write ids begin with 1: the others cannot be had again.
TABLES = ["partitioned", "aborted", "truncated", "renamed"]


@pytest.fixture(scope="module")
def metastore_3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Metastore3]:
    with Metastore3(tmp_path_factory.mktemp("metastore_3")) as metastore:
        yield metastore


@pytest.fixture
def client(metastore_3: Metastore3) -> Iterator[MetastoreClient]:
    with MetastoreClient(metastore_3.uri, timeout=30) as client:
        yield client


@pytest.fixture
def client_4(hive: HiveServer) -> Iterator[MetastoreClient]:
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        yield client


def test_tables_are_read_through_it(
    metastore_3: Metastore3,
    client: MetastoreClient,
    client_4: MetastoreClient,
    hive_session: HiveClient,
    small_tables: str,
    spark: SparkSession,
    tmp_path: Path,
) -> None:
    info = client.server_info()
    # What 3.1.3 says of itself.
    assert (info.version, info.supports_write_ids) == ("3.0", True)
    names = {table: TableName("default", table) for table in TABLES}
    for table, name in names.items():
        _copy(client_4, TableName(small_tables, table), client, name, tmp_path / table)
    snapshot = RunSnapshot(
        lambda: MetastoreClient(metastore_3.uri, timeout=30),
        SnapshotSettings(lock_timeout=60),
        "dbt-hiveacid test",
    )
    pinned, footers = snapshot.pin(names.values()), OrcFooters()
    for table, name in names.items():
        rows = to_dataframe(spark, plan_read(spark, pinned[name], footers)).collect()
        expected = hive_session.query(f"SELECT * FROM {small_tables}.{table}")
        assert canonical(map(tuple, rows)) == canonical(expected), table
        assert [lock.state for lock in client.show_locks(name)] == [LockState.ACQUIRED]
    assert pinned[names["aborted"]].write_ids.aborted == {2}
    snapshot.check_alive()
    snapshot.end()
    assert [lock for name in names.values() for lock in client.show_locks(name)] == []


def _copy(
    source: MetastoreClient,
    source_name: TableName,
    target: MetastoreClient,
    name: TableName,
    directory: Path,
) -> None:
    """Make a table from another metastore's, over a copy of its files, with the same write ids."""
    table = source.get_table(source_name)
    partitions = source.get_partitions(source_name) if table.partition_keys else ()
    root = table.storage.location
    shutil.copytree(root.removeprefix("file:"), directory)

    def call(what: str, *arguments: object) -> None:
        target._channel.once(what, f"table {name}", lambda t: getattr(t, what)(*arguments))

    call("create_table", _thrift_table(table, name, f"file:{directory}"))
    if partitions:
        call(
            "add_partitions",
            [
                ttypes.Partition(
                    values=list(partition.values),
                    dbName=name.database,
                    tableName=name.table,
                    sd=_thrift_storage(
                        table, partition.storage.location.replace(root, f"file:{directory}", 1)
                    ),
                    parameters={},
                )
                for partition in partitions
            ],
        )
    valid = source.get_valid_write_ids([source_name], source.get_valid_txns())[source_name]
    for write_id in range(1, valid.high_watermark + 1):
        txn_id = target.open_txn("writer", "localhost", "test", read_only=False)
        assert target.allocate_table_write_ids(txn_id, name) == write_id
        component = ttypes.LockComponent(
            type=ttypes.LockType.SHARED_READ,
            level=ttypes.LockLevel.TABLE,
            dbname=name.database,
            tablename=name.table,
            operationType=ttypes.DataOperationType.INSERT,
            isAcid=True,
        )
        # Without a lock the metastore would forget a transaction that is aborted.
        call("lock", ttypes.LockRequest([component], txn_id, "writer", "localhost", "test"))
        end = target.commit_txn if valid.is_valid(write_id) else target.abort_txn
        end(txn_id)


def _thrift_table(table: Table, name: TableName, location: str) -> ttypes.Table:
    return ttypes.Table(
        tableName=name.table,
        dbName=name.database,
        owner="test",
        sd=_thrift_storage(table, location),
        partitionKeys=[ttypes.FieldSchema(c.name, c.type) for c in table.partition_keys],
        parameters={"transactional": "true", "transactional_properties": "default"},
        tableType="MANAGED_TABLE",
    )


def _thrift_storage(table: Table, location: str) -> ttypes.StorageDescriptor:
    orc = "org.apache.hadoop.hive.ql.io.orc"
    return ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema(c.name, c.type) for c in table.storage.columns],
        location=location,
        inputFormat=f"{orc}.OrcInputFormat",
        outputFormat=f"{orc}.OrcOutputFormat",
        serdeInfo=ttypes.SerDeInfo(serializationLib=f"{orc}.OrcSerde", parameters={}),
        numBuckets=-1,
        bucketCols=[],
        sortCols=[],
        parameters={},
    )
