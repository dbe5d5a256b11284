"""Writes of one transaction: staged one by one, published and committed together."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
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
from hiveacid.metastore.writing_client import Operation, WritingClient
from hiveacid.reader.ansi_mode import casts_as_hive
from hiveacid.reader.deletes import ROW_ID
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import rows_with_ids
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer.files import Files
from hiveacid.writer.layout import STAGE_PREFIX, Kind, StagedDirectory
from hiveacid.writer.rows import fit
from hiveacid.writer.stage import stage_raw
from hiveacid.writer.target import Target

logger = logging.getLogger("hiveacid")
_COUNT = "__hiveacid_count"
_LOCK_OF = {
    Operation.INSERT: LockType.SHARED_WRITE,
    Operation.DELETE: LockType.EXCL_WRITE,
    Operation.UPDATE: LockType.EXCL_WRITE,
}


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
        is_unresolved: whether directories may be left in the table. The stage says which, so it is
            kept for the next write (`writer.recovery`).
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
    statements: int = 0
    is_unresolved: bool = False

    @property
    def name(self) -> TableName:
        """Name of the table."""
        return self.target.table.name

    @property
    def lock_type(self) -> LockType:
        """Lock that Hive itself takes for such a write."""
        return LockType.EXCLUSIVE if self.is_overwrite else _LOCK_OF[self.operation]

    def next_statement(self) -> int:
        """Return the number of a new statement of the transaction in the table."""
        self.statements += 1
        return self.statements - 1

    def directory(self, name: str) -> str:
        """Return a directory of the stage."""
        return f"{self.stage}/{name}"


class Writes:
    """Everything that one transaction writes. All threads may share it; its methods take turns."""

    def __init__(
        self,
        client: WritingClient,
        reads: Reads,
        footers: OrcFooters,
        open_owner: Callable[[], Transaction],
    ) -> None:
        """Begin with nothing staged; `open_owner` opens the transaction that owns the stages."""
        self._client = client
        self._reads = reads
        self._footers = footers
        self._open_owner = open_owner
        self._owner: Transaction | None = None
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

    @property
    def owner(self) -> Transaction:
        """The transaction that owns the stages, as long as they are in use.

        The one that reads ends before the writes are published.
        """
        if self._owner is None:
            self._owner = self._open_owner()
        return self._owner

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
            if when_matched is not None and rows is not None:
                matched = rows.join(_keys(source, on), on, "left_semi")
                _check_unique(table.name, source, matched, on)
                self._delete(table, matched)
            updates, inserts = when_matched == "update", when_not_matched == "insert"
            new = _new_rows(source, rows, on, updates, inserts)
            if new is not None:
                self._add(table, new, Kind.DELTA)

    def discard(self) -> None:
        """Remove what is staged. A directory that cannot be removed is named in a warning."""
        try:
            self._remove_stages()
        finally:
            if self._owner is not None:
                self._owner.end(commit=True)

    def _remove_stages(self) -> None:
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
        statement = table.next_statement()
        root = table.directory(f"rows_{statement}")
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
        stage = f"{target.location}/{STAGE_PREFIX}{self.owner.id}"
        Files(spark).make_directory(stage)
        self._tables[name] = TableWrites(target, operation, stage)
        return self._tables[name]


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


def _keys(rows: DataFrame, on: list[str]) -> DataFrame:
    return rows.select(*(F.col(quoted(name)) for name in on))


def _check_unique(name: TableName, source: DataFrame, matched: DataFrame, on: list[str]) -> None:
    """Refuse two rows of the source that match the same row, as Hive's MERGE does."""
    keys = [F.col(quoted(key)) for key in on]
    counted = source.groupBy(*keys).agg(F.count(F.lit(1)).alias(_COUNT))
    repeated = _keys(counted.where(f"{_COUNT} > 1"), on)
    found = repeated.join(_keys(matched, on), on, "left_semi").limit(1).collect()
    if found:
        shown = ", ".join(f"{key} = {value!r}" for key, value in found[0].asDict().items())
        raise UnwritableRowsError(
            f"Two rows match the same row of {name} ({shown}), so what it becomes is not "
            "determined. Keep one row for each key.",
            code="HIVEACID_MERGE_NOT_UNIQUE",
        )


def _new_rows(
    source: DataFrame, rows: DataFrame | None, on: list[str], updates: bool, inserts: bool
) -> DataFrame | None:
    """Return the rows of the source that the table gets: matched ones, new ones, or both."""
    if updates and inserts:
        return source
    if not updates and not inserts:
        return None
    if rows is None:
        return source if inserts else None
    kept = source.join(_keys(rows, on), on, "left_semi" if updates else "left_anti")
    return kept.select(*(F.col(quoted(name)) for name in source.columns))
