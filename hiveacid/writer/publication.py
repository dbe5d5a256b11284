"""Publication: staged writes become visible together, by the commit of one transaction.

Hive shows a delta once its write id is committed. It shows a base also while its write id is the
lowest open one (`AcidUtils.isValidBase`). So a *guard* transaction holds a lower write id open
until the commit (docs/decisions/writing.md).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ACID_VERSION_FILE, METADATA_FILE
from hiveacid.errors import (
    HiveAcidError,
    LockTimeoutError,
    MetastoreError,
    MetastoreUnavailableError,
    TransactionLostError,
    WriteAbortedError,
)
from hiveacid.metastore.alterations import describe_as
from hiveacid.metastore.models import TableName
from hiveacid.metastore.writing_client import NewPartition, WriteLock, WritingClient
from hiveacid.snapshots.locks import READERS_TURN, LockWait, acquire_to_write
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.conflicts import check_tables, check_unchanged, is_overtaken
from hiveacid.writer.creation import Created
from hiveacid.writer.files import Files
from hiveacid.writer.layout import (
    STAGE_PREFIX,
    Kind,
    StagedDirectory,
    partition_values,
    stage_owner,
)
from hiveacid.writer.recovery import Record, recover
from hiveacid.writer.stage import STRICT, stage_deletes, stage_wrapped
from hiveacid.writer.table_writes import TableWrites, place_of

logger = logging.getLogger("hiveacid")
_TRUNCATED = b'{"thisFileVersion":"0","dataFormat":"truncated"}'
"""Content of the file by which Hive's TRUNCATE marks a base without rows (`AcidMetaDataFile`)."""

_BETWEEN_COMMITS = 5.0
"""Seconds between two requests to commit that get no answer."""


def create_and_publish(
    files: Files,
    created: Created,
    new_tables: Sequence[TableWrites],
    publish_all: Callable[[], None],
) -> None:
    """Create tables, and publish; drop the tables again if nothing was published.

    Hive's DDL is no part of a transaction: until the commit the tables are there without rows.
    """
    try:
        for table in new_tables:
            table.target = created.create(table.target)
            if table.statements:
                # Where the next write finds it after a crash.
                stage = f"{table.target.location}/{STAGE_PREFIX}{stage_owner(table.stage)}"
                files.rename(table.stage, stage)
                table.move_stage(stage)
        publish_all()
    except BaseException:
        created.drop()
        raise


def publish(
    spark: SparkSession,
    tables: Sequence[TableWrites],
    limit: LockWait,
    owner: Transaction,
    open_transaction: Callable[[], Transaction],
) -> None:
    """Move staged files into their tables, and commit.

    The transaction that has read must have ended: an EXCLUSIVE lock would wait for its locks.

    Args:
        spark: the session whose file systems hold the tables.
        tables: what was staged.
        limit: how long to wait for the locks.
        owner: the transaction that owns the stages.
        open_transaction: opens a transaction that may write, with a `WritingClient`.

    Raises:
        LockTimeoutError: a lock was not granted in time.
        PublicationError: a file could not be moved.
        WriteAbortedError: the transaction was aborted, or another one has changed what was read.
        HiveAcidError: nothing was committed.
    """
    end = time.monotonic() + limit.timeout
    while not _try_to_publish(spark, tables, limit, owner, open_transaction):
        if time.monotonic() >= end:
            raise LockTimeoutError(
                f"Other writers of {_named(tables)} held lower write ids, or got higher ones, for "
                f"all of the {limit.timeout:g} s (lock_timeout). Rows would be hidden. Nothing was "
                "written. Try again when they have ended.",
                code="HIVEACID_WRITE_LOCK_TIMEOUT",
            )
        time.sleep(READERS_TURN)


def _try_to_publish(
    spark: SparkSession,
    tables: Sequence[TableWrites],
    limit: LockWait,
    owner: Transaction,
    open_transaction: Callable[[], Transaction],
) -> bool:
    """Publish, unless an overwrite has to let other writers go first."""
    # Of two transactions the guard must be the older one: Hive's housekeeper forgets the write ids
    # of the oldest ones first, and the highest that it remembers counts as the newest.
    files, is_committed = Files(spark), False
    guard = open_transaction() if any(table.is_overwrite for table in tables) else None
    attempt = _Attempt(owner, guard, files, tables)
    try:
        transaction = open_transaction()
        try:
            if not _put_in_place(spark, transaction, tables, limit, attempt):
                return False
        except TransactionLostError as error:
            attempt.move_back()
            raise _aborted(transaction, tables, error) from error
        except BaseException:
            attempt.move_back()
            raise
        else:
            _commit(transaction, tables, attempt)
            is_committed = True
            return True
        finally:
            transaction.end(commit=False)
    finally:
        if guard is not None:
            # The write ids of a guard that commits are new ones for whoever asks what has changed.
            guard.end(commit=is_committed)


@dataclass
class _Attempt:
    """One attempt: the guard, its write ids, and what was moved into tables."""

    owner: Transaction
    guard: Transaction | None
    files: Files
    tables: Sequence[TableWrites]
    guard_ids: dict[TableName, int] = field(default_factory=dict)
    moved: list[str] = field(default_factory=list)

    def move(self, transaction: Transaction, old: str, new: str) -> None:
        """Move a staged directory into its table, unless a transaction is lost."""
        for each in (transaction, self.guard):
            if each is not None:
                each.raise_if_gone()
        # Noted before: a rename that fails may have happened.
        self.moved.append(new)
        self.files.rename(old, new)

    def move_back(self) -> None:
        """Remove what was moved, bases first: Hive may show a base of an aborted transaction."""
        is_settled = True
        while self.moved:
            path = self.moved.pop()
            try:
                self.files.delete(path)
            except HiveAcidError as error:
                is_settled = False
                logger.warning(
                    f"[HIVEACID_WARN_FILES_LEFT] {path} is of an aborted transaction and could "
                    "not be deleted. The next write into the table tries again. If it is a base, "
                    f"Hive may show its rows until then. {error.message}"
                )
        if is_settled:
            self.settle()

    def settle(self) -> None:
        """Let the stages go: nothing in the tables depends on their records any more."""
        for table in self.tables:
            table.is_unresolved = False


def _put_in_place(
    spark: SparkSession,
    transaction: Transaction,
    tables: Sequence[TableWrites],
    limit: LockWait,
    attempt: _Attempt,
) -> bool:
    client = transaction.client
    assert isinstance(client, WritingClient)
    # Before there is a higher write id of ours: one that is open may make an aborted base visible.
    recover(spark, client, tables)
    for table in tables:
        _allocate(transaction, client, table, attempt)
        _stage_with_write_id(spark, table)
    # The connection may have been cut while Spark worked. This call may be repeated.
    transaction.check_alive()
    acquire_to_write(transaction, client, [_lock_of(table) for table in tables], limit)
    # A process that held the locks may have died meanwhile.
    recover(spark, client, tables)
    check_tables(client, tables, transaction.server)
    names = [table.name for table in tables]
    now = client.get_valid_write_ids(names, client.get_valid_txns())
    check_unchanged(spark, tables, now)
    highest = {table.name: now[table.name].high_watermark for table in tables}
    if not all(
        _renew_write_ids(transaction, client, it, highest[it.name], attempt) for it in tables
    ):
        return False
    overwritten = [table for table in tables if table.is_overwrite]
    if overwritten:
        now = client.get_valid_write_ids(
            [table.name for table in overwritten], client.get_valid_txns()
        )
        if any(is_overtaken(it, now[it.name], attempt.guard_ids[it.name]) for it in overwritten):
            return False
    for table in tables:
        _empty_others(spark, table)
        _register(transaction, client, table)
        assert table.write_id is not None
        client.invalidate_statistics(table.name, table.write_id, _partitions(table))
        if table.described is not None:
            client.alter_table(table.name, describe_as(table.described))
    _move(transaction, attempt)
    return True


def _lock_of(table: TableWrites) -> WriteLock:
    return WriteLock(table.name, table.lock_type, table.operation, bool(table.target.keys))


def _allocate(
    transaction: Transaction, client: WritingClient, table: TableWrites, attempt: _Attempt
) -> None:
    """Get the write id; of an overwritten table the guard's first."""
    if attempt.guard is not None and table.is_overwrite:
        guard_id = client.allocate_table_write_ids(attempt.guard.id, table.name)
        attempt.guard_ids[table.name] = guard_id
    table.write_id = client.allocate_table_write_ids(transaction.id, table.name)


def _renew_write_ids(
    transaction: Transaction,
    client: WritingClient,
    table: TableWrites,
    highest: int,
    attempt: _Attempt,
) -> bool:
    """Get a higher write id if others have got higher ones during the wait.

    A base would lie below their rows, and a delta below their base. Delete events carry their write
    id already, and no base can have come above them (`check_unchanged`).

    Returns:
        Whether the write id is high enough. Hive 3 gives a transaction no other one, and staged
        rows may have the present one.
    """
    assert table.write_id is not None
    if table.deleted is not None or highest <= table.write_id:
        return True
    if table.to_wrap or table.target.is_of_hive_3:
        return False
    if attempt.guard is not None and table.is_overwrite:
        guard_id = client.reallocate_write_id(attempt.guard.id, table.name)
        attempt.guard_ids[table.name] = guard_id
    table.write_id = client.reallocate_write_id(transaction.id, table.name)
    return True


def _stage_with_write_id(spark: SparkSession, table: TableWrites) -> None:
    """Stage files with the write id in their rows. Those of an earlier attempt have another one."""
    assert table.write_id is not None
    write_id = table.write_id
    table.numbered = []
    for source, kind, statement in table.to_wrap:
        root = table.directory(f"wrapped_{statement}_{write_id}")
        table.numbered += stage_wrapped(
            spark, table.target, source, root, kind, statement, write_id
        )
    if table.deleted is not None:
        path, partitions = table.deleted
        statement = table.next_statement()
        root = table.directory(f"events_{statement}")
        rows = spark.read.options(**STRICT).parquet(path)
        table.numbered += stage_deletes(table.target, rows, partitions, root, write_id, statement)
    for it in table.numbered:
        table.target.check_partition(it.partition)


def _move(transaction: Transaction, attempt: _Attempt) -> None:
    """Rename what was staged, bases last: nothing but their renames comes before the commit."""
    # Nobody has taken the stages away, and from the record on nobody does.
    attempt.owner.check_alive()
    deltas: list[tuple[str, str]] = []
    bases: list[tuple[str, str]] = []
    for table in attempt.tables:
        assert table.write_id is not None
        own = [(it, place_of(table, it)) for it in table.directories]
        for it, place in own:
            if it.partition:
                attempt.files.make_directory(place.rpartition("/")[0])
            attempt.files.check_absent(place)
            (bases if it.kind is Kind.BASE else deltas).append((it.path, place))
        Record.of(table, transaction.id, [place for _, place in own]).write(
            attempt.files, table.stage
        )
        table.is_unresolved = True
        logger.info(
            f"Transaction {transaction.id} writes {table.name} with write id {table.write_id}."
        )
    for staged, place in deltas:
        attempt.move(transaction, staged, place)
    # The guard last: it should not time out before the writer.
    for each in (transaction, attempt.guard):
        if each is not None:
            each.check_alive()
    for staged, place in bases:
        attempt.move(transaction, staged, place)


def _empty_others(spark: SparkSession, table: TableWrites) -> None:
    """Stage a base without rows for each partition that the overwrite has no rows for."""
    if not table.empties:
        return
    files, written = Files(spark), {it.partition for it in table.directories}
    existing = set(table.target.partitions) if table.target.keys else {""}
    for partition in sorted(existing - written):
        path = table.directory(f"emptied/{partition}".rstrip("/"))
        files.make_directory(path)
        if table.target.is_of_hive_3:
            # It looks for no file in a base, and would take this one for a compaction's.
            files.write(f"{path}/{ACID_VERSION_FILE}", b"2")
        else:
            files.write(f"{path}/{METADATA_FILE}", _TRUNCATED)
        table.staged.append(StagedDirectory(path, partition, Kind.BASE))


def _register(transaction: Transaction, client: WritingClient, table: TableWrites) -> None:
    names = _partitions(table)
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


def _partitions(table: TableWrites) -> list[str]:
    return sorted({it.partition for it in table.directories if it.partition})


def _commit(transaction: Transaction, tables: Sequence[TableWrites], attempt: _Attempt) -> None:
    """Commit; repeat a request without an answer for as long as the metastore waits for us.

    Files are removed only if nothing can have been committed.
    """
    end = time.monotonic() + transaction.server.transaction_timeout
    may_be_committed = False
    while True:
        try:
            transaction.commit()
            attempt.settle()
            return
        except MetastoreUnavailableError as error:
            may_be_committed = True
            if time.monotonic() >= end:
                raise _unknown(transaction, tables, attempt, error) from error
            _pause(transaction, attempt)
        except TransactionLostError as error:
            if may_be_committed:
                raise _unknown(transaction, tables, attempt, error) from error
            attempt.move_back()
            raise _aborted(transaction, tables, error) from error
        except MetastoreError as error:
            try:
                transaction.client.abort_txn(transaction.id)
            except HiveAcidError:
                raise _unknown(transaction, tables, attempt, error) from error
            attempt.move_back()
            raise _aborted(transaction, tables, error) from error
        except BaseException:
            _abandon(transaction, attempt)
            raise


def _pause(transaction: Transaction, attempt: _Attempt) -> None:
    """Wait between two requests to commit. After an interrupt the next write decides."""
    try:
        time.sleep(_BETWEEN_COMMITS)
    except BaseException:
        _abandon(transaction, attempt)
        raise


def _abandon(transaction: Transaction, attempt: _Attempt) -> None:
    """Leave both transactions open: a base of a transaction that is open still needs its guard."""
    transaction.abandon()
    if attempt.guard is not None:
        attempt.guard.abandon()


def _unknown(
    transaction: Transaction,
    tables: Sequence[TableWrites],
    attempt: _Attempt,
    error: HiveAcidError,
) -> WriteAbortedError:
    _abandon(transaction, attempt)
    return WriteAbortedError(
        f"Whether transaction {transaction.id}, which writes {_named(tables)}, was committed is "
        f"not known: {error.message} Its files are in place. See SHOW TRANSACTIONS: if the "
        "transaction is neither open nor aborted, it was committed. If it was aborted, the next "
        "write removes them.",
        code="HIVEACID_COMMIT_UNKNOWN",
    )


def _aborted(
    transaction: Transaction, tables: Sequence[TableWrites], error: HiveAcidError
) -> WriteAbortedError:
    return WriteAbortedError(
        f"Transaction {transaction.id}, which was to write {_named(tables)}, was aborted: "
        f"{error.message} Nothing of it is visible. Read again, and write again."
    )


def _named(tables: Sequence[TableWrites]) -> str:
    return ", ".join(str(table.name) for table in tables)
