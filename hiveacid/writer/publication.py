"""Publication: staged writes become visible together, by the commit of one transaction.

Hive shows a delta once its write id is committed. It shows a base also while its write id is the
lowest open one (`AcidUtils.isValidBase`). So a *guard* transaction holds a lower write id open
until the commit (docs/decisions/writing.md).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress

from pyspark.sql import SparkSession

from hiveacid.acid.layout import METADATA_FILE, BaseDir, try_parse_directory
from hiveacid.acid.write_ids import WriteIdRanges, new_write_ids
from hiveacid.errors import (
    HiveAcidError,
    MetastoreUnavailableError,
    TransactionLostError,
    WriteAbortedError,
)
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.writing_client import NewPartition, WriteLock, WritingClient
from hiveacid.snapshots.locks import LockWait, acquire_to_write
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.files import Files
from hiveacid.writer.layout import Kind, StagedDirectory, partition_values
from hiveacid.writer.stage import stage_deletes
from hiveacid.writer.writes import TableWrites

logger = logging.getLogger("hiveacid")
_TRUNCATED = b'{"thisFileVersion":"0","dataFormat":"truncated"}'
"""Content of the file by which Hive's TRUNCATE marks a base without rows (`AcidMetaDataFile`)."""


def publish(
    spark: SparkSession,
    tables: Sequence[TableWrites],
    limit: LockWait,
    open_transaction: Callable[[], Transaction],
) -> None:
    """Move staged files into their tables, and commit.

    The transaction that has read must have ended: an EXCLUSIVE lock would wait for its locks.

    Args:
        spark: the session whose file systems hold the tables.
        tables: what was staged.
        limit: how long to wait for the locks.
        open_transaction: opens a transaction that may write, with a `WritingClient`.

    Raises:
        LockTimeoutError: a lock was not granted in time.
        PublicationError: a file could not be moved.
        WriteAbortedError: the transaction was aborted, or another one has changed what was read.
        HiveAcidError: nothing was committed.
    """
    with ExitStack() as stack:
        # Of two transactions the guard must be the older one: Hive's housekeeper forgets the write
        # ids of the oldest ones first, and the highest that it remembers counts as the newest.
        guard = None
        if any(table.is_overwrite for table in tables):
            guard = stack.enter_context(_Guard(open_transaction()))
        transaction = open_transaction()
        client = transaction.client
        assert isinstance(client, WritingClient)
        moved = _Moved(Files(spark))
        try:
            _allocate(transaction, client, tables, guard)
            for table in tables:
                _stage_deletes(spark, table)
            acquire_to_write(transaction, client, [_lock_of(table) for table in tables], limit)
            _check_unchanged(spark, client, tables)
            _renew_write_ids(transaction, client, tables, guard)
            _move(spark, transaction, client, tables, moved, guard)
            for table in tables:
                assert table.write_id is not None
                touched = sorted({it.partition for it in table.staged if it.partition})
                client.invalidate_statistics(table.name, table.write_id, touched)
            transaction.check_alive()
        except BaseException:
            moved.back()
            transaction.end(commit=False)
            raise
        _commit(transaction, tables, moved)


def _commit(transaction: Transaction, tables: Sequence[TableWrites], moved: _Moved) -> None:
    names = ", ".join(str(table.name) for table in tables)
    try:
        transaction.commit()
    except MetastoreUnavailableError as error:
        raise WriteAbortedError(
            f"Whether transaction {transaction.id}, which writes {names}, was committed is not "
            f"known: {error.message} Its files are in place. See SHOW TRANSACTIONS: if the "
            "transaction is neither open nor aborted, it was committed.",
            code="HIVEACID_COMMIT_UNKNOWN",
        ) from error
    except TransactionLostError as error:
        moved.back()
        transaction.end(commit=False)
        raise WriteAbortedError(
            f"Transaction {transaction.id}, which was to write {names}, was aborted: "
            f"{error.message} Nothing of it is visible. Read again, and write again."
        ) from error


def _stage_deletes(spark: SparkSession, table: TableWrites) -> None:
    if table.deleted is None:
        return
    path, partitions = table.deleted
    assert table.write_id is not None
    table.staged += stage_deletes(
        table.target,
        spark.read.parquet(path),
        partitions,
        table.directory("events"),
        table.write_id,
        table.next_statement(),
    )


def _check_unchanged(
    spark: SparkSession, client: WritingClient, tables: Sequence[TableWrites]
) -> None:
    """Refuse to write what depends on rows that have changed since they were read.

    A merge or a delete tolerates rows that were only added: so does Hive's own.

    Raises:
        WriteAbortedError: they have changed.
    """
    read = [table for table in tables if table.read is not None]
    if not read:
        return
    now = client.get_valid_write_ids([table.name for table in read], client.get_valid_txns())
    for table in read:
        assert table.read is not None
        new = new_write_ids(table.read.write_ids, now[table.name])
        if new and (table.is_overwrite or _has_changed(spark, client, table, new)):
            raise WriteAbortedError(
                f"{table.name} was changed after it was read (write ids {new}), so what was to be "
                "written no longer fits. Nothing was written. Read again, and write again.",
                code="HIVEACID_WRITE_CONFLICT",
            )


def _has_changed(
    spark: SparkSession, client: WritingClient, table: TableWrites, new: WriteIdRanges
) -> bool:
    """Whether write ids have deleted or replaced rows, by the directories that they left."""
    found = client.get_table(table.name)
    locations = (
        [it.storage.location for it in client.get_partitions(table.name)]
        if found.partition_keys
        else [found.storage.location]
    )
    for listing in list_locations(spark, locations):
        for name in listing.directories:
            directory = None if "/" in name else try_parse_directory(name)
            if isinstance(directory, BaseDir):
                if directory.write_id in new and not directory.visibility_txn:
                    return True
            elif directory is not None and directory.is_delete:
                low, high = directory.write_id_range
                if any(write_id in new for write_id in range(low, high + 1)):
                    return True
    return False


def _lock_of(table: TableWrites) -> WriteLock:
    return WriteLock(table.name, table.lock_type, table.operation, bool(table.target.keys))


class _Guard:
    """A transaction whose write ids are below those of bases, until they are committed."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    def __enter__(self) -> _Guard:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.transaction.end(commit=kind is None)


def _allocate(
    transaction: Transaction,
    client: WritingClient,
    tables: Sequence[TableWrites],
    guard: _Guard | None,
) -> None:
    """Get the write ids; of an overwritten table the guard's first."""
    for table in tables:
        if guard is not None and table.is_overwrite:
            client.allocate_table_write_ids(guard.transaction.id, table.name)
        table.write_id = client.allocate_table_write_ids(transaction.id, table.name)


def _renew_write_ids(
    transaction: Transaction,
    client: WritingClient,
    tables: Sequence[TableWrites],
    guard: _Guard | None,
) -> None:
    """Get higher write ids if others have committed higher ones during the wait.

    A base would lie below their rows, and a delta below their base. Delete events carry their write
    id already, and no base can have come above them (`_check_unchanged`).
    """
    movable = [table for table in tables if table.deleted is None]
    if not movable:
        return
    now = client.get_valid_write_ids([table.name for table in movable], client.get_valid_txns())
    for table in movable:
        ids, own = now[table.name], table.write_id
        assert own is not None
        above = range(own + 1, ids.high_watermark + 1)
        if any(ids.is_valid(write_id) for write_id in above):
            if guard is not None and table.is_overwrite:
                client.reallocate_write_id(guard.transaction.id, table.name)
            table.write_id = client.reallocate_write_id(transaction.id, table.name)


def _move(
    spark: SparkSession,
    transaction: Transaction,
    client: WritingClient,
    tables: Sequence[TableWrites],
    moved: _Moved,
    guard: _Guard | None,
) -> None:
    """Add partitions, and rename what was staged: bases last."""
    for table in tables:
        _empty_others(spark, table)
        _register(transaction, client, table)
    for is_base in (False, True):
        if is_base and guard is not None:
            guard.transaction.check_alive()
        for table in tables:
            assert table.write_id is not None
            for it in table.staged:
                if (it.kind is Kind.BASE) is is_base:
                    location = table.target.location_of(it.partition)
                    moved.rename(it.path, f"{location}/{it.name(table.write_id)}")


def _empty_others(spark: SparkSession, table: TableWrites) -> None:
    """Stage a base without rows for each partition that the overwrite has no rows for."""
    if not table.empties or not table.target.keys:
        return
    files, written = Files(spark), {it.partition for it in table.staged}
    for partition in sorted(table.target.partitions.keys() - written):
        path = table.directory(f"emptied/{partition}")
        files.make_directory(path)
        files.write(f"{path}/{METADATA_FILE}", _TRUNCATED)
        table.staged.append(StagedDirectory(path, partition, Kind.BASE))


def _register(transaction: Transaction, client: WritingClient, table: TableWrites) -> None:
    names = sorted({it.partition for it in table.staged if it.partition})
    if not names:
        return
    assert table.write_id is not None
    new = [
        NewPartition(partition_values(name), table.target.location_of(name))
        for name in names
        if name not in table.target.partitions
    ]
    if new:
        client.add_partitions(table.name, new, table.write_id)
    client.add_dynamic_partitions(
        transaction.id, table.write_id, table.name, names, table.operation
    )


class _Moved:
    """Directories that were moved into tables, so that they can be removed again."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._paths: list[str] = []

    def rename(self, old: str, new: str) -> None:
        """Move a staged directory into its table."""
        parent = new.rpartition("/")[0]
        if not self._files.exists(parent):
            self._files.make_directory(parent)
        self._files.check_absent(new)
        # Noted before: a rename that fails may have happened.
        self._paths.append(new)
        self._files.rename(old, new)

    def back(self) -> None:
        """Remove what was moved, bases first: Hive may show a base of an aborted transaction."""
        for path in reversed(self._paths):
            with suppress(HiveAcidError):
                self._files.delete(path)
