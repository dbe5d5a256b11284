"""Checks under the locks: whether what was staged still fits the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from hiveacid.acid.layout import BaseDir, try_parse_directory
from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges, new_write_ids
from hiveacid.errors import TableNotFoundError, WriteAbortedError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import ServerInfo, TableName
from hiveacid.metastore.writing_client import Operation, WritingClient
from hiveacid.writer.table_writes import TableWrites
from hiveacid.writer.target import Target, look_up


def check_tables(client: WritingClient, tables: Sequence[TableWrites], server: ServerInfo) -> None:
    """Take the tables and partitions as they are now, unless DDL has changed a table.

    Raises:
        WriteAbortedError: a table is another one, or a partition with rows to delete is gone.
    """
    for table in tables:
        try:
            now = look_up(client, table.name, server)
        except TableNotFoundError as error:
            raise conflict(table, "was dropped") from error
        if not now.is_same(table.target):
            raise conflict(table, "was altered, or dropped and created")
        _check_partitions(table, now)
        if table.target.is_of_hive_3 and table.read is not None:
            _check_no_ddl(table, now)
        table.target = now


def _check_partitions(table: TableWrites, now: Target) -> None:
    if table.deleted is None or not now.keys:
        return
    _, names = table.deleted
    for name in names:
        before, after = table.target.partitions.get(name), now.partitions.get(name)
        if after is None or before is None or before.storage.location != after.storage.location:
            raise conflict(table, f"has lost or moved its partition {name}")


def _check_no_ddl(table: TableWrites, now: Target) -> None:
    """Refuse to write what depends on rows that a DROP PARTITION or TRUNCATE may have removed.

    In Hive 3 neither has a write id that `check_unchanged` would find; parameters change by both.
    """
    if table.operation is Operation.DELETE:
        return
    if now.table.parameters != table.target.table.parameters:
        raise conflict(table, "was altered or truncated")
    for name, before in table.target.partitions.items():
        after = now.partitions.get(name)
        if after is None or after != before:
            raise conflict(table, f"has lost or changed its partition {name}")


def check_unchanged(
    spark: SparkSession,
    tables: Sequence[TableWrites],
    now: Mapping[TableName, ValidWriteIdList],
) -> None:
    """Refuse to write what depends on rows that have changed since they were read.

    Raises:
        WriteAbortedError: they have changed.
    """
    for table in tables:
        if table.depends_on is not None:
            new = new_write_ids(table.depends_on, now[table.name])
            if new:
                raise conflict(table, f"was changed (write ids {new})")
        if table.read is not None:
            new = new_write_ids(table.read.write_ids, now[table.name])
            if new and (not table.tolerates_inserts or _has_changed(spark, table, new)):
                raise conflict(table, f"was changed (write ids {new})")


def _has_changed(spark: SparkSession, table: TableWrites, new: WriteIdRanges) -> bool:
    """Whether write ids may have deleted or replaced rows, by the directories in the table.

    A compaction hides what it has compacted, so one that reaches to a new write id counts.
    """
    target = table.target
    locations = (
        [it.storage.location for it in target.partitions.values()]
        if target.keys
        else [target.location]
    )
    for listing in list_locations(spark, locations):
        for name in listing.directories:
            directory = None if "/" in name else try_parse_directory(name)
            if isinstance(directory, BaseDir):
                first = 1 if directory.visibility_txn else directory.write_id
                if new.intersects(first, directory.write_id):
                    return True
            elif directory is not None and directory.is_delete:
                if new.intersects(*directory.write_id_range):
                    return True
    return False


def is_overtaken(table: TableWrites, ids: ValidWriteIdList, guard_id: int) -> bool:
    """Whether another writer holds a lower write id than a base: its rows would be hidden.

    Hive takes the write id of an INSERT before the lock. While we hold the lock, it waits.
    """
    assert table.write_id is not None
    own = {guard_id, table.write_id}
    return any(it < table.write_id and it not in own for it in ids.open)


def conflict(table: TableWrites, what: str) -> WriteAbortedError:
    """Return the error for a table that has changed."""
    return WriteAbortedError(
        f"{table.name} {what} after the transaction had read or staged, so what was to be "
        "written no longer fits. Nothing was written. Read again, and write again.",
        code="HIVEACID_WRITE_CONFLICT",
    )
