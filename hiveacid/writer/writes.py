"""Writes of one transaction: staged one by one, published and committed together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.errors import HiveAcidError, InvalidSettingError, UnwritableTableError
from hiveacid.metastore.alterations import is_described_as
from hiveacid.metastore.models import Column as HiveColumn
from hiveacid.metastore.models import Table, TableName
from hiveacid.metastore.writing_client import Operation, RowsToWrap, WritingClient
from hiveacid.reader.ansi_mode import casts_as_hive
from hiveacid.reader.deletes import ROW_ID
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import rows_with_ids
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.creation import already_exists, refuse_ddl_of_hive_3
from hiveacid.writer.definitions import AddedColumns, Replacement
from hiveacid.writer.files import Files
from hiveacid.writer.layout import STAGE_PREFIX, Kind
from hiveacid.writer.merge import (
    MergeClauses,
    check_matched_once,
    matched_rows,
    new_rows,
    own_names,
    rows_with_keys,
)
from hiveacid.writer.rows import fit, fit_source
from hiveacid.writer.stage import stage_raw, stage_to_wrap
from hiveacid.writer.table_writes import TableWrites
from hiveacid.writer.target import Target, look_up

logger = logging.getLogger("hiveacid")
REPLACING = "__hiveacid_"
"""What follows a table's name, before a transaction's id, in the name of its successor."""


class Reads(Protocol):
    """The transaction that reads what is written."""

    def transaction(self) -> Transaction:
        """Return it; open it if nothing has been read yet.

        Raises:
            SnapshotEndedError: it has ended.
        """

    def pin(self, name: TableName) -> PinnedTable:
        """Return a table as of the transaction's moment."""

    def pinned(self, name: TableName) -> PinnedTable | None:
        """Return a table that has been read; None for another one."""


class Writes:
    """Everything that one transaction writes. All threads may share it; its methods take turns."""

    def __init__(
        self,
        client: WritingClient,
        reads: Reads,
        footers: OrcFooters,
        open_owner: Callable[[], Transaction],
        wrap_rows: bool,
    ) -> None:
        """Begin with nothing staged; `open_owner` opens the transaction that owns the stages."""
        self._rows_to_wrap = RowsToWrap.ALL if wrap_rows else None
        self._client = client
        self._reads = reads
        self._footers = footers
        self._open_owner = open_owner
        self._owner: Transaction | None = None
        self._tables: dict[TableName, TableWrites] = {}
        self._new: dict[TableName, TableWrites] = {}
        self.replacements: list[Replacement] = []
        self.added_columns: list[AddedColumns] = []
        self.dependencies: dict[TableName, ValidWriteIdList] = {}
        self._spark: SparkSession | None = None
        self._lock = threading.RLock()
        self._failed: TableName | None = None

    @property
    def tables(self) -> list[TableWrites]:
        """The tables with staged writes, by name.

        Raises:
            UnwritableTableError: a write failed, so what is staged may be a half.
        """
        if self._failed is not None:
            raise UnwritableTableError(
                f"A write into {self._failed} failed in this transaction, so nothing was written. "
                "Let the error end the block, or write the other tables in a transaction of their "
                "own.",
                code="HIVEACID_WRITE_INCOMPLETE",
            )
        # A write that another thread has begun is finished first.
        with self._lock:
            for name, write_ids in self.dependencies.items():
                if name in self._tables:
                    self._tables[name].depends_on = write_ids
            return [self._tables[name] for name in sorted(self._tables)]

    @property
    def owner(self) -> Transaction:
        """The transaction that owns the stages, as long as they are in use.

        The one that reads ends before the writes are published.
        """
        if self._owner is None:
            self._owner = self._open_owner()
        return self._owner

    @property
    def new_tables(self) -> list[TableWrites]:
        """The tables to create, with rows or without."""
        return list(self._new.values())

    def create(self, table: Table, *, if_not_exists: bool) -> bool:
        """Plan a table; return False if there is such a table, and that is no error.

        Raises:
            UnwritableTableError: there is such a table, or its rows could not be written.
        """
        with self._lock:
            name = table.name
            transaction = self._reads.transaction()
            database = self._client.get_managed_location(name.database).rstrip("/")
            if name in self._new or self._client.find_table(name) is not None:
                if if_not_exists:
                    return False
                raise already_exists(name)
            refuse_ddl_of_hive_3(transaction.server, name)
            target = Target.of(table, (), transaction.server)
            stage = f"{database}/{STAGE_PREFIX}{self.owner.id}_{name.table}"
            self._new[name] = self._begin(target, Operation.INSERT, stage)
            return True

    def create_or_replace(self, planned: Table, frame: DataFrame) -> None:
        """Stage all rows of a table that is created, or that replaces the one of its name.

        A table of the same form is overwritten. Another one is made under a name of its own.

        Raises:
            UnwritableTableError: there is a view of the name, or a table that is not transactional.
        """
        name = planned.name
        with self._lock:
            transaction = self._reads.transaction()
            self._refuse_twice(name)
            if self._client.find_table(name) is None:
                self.create(planned, if_not_exists=False)
                self.append(name, frame)
                return
            refuse_ddl_of_hive_3(transaction.server, name)
            old = look_up(self._client, name, transaction.server)
            if Target.of(planned, (), transaction.server).fits(old):
                self.overwrite(name, frame, dynamic=False)
                if not is_described_as(old.table, planned):
                    self._tables[name].described = planned
                return
            made = TableName(name.database, f"{name.table}{REPLACING}{transaction.id}")
            self.create(replace(planned, name=made), if_not_exists=False)
            self.append(made, frame)
            read = self._reads.pinned(name)
            since = None if read is None else read.write_ids
            self.replacements.append(Replacement(old.table, made, since))

    def add_columns(self, name: TableName, columns: Sequence[HiveColumn]) -> None:
        """Plan to add columns to a table.

        Raises:
            UnwritableTableError: the table could not be written with them, or has such columns.
        """
        with self._lock:
            server = self._reads.transaction().server
            refuse_ddl_of_hive_3(server, name)
            self._refuse_twice(name)
            added = AddedColumns(name, columns)
            added.check(look_up(self._client, name, server))
            self.added_columns.append(added)

    def append(self, name: TableName, frame: DataFrame) -> None:
        """Stage rows to add."""
        with self._step(name):
            table = self._table(frame.sparkSession, name, Operation.INSERT)
            self._add(table, frame, Kind.DELTA)

    def overwrite(self, name: TableName, frame: DataFrame, *, dynamic: bool) -> None:
        """Stage rows that replace those of the table, or (`dynamic`) of the partitions they are in.

        Raises:
            InvalidSettingError: the table is not partitioned, but `dynamic` was asked for.
        """
        with self._step(name):
            table = self._table(frame.sparkSession, name, Operation.UPDATE, alone=True)
            if dynamic and not table.target.keys:
                raise InvalidSettingError(
                    f"{name} is not partitioned, so it has no partitions to overwrite. Leave out "
                    "`partitions`.",
                    code="HIVEACID_INVALID_ARGUMENT",
                )
            table.is_overwrite, table.empties = True, not dynamic
            table.read, table.tolerates_inserts = self._reads.pinned(name), False
            self._add(table, frame, Kind.BASE)

    def delete(self, spark: SparkSession, name: TableName, condition: str | Column) -> None:
        """Stage the row ids of the rows for which a condition is true."""
        with self._step(name):
            table = self._table(spark, name, Operation.DELETE, alone=True, full_acid=True)
            rows = self._rows(spark, table)
            if rows is not None:
                where = F.expr(condition) if isinstance(condition, str) else condition
                self._delete(table, rows.where(where))

    def merge(self, name: TableName, frame: DataFrame, clauses: MergeClauses) -> None:
        """Stage a MERGE: rows of `frame` update or remove rows of the table, or are added.

        Raises:
            UnwritableRowsError: two rows match the same row of the table.
        """
        with self._step(name):
            table = self._table(
                frame.sparkSession, name, Operation.UPDATE, alone=True, full_acid=True
            )
            columns, rows = table.target.columns, self._rows(frame.sparkSession, table)
            updates, inserts = clauses.matched == "update", clauses.not_matched == "insert"
            complete = inserts or (updates and clauses.update is None)
            # A second evaluation of the source may return other rows.
            source = fit_source(frame, columns, complete=complete).localCheckpoint()
            # Another one may insert the same key.
            table.tolerates_inserts = not inserts
            new = []
            if clauses.matched is not None and rows is not None:
                matched = matched_rows(columns, rows, source, clauses).localCheckpoint()
                check_matched_once(columns, rows, matched, clauses)
                self._delete(table, matched)
                new += [matched.drop(*ROW_ID)] if updates else []
            if inserts:
                new.append(new_rows(columns, rows, source, clauses))
            if new:
                self._add(table, reduce(DataFrame.unionByName, new), Kind.DELTA)

    def replace(self, name: TableName, frame: DataFrame, on: Sequence[str]) -> None:
        """Stage rows that take the place of all rows with the same values in the columns `on`."""
        with self._step(name):
            table = self._table(
                frame.sparkSession, name, Operation.UPDATE, alone=True, full_acid=True
            )
            columns, rows = table.target.columns, self._rows(frame.sparkSession, table)
            keys = own_names(columns, on, "on")
            source = fit(frame, columns).localCheckpoint()
            table.tolerates_inserts = False
            if rows is not None:
                self._delete(table, rows_with_keys(rows, source, keys))
            self._add(table, source, Kind.DELTA)

    def discard(self) -> None:
        """Remove what is staged. A directory that cannot be removed is named in a warning."""
        try:
            self.remove_stages()
        finally:
            if self._owner is not None:
                self._owner.end(commit=True)

    def remove_stages(self) -> None:
        """Remove the stages, but for those that the next write needs. May be called again."""
        for table in self._tables.values():
            if table.is_unresolved:
                continue
            assert self._spark is not None
            try:
                Files(self._spark).delete(table.stage)
            except HiveAcidError as error:
                logger.warning(
                    f"[HIVEACID_WARN_STAGE_LEFT] The stage {table.stage} could not be deleted. "
                    "It only takes space: Hive and Spark ignore it, and the next write removes it. "
                    f"{error.message}"
                )

    @contextmanager
    def _step(self, name: TableName) -> Iterator[None]:
        """Run one write alone; after a failure nothing is published."""
        with self._lock:
            try:
                yield
            except BaseException:
                self._failed = name
                raise

    def _add(self, table: TableWrites, frame: DataFrame, kind: Kind) -> None:
        target = table.target
        if target.is_of_hive_3 and target.table.is_full_acid:
            raise UnwritableTableError(
                f"Rows cannot be added to {table.name}: it is full ACID, and compactions of Hive "
                "3.1 fail on Spark's files. Rows can be deleted, and insert-only tables be "
                "written. Write it with Hive.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        statement = table.next_statement()
        root = table.directory(f"rows_{statement}")
        if table.wraps(kind):
            stage_to_wrap(table.target, frame, root)
            table.to_wrap.append((root, kind, statement))
            return
        staged = stage_raw(table.target, frame, root, kind, statement)
        for directory in staged:
            table.target.check_partition(directory.partition)
        table.staged += staged

    def _rows(self, spark: SparkSession, table: TableWrites) -> DataFrame | None:
        table.read = self._reads.pin(table.name)
        with casts_as_hive(spark):
            return rows_with_ids(spark, table.read, self._footers)

    def _delete(self, table: TableWrites, rows: DataFrame) -> None:
        assert table.read is not None
        table.deleted = (table.directory("deleted"), table.read.location_names)
        rows.select(*ROW_ID).write.parquet(table.deleted[0])

    def _table(
        self,
        spark: SparkSession,
        name: TableName,
        operation: Operation,
        alone: bool = False,
        full_acid: bool = False,
    ) -> TableWrites:
        transaction = self._reads.transaction()
        if name in self._redefined():
            raise _written_twice(name)
        new = self._new.get(name)
        if new is not None and name not in self._tables and not full_acid:
            self._spark, new.operation = spark, operation
            self._tables[name] = new
            return new
        known = self._tables.get(name)
        if known is not None:
            if alone or known.operation is not Operation.INSERT:
                raise _written_twice(name)
            return known
        target = look_up(self._client, name, transaction.server)
        if full_acid and not target.table.is_full_acid:
            raise UnwritableTableError(
                f"{name} is insert-only: its rows have no row ids, so none can be deleted or "
                "updated. Overwrite the table, or its partitions.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        self._spark = spark
        stage = f"{target.location}/{STAGE_PREFIX}{self.owner.id}"
        Files(spark).make_directory(stage)
        self._tables[name] = self._begin(target, operation, stage)
        return self._tables[name]

    def _refuse_twice(self, name: TableName) -> None:
        """Refuse to change the definition of a table that the transaction writes, or changes twice.

        Raises:
            UnwritableTableError: it does.
        """
        if name in self._redefined() | self._tables.keys() | self._new.keys():
            raise _written_twice(name)

    def _redefined(self) -> set[TableName]:
        """Return the tables that get columns, or are replaced by others."""
        replaced = {it.old.name for it in self.replacements}
        return replaced | {it.table for it in self.added_columns}

    def _begin(self, target: Target, operation: Operation, stage: str) -> TableWrites:
        """Return the writes of a table, in the form that its compactions need.

        Raises:
            UnwritableTableError: Hive would not read that form, or it is not written.
        """
        if self._rows_to_wrap is None:
            self._rows_to_wrap = self._client.rows_to_wrap()
        return TableWrites(target, operation, stage, rows_to_wrap=self._rows_to_wrap)


def _written_twice(name: TableName) -> UnwritableTableError:
    return UnwritableTableError(
        f"{name} is written twice in one transaction, and only rows that are added may come in "
        "several steps: a later step would not see the rows of the first. Make one step of them, "
        "or two transactions.",
        code="HIVEACID_WRITTEN_TWICE",
    )
