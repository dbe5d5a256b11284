"""DDL at the end of a transaction: added columns, and tables that take the place of others.

Hive's DDL is no part of a transaction. Each change is made alone under an EXCLUSIVE lock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from hiveacid.errors import HiveAcidError, TableNotFoundError, WriteAbortedError
from hiveacid.metastore.alterations import add_columns, rename_to
from hiveacid.metastore.models import Column, LockType, Table, TableName
from hiveacid.metastore.writing_client import Operation, WriteLock, WritingClient
from hiveacid.snapshots.locks import LockWait, acquire_to_write
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.creation import refuse_ddl_of_hive_3

logger = logging.getLogger("hiveacid")


@dataclass(frozen=True)
class AddedColumns:
    """Columns to add to a table."""

    table: TableName
    columns: Sequence[Column]


@dataclass(frozen=True)
class Replacement:
    """A new table, made under the name `made`, that takes the place of `old`."""

    old: Table
    made: TableName

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
    """
    with _locked(added.table, limit, open_transaction) as client:
        is_partitioned = bool(client.get_table(added.table).partition_keys)
        client.alter_table(added.table, add_columns(added.columns), cascade=is_partitioned)


def put_in_place(
    replacement: Replacement, limit: LockWait, open_transaction: Callable[[], Transaction]
) -> None:
    """Rename the old table and the new one, and drop the old one.

    Between the two renames there is no table of the name.

    Raises:
        LockTimeoutError: the old table could not be locked.
        WriteAbortedError: the old table is another one by now.
        MetastoreError: the metastore refused a rename. The old table is there.
    """
    old, made, aside = replacement.old, replacement.made, replacement.aside
    try:
        with _locked(old.name, limit, open_transaction) as client:
            if _identity(client, old.name) != (old.id, old.create_time):
                raise WriteAbortedError(
                    f"{old.name} was dropped or created again while its rows were computed. "
                    "Nothing was replaced. Look at the table, and write it again.",
                    code="HIVEACID_WRITE_CONFLICT",
                )
            client.alter_table(old.name, rename_to(aside))
            try:
                client.alter_table(made, rename_to(old.name))
            except BaseException:
                client.alter_table(aside, rename_to(old.name))
                raise
    except BaseException:
        _drop(open_transaction, made)
        raise
    _drop(open_transaction, aside)


@contextmanager
def _locked(
    name: TableName, limit: LockWait, open_transaction: Callable[[], Transaction]
) -> Iterator[WritingClient]:
    transaction = open_transaction()
    try:
        client = transaction.client
        assert isinstance(client, WritingClient)
        refuse_ddl_of_hive_3(transaction.server, name)
        lock = WriteLock(name, LockType.EXCLUSIVE, Operation.NO_TXN, is_partitioned=False)
        acquire_to_write(transaction, client, [lock], limit)
        yield client
    finally:
        transaction.end(commit=False)


def _identity(client: WritingClient, name: TableName) -> tuple[int | None, int] | None:
    try:
        table = client.get_table(name)
    except TableNotFoundError:
        return None
    return table.id, table.create_time


def _drop(open_transaction: Callable[[], Transaction], name: TableName) -> None:
    """Drop a table of ours; one that cannot be dropped is named in a warning."""
    transaction = open_transaction()
    try:
        client = transaction.client
        assert isinstance(client, WritingClient)
        client.drop_table(name)
    except HiveAcidError as error:
        logger.warning(
            f"[HIVEACID_WARN_TABLE_LEFT] {name} is a leftover of a table that was replaced, and "
            f"could not be dropped. Drop it in Hive. {error.message}"
        )
    finally:
        transaction.end(commit=False)
