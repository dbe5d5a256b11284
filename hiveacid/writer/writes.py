"""Writes of one transaction: staged one by one, published and committed together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.errors import (
    HiveAcidError,
    InvalidSettingError,
    UnwritableRowsError,
    UnwritableTableError,
)
from hiveacid.formatting import quoted
from hiveacid.metastore.models import LockType, ServerInfo, TableName
from hiveacid.metastore.writing_client import Operation, RowsToWrap, WritingClient
from hiveacid.reader.ansi_mode import casts_as_hive
from hiveacid.reader.deletes import ROW_ID
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import rows_with_ids
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.files import Files
from hiveacid.writer.layout import STAGE_PREFIX, Kind, StagedDirectory
from hiveacid.writer.rows import fit
from hiveacid.writer.stage import STRICT, stage_raw, stage_to_wrap
from hiveacid.writer.target import Target

logger = logging.getLogger("hiveacid")
_COUNT = "__hiveacid_count"
_LOCK_OF = {
    Operation.INSERT: LockType.SHARED_WRITE,
    Operation.DELETE: LockType.EXCL_WRITE,
    Operation.UPDATE: LockType.EXCL_WRITE,
}
_LOCK_OF_HIVE_3 = {
    Operation.INSERT: LockType.SHARED_READ,
    Operation.DELETE: LockType.SHARED_WRITE,
    Operation.UPDATE: LockType.SHARED_WRITE,
}
"""Hive 3 has no EXCL_WRITE: there SHARED_WRITE locks exclude each other."""


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


@dataclass
class TableWrites:
    """What a transaction has staged for one table.

    Attributes:
        stage: the directory that holds what is staged.
        deleted: the directory of the row ids to delete, and the names of the partitions by their
            numbers there; None if no row is deleted.
        empties: whether partitions without staged rows lose theirs.
        read: the table as the transaction has read it, if what is written depends on it.
        tolerates_inserts: whether rows that others add after the read change nothing.
        write_id: None until it is allocated.
        rows_to_wrap: which new rows get ACID columns.
        to_wrap: what is staged to get them: directory, kind and number of the statement.
        numbered: what is staged with the write id in the files, for the present write id.
    """

    target: Target
    operation: Operation
    stage: str
    staged: list[StagedDirectory] = field(default_factory=list)
    deleted: tuple[str, Sequence[str]] | None = None
    is_overwrite: bool = False
    empties: bool = False
    read: PinnedTable | None = None
    tolerates_inserts: bool = True
    write_id: int | None = None
    rows_to_wrap: RowsToWrap = RowsToWrap.NONE
    to_wrap: list[tuple[str, Kind, int]] = field(default_factory=list)
    numbered: list[StagedDirectory] = field(default_factory=list)
    statements: int = 0

    @property
    def name(self) -> TableName:
        """Name of the table."""
        return self.target.table.name

    @property
    def lock_type(self) -> LockType:
        """Lock that Hive itself takes for such a write."""
        if self.is_overwrite:
            return LockType.EXCLUSIVE
        return (_LOCK_OF_HIVE_3 if self.target.is_of_hive_3 else _LOCK_OF)[self.operation]

    def next_statement(self) -> int:
        """Return the number of a new statement of the transaction in the table."""
        self.statements += 1
        return self.statements - 1

    def directory(self, name: str) -> str:
        """Return a directory of the stage."""
        return f"{self.stage}/{name}"

    @property
    def directories(self) -> list[StagedDirectory]:
        """All directories to publish."""
        return [*self.staged, *self.numbered]

    def wraps(self, kind: Kind) -> bool:
        """Whether new rows get ACID columns."""
        if not self.target.table.is_full_acid:
            return False
        only_added = self.rows_to_wrap is RowsToWrap.ADDED
        return self.rows_to_wrap is RowsToWrap.ALL or (only_added and kind is Kind.DELTA)


class Writes:
    """Everything that one transaction writes. All threads may share it; its methods take turns."""

    def __init__(
        self, client: WritingClient, reads: Reads, footers: OrcFooters, wrap_rows: bool
    ) -> None:
        """Begin with nothing staged."""
        self._rows_to_wrap = RowsToWrap.ALL if wrap_rows else None
        self._client = client
        self._reads = reads
        self._footers = footers
        self._tables: dict[TableName, TableWrites] = {}
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
        return [self._tables[name] for name in sorted(self._tables)]

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

    def merge(
        self,
        name: TableName,
        frame: DataFrame,
        on: list[str],
        *,
        when_matched: str | None,
        when_not_matched: str | None,
    ) -> None:
        """Stage an upsert: rows of `frame` replace or remove, or are added, by the columns `on`.

        Raises:
            UnwritableRowsError: two rows match the same row of the table.
        """
        with self._step(name):
            spark = frame.sparkSession
            table = self._table(spark, name, Operation.UPDATE, alone=True, full_acid=True)
            on = _names_in(table.target, on)
            # A second evaluation of the source may return other rows.
            source = fit(frame, table.target.columns).localCheckpoint()
            rows = self._rows(spark, table)
            # Another one may insert the same key.
            table.tolerates_inserts = when_not_matched is None
            matched = None if rows is None else _keys(rows, on)
            if when_matched is not None and rows is not None:
                matched = self._delete(table, rows.join(_keys(source, on), on, "left_semi"), on)
                _check_unique(table.name, source, matched, on)
            updates, inserts = when_matched == "update", when_not_matched == "insert"
            new = _new_rows(source, matched, on, updates, inserts)
            if new is not None:
                self._add(table, new, Kind.DELTA)

    def discard(self) -> None:
        """Remove what is staged. A directory that cannot be removed is named in a warning."""
        for table in self._tables.values():
            assert self._spark is not None
            try:
                Files(self._spark).delete(table.stage)
            except HiveAcidError as error:
                logger.warning(
                    f"[HIVEACID_WARN_STAGE_LEFT] The stage {table.stage} could not be deleted. "
                    f"It only takes space: Hive and Spark ignore it. {error.message}"
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

    def _delete(self, table: TableWrites, rows: DataFrame, on: Sequence[str] = ()) -> DataFrame:
        """Stage the row ids of rows to delete, and return their columns `on`."""
        assert table.read is not None
        path = table.directory("deleted")
        table.deleted = (path, table.read.location_names)
        rows.select(*ROW_ID, *_columns(on)).write.parquet(path)
        return _keys(rows.sparkSession.read.options(**STRICT).parquet(path), on)

    def _table(
        self,
        spark: SparkSession,
        name: TableName,
        operation: Operation,
        alone: bool = False,
        full_acid: bool = False,
    ) -> TableWrites:
        transaction = self._reads.transaction()
        known = self._tables.get(name)
        if known is not None:
            if alone or known.operation is not Operation.INSERT:
                raise UnwritableTableError(
                    f"{name} is written twice in one transaction, and only rows that are added may "
                    "come in several steps: a later step would not see the rows of the first. Make "
                    "one step of them, or two transactions.",
                    code="HIVEACID_WRITTEN_TWICE",
                )
            return known
        target = look_up(self._client, name, transaction.server)
        if full_acid and not target.table.is_full_acid:
            raise UnwritableTableError(
                f"{name} is insert-only: its rows have no row ids, so none can be deleted or "
                "updated. Overwrite the table, or its partitions.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        self._spark = spark
        stage = f"{target.location}/{STAGE_PREFIX}{transaction.id}"
        if self._rows_to_wrap is None:
            self._rows_to_wrap = self._client.rows_to_wrap()
        table = TableWrites(target, operation, stage, rows_to_wrap=self._rows_to_wrap)
        self._tables[name] = table
        return table


def look_up(client: WritingClient, name: TableName, server: ServerInfo) -> Target:
    """Return a table as it is now.

    Raises:
        UnwritableTableError: Hive would not read what is written, or differently.
        TableNotFoundError: there is no such table.
    """
    found = client.get_table(name)
    partitions = client.get_partitions(name) if found.partition_keys else ()
    return Target.of(found, partitions, server)


def _names_in(target: Target, on: list[str]) -> list[str]:
    """Return the table's own names of columns that are given in any case."""
    own = {name.lower(): name for name in target.columns.names}
    unknown = [name for name in on if name.lower() not in own]
    if unknown or not on:
        raise InvalidSettingError(
            f"`on` must name columns of {target.table.name}, not {unknown or on!r}. It has "
            f"{', '.join(target.columns.names)}.",
            code="HIVEACID_INVALID_ARGUMENT",
        )
    return [own[name.lower()] for name in on]


def _columns(names: Sequence[str]) -> list[Column]:
    return [F.col(quoted(name)) for name in names]


def _keys(rows: DataFrame, on: Sequence[str]) -> DataFrame:
    return rows.select(*_columns(on))


def _check_unique(name: TableName, source: DataFrame, matched: DataFrame, on: list[str]) -> None:
    """Refuse two rows of the source that match the same row, as Hive's MERGE does."""
    counted = source.groupBy(*_columns(on)).agg(F.count(F.lit(1)).alias(_COUNT))
    repeated = _keys(counted.where(f"{_COUNT} > 1"), on)
    found = repeated.join(matched, on, "left_semi").limit(1).collect()
    if found:
        shown = ", ".join(f"{key} = {value!r}" for key, value in found[0].asDict().items())
        raise UnwritableRowsError(
            f"Two rows match the same row of {name} ({shown}), so what it becomes is not "
            "determined. Keep one row for each key.",
            code="HIVEACID_MERGE_NOT_UNIQUE",
        )


_JOINS = {(True, True): "left_outer", (True, False): "inner", (False, True): "left_anti"}
"""How rows that update, and rows that are added, are found among those that match."""


def _new_rows(
    source: DataFrame, matched: DataFrame | None, on: list[str], updates: bool, inserts: bool
) -> DataFrame | None:
    """Return the rows that the table gets: one for each that is updated, and new ones.

    `matched` has the keys of the table's rows, None if the table has none.
    """
    if not updates and not inserts:
        return None
    if matched is None:
        return source if inserts else None
    joined = source.join(matched, on, _JOINS[updates, inserts])
    return joined.select(*_columns(source.columns))
