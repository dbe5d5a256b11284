"""What a transaction has staged for one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.errors import UnwritableTableError
from hiveacid.metastore.models import LockType, Table, TableName
from hiveacid.metastore.writing_client import Operation, RowsToWrap
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.writer.layout import Kind, StagedDirectory
from hiveacid.writer.target import Target

MOST_STATEMENTS = 4095
"""Maximum number of statements: the bucket property has twelve bits (`BucketCodec`)."""

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
        described: a table with the comments and parameters that the table gets; None to keep its.
        depends_on: write ids in another snapshot that what is written depends on.
        write_id: None until it is allocated.
        rows_to_wrap: which new rows get ACID columns.
        to_wrap: what is staged to get them: directory, kind and number of the statement.
        numbered: what is staged with the write id in the files, for the present write id.
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
    described: Table | None = None
    depends_on: ValidWriteIdList | None = None
    write_id: int | None = None
    rows_to_wrap: RowsToWrap = RowsToWrap.NONE
    to_wrap: list[tuple[str, Kind, int]] = field(default_factory=list)
    numbered: list[StagedDirectory] = field(default_factory=list)
    statements: int = 0
    is_unresolved: bool = False

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
        if self.statements == MOST_STATEMENTS:
            raise UnwritableTableError(
                f"{self.name} is written more than {MOST_STATEMENTS} times in one transaction. "
                "Nothing was written. Unite the DataFrames first.",
                code="HIVEACID_TOO_MANY_FILES",
            )
        self.statements += 1
        return self.statements - 1

    def move_stage(self, stage: str) -> None:
        """Take note that the stage was renamed."""
        old, self.stage = self.stage, stage
        self.staged = [
            replace(it, path=f"{stage}{it.path.removeprefix(old)}") for it in self.staged
        ]
        self.to_wrap = [
            (f"{stage}{path.removeprefix(old)}", kind, statement)
            for path, kind, statement in self.to_wrap
        ]

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


def place_of(table: TableWrites, staged: StagedDirectory) -> str:
    """Return the path that a staged directory gets in its table."""
    assert table.write_id is not None
    return f"{table.target.location_of(staged.partition)}/{staged.name(table.write_id)}"
