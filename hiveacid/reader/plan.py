"""Read plan: the files that a read needs, and the files that it skips. Pure.

A *raw* file (`isRawFormat` in Hive's `AcidUtils`) has no ACID columns: an original file of a
converted table, or a file that LOAD DATA moved into a delta or base. Its row ids follow from its
path, as in Hive's `VectorizedOrcAcidRowBatchReader`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from hiveacid.acid.layout import ListedFile
from hiveacid.acid.selection import Skipped
from hiveacid.jvm.orc_readers import Stripe
from hiveacid.reader.deletes import DeletedRows, DeleteFile
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_footers import RowIdRange
from hiveacid.snapshots.tables import PinnedTable


@dataclass(frozen=True)
class RowPositions:
    """Row ids of a raw file: its i-th row is (`write_id`, `bucket`, `first_row` + i)."""

    write_id: int
    bucket: int
    first_row: int

    def of(self, rows: int) -> RowIdRange | None:
        """Return the row ids of the first `rows` rows; None for 0 rows."""
        if rows == 0:
            return None
        last_row = self.first_row + rows - 1
        return RowIdRange(
            (self.write_id, self.write_id), (self.bucket, self.bucket), (self.first_row, last_row)
        )


@dataclass(frozen=True)
class DataFile:
    """File with rows of the table.

    `partition` is an index of `PinnedTable.partitions` (0 for an unpartitioned table). `columns`
    are the file's own names of the table's columns, in the table's order, None for a column that
    the file lacks; None if the format has no names. `hides_rows`: some rows may have a write id
    that the snapshot must not show. `row_ids` is set for a raw file that delete events may hit.
    `row_id_range` contains the row ids in the file; None for a file without rows, and for a raw
    file without `row_ids`. `converted` has the positions of the columns that have another type in
    the file than in the table; different integer types are not included. `nanoseconds` has the
    positions of the columns whose timestamps are known to be finer than microseconds. `stripes` are
    set with `row_ids`.
    """

    file: ListedFile
    partition: int
    columns: tuple[str | None, ...] | None
    is_acid: bool
    hides_rows: bool = False
    row_ids: RowPositions | None = None
    converted: tuple[int, ...] = ()
    nanoseconds: tuple[int, ...] = ()
    row_id_range: RowIdRange | None = None
    stripes: tuple[Stripe, ...] = ()


@dataclass(frozen=True)
class ReadPlan:
    """Files that a read of one pinned table needs, and what the read skips and why.

    `rows_hive_will_drop` are the paths of directories that a Hive compaction left empty although
    there were rows to compact; Hive's cleaner will remove these rows. `missing` are the locations
    that do not exist. `ignored_directories` are the paths of other directories without a file that
    Hive sees, next to rows that their names cover; Hive shows these rows. `ignored_files` are the
    files of an insert-only table outside any base and delta, which Hive does not show.
    `uncommitted_compactions` are the directories of compactions that the snapshot does not see yet,
    with their transactions. `deleted_rows` caches the delete events for all users of the plan.
    """

    pinned: PinnedTable
    data: tuple[DataFile, ...]
    deletes: tuple[DeleteFile, ...]
    skipped: tuple[Skipped, ...]
    rows_hive_will_drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored_directories: tuple[str, ...] = ()
    ignored_files: tuple[ListedFile, ...] = ()
    uncommitted_compactions: tuple[tuple[str, int], ...] = ()
    deleted_rows: DeletedRows = field(default_factory=DeletedRows, compare=False, repr=False)

    @classmethod
    def of_locations(
        cls,
        pinned: PinnedTable,
        locations: Sequence[Location],
        data: Iterable[DataFile],
        deletes: Iterable[DeleteFile] = (),
    ) -> ReadPlan:
        """Return the plan that reads these files of the locations, with what it skips and why."""
        return cls(
            pinned,
            tuple(data),
            tuple(deletes),
            skipped=tuple(it for one in locations for it in one.skipped),
            rows_hive_will_drop=tuple(
                path for one in locations for path in one.rows_hive_will_drop
            ),
            missing=tuple(one.path for one in locations if one.listing.is_missing),
            ignored_directories=tuple(
                path for one in locations for path in one.ignored_directories
            ),
            ignored_files=tuple(file for one in locations for file in one.state.ignored_files),
            uncommitted_compactions=tuple(
                it for one in locations for it in one.uncommitted_compactions
            ),
        )

    @property
    def delete_events(self) -> int:
        """Number of delete events in all delete files together."""
        return sum(delete.rows for delete in self.deletes)

    @property
    def nanoseconds(self) -> dict[str, ListedFile]:
        """Columns whose timestamps Spark cuts to microseconds, each with a file that shows it."""
        columns = self.pinned.table.storage.columns
        return {
            columns[i].name: data.file
            for data in self.data
            for i in data.nanoseconds
            if i < len(columns) and "timestamp" in columns[i].type
        }

    @property
    def files(self) -> Iterator[tuple[ListedFile, int]]:
        """Data files and delete files, each with the number of its partition."""
        for data in self.data:
            yield data.file, data.partition
        for delete in self.deletes:
            yield delete.file, delete.partition
