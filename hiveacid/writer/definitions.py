"""DDL at the end of a transaction: added columns, and tables that take the place of others.

Hive's DDL is no part of a transaction. Each change is made alone under an EXCLUSIVE lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from hiveacid.acid.write_ids import ValidWriteIdList, new_write_ids
from hiveacid.errors import (
    HiveAcidError,
    UnwritableTableError,
    WriteAbortedError,
)
from hiveacid.metastore.alterations import add_columns, rename_to
from hiveacid.metastore.models import Column, LockType, Table, TableName
from hiveacid.metastore.writing_client import Operation, WriteLock, WritingClient
from hiveacid.snapshots.locks import LockWait, acquire_to_write
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.creation import refuse_ddl_of_hive_3
from hiveacid.writer.target import Target, look_up

logger = logging.getLogger("hiveacid")


@dataclass(frozen=True)
class AddedColumns:
    """Columns to add to a table."""

    table: TableName
    columns: Sequence[Column]

    def check(self, target: Target) -> None:
        """Refuse columns that the table cannot have, or could not be written with.

        Raises:
            UnwritableTableError: it cannot.
        """
        table = target.table
        own = [it.name.lower() for it in (*table.storage.columns, *table.partition_keys)]
        new = [it.name.lower() for it in self.columns]
        if len({*own, *new}) < len(own) + len(new):
            raise UnwritableTableError(
                f"Columns {', '.join(new)} cannot be added to {self.table}: it has "
                f"{', '.join(own)}, and each name once. Nothing was changed.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        others = [
            name
            for name, it in target.partitions.items()
            if it.storage.columns != table.storage.columns
        ]
        if others:
            raise UnwritableTableError(
                f"Columns cannot be added to {self.table}: its partition {others[0]} has other "
                "columns than the table, which it would lose. Add them in Hive.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        storage = replace(table.storage, columns=(*table.storage.columns, *self.columns))
        Target.of(replace(table, storage=storage), (), target.server)


@dataclass(frozen=True)
class Replacement:
    """A new table, made under the name `made`, that takes the place of `old`.

    `since` are the write ids of the old table that its rows were read with; None without a read.
    """

    old: Table
    made: TableName
    since: ValidWriteIdList | None = None

    @property
    def aside(self) -> TableName:
        """Name of the old table until it is dropped."""
        return TableName(self.made.database, f"{self.made.table}_old")


def append_columns(
    added: AddedColumns, limit: LockWait, open_transaction: Callable[[], Transaction]
) -> None:
    """Add columns to a table and its partitions. Rows that are there have NULL in them.

    Raises:
        LockTimeoutError: the table could not be locked.
        MetastoreError: the metastore refused the change.
        UnwritableTableError: the table has changed, and cannot have the columns any more.
    """
    with _locked(added.table, limit, open_transaction) as transaction:
        client = _client_of(transaction)
        target = look_up(client, added.table, transaction.server)
        added.check(target)
        client.alter_table(added.table, add_columns(added.columns), cascade=bool(target.keys))


def put_in_place(
    replacement: Replacement,
    since: ValidWriteIdList | None,
    limit: LockWait,
    open_transaction: Callable[[], Transaction],
) -> None:
    """Rename the old table and the new one, and drop the old one.

    Between the two renames there is no table of the name.

    Args:
        replacement: the tables.
        since: write ids that the old table must still have; None for any.
        limit: how long to wait for the lock.
        open_transaction: opens a transaction that may write.

    Raises:
        LockTimeoutError: the old table could not be locked.
        WriteAbortedError: the old table has changed, or whether it was replaced is not known.
        MetastoreError: the metastore refused a rename. The old table is there.
    """
    old, made = replacement.old.name, replacement.made
    try:
        with _locked(old, limit, open_transaction) as transaction:
            client = _client_of(transaction)
            _check_unchanged(client, replacement, since)
            new = _identity(client, made)
            try:
                client.alter_table(old, rename_to(replacement.aside))
                client.alter_table(made, rename_to(old))
            except BaseException as error:
                if not _is_replaced(client, replacement, new, error):
                    raise
    except UnfinishedReplacementError:
        raise
    except BaseException:
        drop_leftover(open_transaction, made)
        raise
    drop_leftover(open_transaction, replacement.aside)


class UnfinishedReplacementError(WriteAbortedError):
    """Whether a table was replaced is not known. Both tables are there."""


def _check_unchanged(
    client: WritingClient, replacement: Replacement, since: ValidWriteIdList | None
) -> None:
    name = replacement.old.name
    is_same = _identity(client, name) == replacement.old.identity
    lists = [it for it in (since, replacement.since) if it is not None]
    if is_same and lists:
        now = client.get_valid_write_ids([name], client.get_valid_txns())[name]
        is_same = not any(new_write_ids(it, now) for it in lists)
    if not is_same:
        raise WriteAbortedError(
            f"{name} was changed while its rows were computed. It was not replaced. Look at the "
            "table, and write it again.",
            code="HIVEACID_WRITE_CONFLICT",
        )


def _is_replaced(
    client: WritingClient,
    replacement: Replacement,
    new: tuple[int | None, int] | None,
    error: BaseException,
) -> bool:
    """Find out what a rename without an answer has done; give the old table its name back.

    Raises:
        UnfinishedReplacementError: the metastore does not say.
    """
    old, aside = replacement.old, replacement.aside
    try:
        found = _identity(client, old.name)
        if found is None and _identity(client, aside) == old.identity:
            client.alter_table(aside, rename_to(old.name))
            found = _identity(client, old.name)
    except HiveAcidError:
        found = None
    if found is None:
        raise UnfinishedReplacementError(
            f"Whether {old.name} was replaced is not known. Its old rows are in it or in {aside}, "
            f"its new rows in it or in {replacement.made}. Rename the table that you want "
            f"(ALTER TABLE … RENAME TO) once the metastore answers. {error}",
            code="HIVEACID_COMMIT_UNKNOWN",
        ) from error
    return found == new


@contextmanager
def _locked(
    name: TableName, limit: LockWait, open_transaction: Callable[[], Transaction]
) -> Iterator[Transaction]:
    transaction = open_transaction()
    try:
        client = _client_of(transaction)
        refuse_ddl_of_hive_3(transaction.server, name)
        lock = WriteLock(name, LockType.EXCLUSIVE, Operation.NO_TXN, is_partitioned=False)
        acquire_to_write(transaction, client, [lock], limit)
        yield transaction
    finally:
        transaction.end(commit=False)


def _identity(client: WritingClient, name: TableName) -> tuple[int | None, int] | None:
    table = client.find_table(name)
    return None if table is None else table.identity


def _client_of(transaction: Transaction) -> WritingClient:
    client = transaction.client
    assert isinstance(client, WritingClient)
    return client


def drop_leftover(open_transaction: Callable[[], Transaction], name: TableName) -> None:
    """Drop a table of ours; one that cannot be dropped is named in a warning."""
    try:
        transaction = open_transaction()
        try:
            _client_of(transaction).drop_table(name)
        finally:
            transaction.end(commit=False)
    except HiveAcidError as error:
        logger.warning(
            f"[HIVEACID_WARN_TABLE_LEFT] {name} is a leftover of a table that was replaced, and "
            f"could not be dropped. Drop it in Hive. {error.message}"
        )
