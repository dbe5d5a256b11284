"""Writes of one transaction: staged one by one, published and committed together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.errors import InvalidSettingError, UnwritableRowsError, UnwritableTableError
from hiveacid.formatting import quoted
from hiveacid.metastore.models import LockType, TableName, partition_name
from hiveacid.metastore.writing_client import Operation, WritingClient
from hiveacid.reader.ansi_mode import casts_as_hive
from hiveacid.reader.deletes import ROW_ID
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import rows_with_ids
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.writer.files import Files
from hiveacid.writer.layout import STAGE_PREFIX, Kind, StagedDirectory
from hiveacid.writer.rows import fit
from hiveacid.writer.stage import stage_raw
from hiveacid.writer.target import Target

_LOCK_OF = {
    Operation.INSERT: LockType.SHARED_WRITE,
    Operation.DELETE: LockType.EXCL_WRITE,
    Operation.UPDATE: LockType.EXCL_WRITE,
}


class Reads(Protocol):
    """The transaction that reads what is written."""

    def transaction_id(self) -> int:
        """Return its id."""

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
        write_id: None until it is allocated.
    """

    target: Target
    operation: Operation
    stage: str
    staged: list[StagedDirectory] = field(default_factory=list)
    deleted: tuple[str, Sequence[str]] | None = None
    is_overwrite: bool = False
    empties: bool = False
    read: PinnedTable | None = None
    write_id: int | None = None
    statements: int = 0

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
    """Everything that one transaction writes. Not thread-safe."""

    def __init__(
        self,
        client: WritingClient,
        reads: Reads,
        footers: OrcFooters,
    ) -> None:
        """Begin with nothing staged."""
        self._client = client
        self._reads = reads
        self._footers = footers
        self._tables: dict[TableName, TableWrites] = {}
        self._spark: SparkSession | None = None

    @property
    def tables(self) -> list[TableWrites]:
        """The tables with staged writes, by name."""
        return [self._tables[name] for name in sorted(self._tables)]

    def append(self, name: TableName, frame: DataFrame) -> None:
        """Stage rows to add."""
        table = self._table(frame.sparkSession, name, Operation.INSERT)
        self._add(table, frame, Kind.DELTA)

    def overwrite(self, name: TableName, frame: DataFrame, *, dynamic: bool) -> None:
        """Stage rows that replace those of the table, or (`dynamic`) of the partitions they are in.

        Raises:
            InvalidSettingError: the table is not partitioned, but `dynamic` was asked for.
        """
        table = self._table(frame.sparkSession, name, Operation.UPDATE, alone=True)
        if dynamic and not table.target.keys:
            raise InvalidSettingError(
                f"{name} is not partitioned, so it has no partitions to overwrite. Leave out "
                "`partitions`.",
                code="HIVEACID_INVALID_ARGUMENT",
            )
        table.is_overwrite, table.empties = True, not dynamic
        self._add(table, frame, Kind.BASE)

    def delete(self, spark: SparkSession, name: TableName, condition: str | Column) -> None:
        """Stage the row ids of the rows for which a condition is true."""
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
        spark = frame.sparkSession
        table = self._table(spark, name, Operation.UPDATE, alone=True, full_acid=True)
        keys, source = _keys(table.target, on), table.directory("source")
        # A second evaluation of the source may return other rows.
        fit(frame, table.target.columns).write.parquet(source)
        staged, rows = spark.read.parquet(source), self._rows(spark, table)
        if when_matched is not None and rows is not None:
            matched = rows.join(staged.select(*keys), on, "left_semi")
            _check_unique(table.name, staged, matched, on)
            self._delete(table, matched)
        new = _new_rows(staged, rows, on, when_matched == "update", when_not_matched == "insert")
        if new is not None:
            self._add(table, new, Kind.DELTA)

    def discard(self) -> None:
        """Remove what is staged."""
        if self._spark is not None:
            files = Files(self._spark)
            for table in self.tables:
                files.delete(table.stage)

    def _add(self, table: TableWrites, frame: DataFrame, kind: Kind) -> None:
        statement = table.next_statement()
        root = table.directory(f"rows_{statement}")
        table.staged += stage_raw(table.target, frame, root, kind, statement)

    def _rows(self, spark: SparkSession, table: TableWrites) -> DataFrame | None:
        table.read = self._reads.pin(table.name)
        with casts_as_hive(spark):
            return rows_with_ids(spark, table.read, self._footers)

    def _delete(self, table: TableWrites, rows: DataFrame) -> None:
        assert table.read is not None
        keys, partitions = table.target.keys, table.read.partitions
        names = [partition_name(keys, it.values) for it in partitions] if keys else [""]
        table.deleted = (table.directory("deleted"), names)
        rows.select(*ROW_ID).write.parquet(table.deleted[0])

    def _table(
        self,
        spark: SparkSession,
        name: TableName,
        operation: Operation,
        alone: bool = False,
        full_acid: bool = False,
    ) -> TableWrites:
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
        found = self._client.get_table(name)
        partitions = self._client.get_partitions(name) if found.partition_keys else ()
        target = Target.of(found, partitions, self._client.server_info())
        if full_acid and not found.is_full_acid:
            raise UnwritableTableError(
                f"{name} is insert-only: its rows have no row ids, so none can be deleted or "
                "updated. Overwrite the table, or its partitions.",
                code="HIVEACID_WRITE_NOT_SUPPORTED",
            )
        self._spark = spark
        stage = f"{target.location}/{STAGE_PREFIX}{self._reads.transaction_id()}"
        self._tables[name] = TableWrites(target, operation, stage, read=self._reads.pinned(name))
        return self._tables[name]


def _keys(target: Target, on: list[str]) -> list[Column]:
    names = {name.lower() for name in target.columns.names}
    unknown = [name for name in on if name.lower() not in names]
    if unknown or not on:
        raise InvalidSettingError(
            f"`on` must name columns of {target.table.name}, not {unknown or on!r}. It has "
            f"{', '.join(target.columns.names)}.",
            code="HIVEACID_INVALID_ARGUMENT",
        )
    return [F.col(quoted(name)) for name in on]


def _check_unique(name: TableName, staged: DataFrame, matched: DataFrame, on: list[str]) -> None:
    """Refuse two rows of the source that match the same row, as Hive's MERGE does."""
    keys = [F.col(quoted(key)) for key in on]
    repeated = staged.groupBy(*keys).count().where("count > 1").select(*keys)
    found = repeated.join(matched.select(*keys), on, "left_semi").limit(1).collect()
    if found:
        shown = ", ".join(f"{key} = {value!r}" for key, value in found[0].asDict().items())
        raise UnwritableRowsError(
            f"Two rows match the same row of {name} ({shown}), so what it becomes is not "
            "determined. Keep one row for each key.",
            code="HIVEACID_MERGE_NOT_UNIQUE",
        )


def _new_rows(
    staged: DataFrame, rows: DataFrame | None, on: list[str], updates: bool, inserts: bool
) -> DataFrame | None:
    """Return the rows of the source that the table gets: matched ones, new ones, or both."""
    if updates and inserts:
        return staged
    if not updates and not inserts:
        return None
    if rows is None:
        return staged if inserts else None
    keys = [F.col(quoted(key)) for key in on]
    return staged.join(rows.select(*keys), on, "left_semi" if updates else "left_anti").select(
        *(F.col(quoted(name)) for name in staged.columns)
    )
