"""Which files hold the changes of a source since a state. Runs no Spark job."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.acid.selection import AcidState, SelectedDir
from hiveacid.acid.write_ids import (
    RangeResponse,
    ValidWriteIdList,
    WriteIdRanges,
    bounded,
    new_write_ids,
    valid_only_in,
)
from hiveacid.changes.diff import (
    Kind,
    LocationChange,
    compare,
    first_write_ids,
    highest_base,
    new_bases,
    state_of,
)
from hiveacid.changes.evidence import grown_part, seen_part
from hiveacid.changes.losses import Extent, Loss, dropped, is_renumbered, table_losses
from hiveacid.changes.state import SourceState
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import Table
from hiveacid.reader.deletes import DeleteFile
from hiveacid.reader.locations import Location, locations, missing, paths_to_be_lost
from hiveacid.reader.orc_footers import OrcFooters, RowIdRange
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.read import check_readable, plan_places
from hiveacid.snapshots.tables import PinnedTable

CHANGE_TYPE = "_change_type"
WRITE_ID = "_write_id"
ROW_ID = "_row_id"
"""The columns that changes have beside the table's own."""

ROW_ID_NAMES = (ROW_ID, "_hive_row_id")
"""What a target may call the last of them: Iceberg keeps the first name for itself."""


@dataclass(frozen=True)
class FileAmount:
    """Some files: how many, and their length in bytes."""

    files: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, files: Iterable[ListedFile]) -> FileAmount:
        """That of different files."""
        lengths = [file.length for file in files]
        return cls(len(lengths), sum(lengths))


@dataclass(frozen=True)
class ChangePlan:
    """The changes of one source between a state and a snapshot, as files to read.

    `pinned` has the write ids that these changes go up to: fewer than the run's where a batch was
    bounded, and `remaining` are the new ones left for later. A bounded batch may turn out to change
    nothing; while there are remaining ids its `state` is to be kept all the same, or the next run
    plans the same batch again.

    `state` is that of a target with these changes applied. `added` are the rows of locations that
    the state does not have (without a state: of all), `grown` those of new write ids elsewhere,
    `deletes` the files with delete events of new write ids. `whole` are all files of the snapshot,
    `to_be_lost` the directories of all of it that `ReadPlan.to_be_lost` tells of, `missing` its
    locations that do not exist.
    """

    pinned: PinnedTable
    since: SourceState | None
    state: SourceState
    new_write_ids: WriteIdRanges
    remaining: WriteIdRanges
    losses: tuple[Loss, ...]
    added: ReadPlan
    grown: ReadPlan
    deletes: tuple[DeleteFile, ...]
    changes: tuple[LocationChange, ...] = ()
    whole: FileAmount = FileAmount()
    to_be_lost: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    footers: OrcFooters = field(default_factory=OrcFooters, compare=False, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read and nothing was lost, so that nothing has changed.

        Row ids that no longer hold do not matter until something is deleted: the state still has
        the old base, so they are noticed then.
        """
        lost = any(loss.extent is not Extent.ROW_IDS for loss in self.losses)
        return not (lost or self.added.data or self.grown.data or self.deletes)

    @property
    def brought_before(self) -> WriteIdRanges:
        """The write ids that earlier batches of the same backlog have brought."""
        if self.since is None or self.since.backlog_since is None:
            return WriteIdRanges()
        return new_write_ids(self.since.backlog_since, self.since.write_ids)

    @property
    def read(self) -> set[ListedFile]:
        """The files that inserted rows and deleted row ids are read from."""
        return {file for file, _ in self.files_read}

    @property
    def files_read(self) -> Iterator[tuple[ListedFile, int]]:
        """As `read`, each file with the number of its partition; some may come twice."""
        yield from self.added.files
        yield from self.grown.files
        for delete in self.deletes:
            yield delete.file, delete.partition

    @property
    def deletes_read(self) -> Iterator[DeleteFile]:
        """Those of `files_read` that hold delete events; some may come twice."""
        yield from self.added.deletes
        yield from self.grown.deletes
        yield from self.deletes


def plan_changes(
    spark: SparkSession,
    pinned: PinnedTable,
    since: SourceState | None,
    footers: OrcFooters,
    *,
    options: str = "",
    max_write_ids: int | None = None,
) -> ChangePlan:
    """Find what changed since a state; without one, everything is an insert. Runs no Spark job.

    Args:
        options: the text of the options that `pinned` was narrowed with.
        max_write_ids: take only so many of the new write ids, the lowest (with a state).

    Raises:
        UnreadableTableError: the table cannot be read exactly, or has columns whose names the
            changes need.
    """
    check_readable(pinned.table)
    check_names(pinned.table)
    listings = list_locations(spark, [storage.location for storage in pinned.storages])
    time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
    planner = _Planner(spark, footers, options, time_zone, listings)
    lost = table_losses(pinned, since, options, time_zone) if since is not None else []
    if since is None or lost:
        return planner.whole(pinned, lost)
    return planner.difference(pinned, since, max_write_ids)


def check_names(table: Table) -> None:
    """Refuse a table with a column named as one that changes have beside it.

    Raises:
        UnreadableTableError: naming the column.
    """
    for column in (*table.storage.columns, *table.partition_keys):
        if column.name.lower() in (CHANGE_TYPE, WRITE_ID, ROW_ID):
            raise UnreadableTableError(
                f"{table.name} has a column {column.name}, as its changes have beside the table's "
                "columns. Rename it in Hive (ALTER TABLE … CHANGE COLUMN), or read the table as a "
                "whole, with source(…)."
            )


class _Planner:
    """Plans from one listing of a table's locations."""

    def __init__(
        self,
        spark: SparkSession,
        footers: OrcFooters,
        options: str,
        time_zone: str,
        listings: Sequence[Listing],
    ) -> None:
        self._spark = spark
        self._footers = footers
        self._options = options
        self._time_zone = time_zone
        self._listings = listings

    def whole(self, pinned: PinnedTable, lost: Sequence[Loss]) -> ChangePlan:
        """Everything is new; where the table was lost, nothing can be said."""
        places = locations(pinned, self._listings)
        new = valid_only_in(pinned.write_ids, ValidWriteIdList(0))
        changes = [] if lost else compare(pinned, None, places, new, frozenset())
        return self._plan(pinned, None, places, new, WriteIdRanges(), changes, lost)

    def difference(
        self, pinned: PinnedTable, since: SourceState, max_write_ids: int | None
    ) -> ChangePlan:
        """The changes of each location that the state knows, and all of the others."""
        places = locations(pinned, self._listings)
        new, remaining = new_write_ids(since.write_ids, pinned.write_ids), WriteIdRanges()
        if max_write_ids is not None:
            states = [place.state for place in places]
            taken = first_write_ids(pinned, since, states, new, max_write_ids)
            if taken != new:
                base = highest_base(states)
                write_ids = bounded(since.write_ids, pinned.write_ids, taken, base)
                pinned = replace(pinned, write_ids=write_ids)
                places = locations(pinned, self._listings)
                new, remaining = taken, new.without(taken)
        renumbered = self._renumbered(new_bases(pinned, since, places))
        changes = compare(pinned, since, places, new, renumbered)
        losses = [
            *(change.loss for change in changes if change.loss is not None),
            *dropped(pinned, since),
        ]
        return self._plan(pinned, since, places, new, remaining, changes, losses)

    def _plan(
        self,
        pinned: PinnedTable,
        since: SourceState | None,
        places: Sequence[Location],
        new: WriteIdRanges,
        remaining: WriteIdRanges,
        changes: Sequence[LocationChange],
        losses: Sequence[Loss],
    ) -> ChangePlan:
        backlog = (since.backlog_since or since.write_ids) if since and remaining else None
        added = [change.place for change in changes if change.kind is Kind.NEW]
        grown = [change.place for change in changes if change.kind is Kind.GROWN]
        inserts, deletes = self._grown(pinned, since, grown, new)
        return ChangePlan(
            pinned=pinned,
            since=since,
            state=state_of(pinned, self._options, self._time_zone, places, backlog),
            new_write_ids=new,
            remaining=remaining,
            losses=tuple(losses),
            added=self._read(pinned, added),
            grown=inserts,
            deletes=deletes,
            changes=tuple(changes),
            whole=FileAmount.of(file for place in places for file in place.orc_files()),
            to_be_lost=tuple(path for place in places for path in paths_to_be_lost(place)),
            missing=missing(places),
            footers=self._footers,
        )

    def _read(self, pinned: PinnedTable, places: Sequence[Location]) -> ReadPlan:
        return plan_places(self._spark, pinned, places, self._footers, row_ids=True)

    def _renumbered(self, bases: Sequence[tuple[Location, SelectedDir]]) -> frozenset[int]:
        """The numbers of the partitions whose new base `is_renumbered`."""
        files = [file for _, base in bases for file in base.files]
        footers = self._footers.read(self._spark, files)
        ranges = {file: ids for file in files if (ids := footers[file].row_id_range) is not None}
        return frozenset(
            place.partition
            for place, base in bases
            if is_renumbered([(footers[f].rows, ranges[f]) for f in base.files if f in ranges])
        )

    def _grown(
        self,
        pinned: PinnedTable,
        since: SourceState | None,
        places: Sequence[Location],
        new: WriteIdRanges,
    ) -> tuple[ReadPlan, tuple[DeleteFile, ...]]:
        """The files with rows of new write ids, and those with delete events of new write ids.

        The rows are read with all delete events that can hit them. A write id below theirs may
        have deleted them: its transaction began before, and read after they were committed.
        """
        parts = [replace(place, state=grown_part(place.state, new)) for place in places]
        deleting = {file for part in parts for d in part.state.delete_deltas for file in d.files}
        all_deletes = [
            replace(part, state=replace(part.state, delete_deltas=place.state.delete_deltas))
            for place, part in zip(places, parts, strict=True)
        ]
        read = self._read(pinned, all_deletes)

        def hits(delete: DeleteFile) -> bool:
            ids = delete.row_id_range
            return ids is not None and new.intersects(*ids.write_id)

        def hits_seen(delete: DeleteFile) -> bool:
            assert since is not None
            ids = delete.row_id_range
            if ids is None or delete.file not in deleting:
                return False
            hit = since.write_ids.is_range_valid(*ids.write_id)
            return hit is not RangeResponse.NONE

        inserts = replace(read, deletes=tuple(filter(hits, read.deletes)))
        return inserts, tuple(filter(hits_seen, read.deletes))


def plan_before_images(spark: SparkSession, plan: ChangePlan) -> ReadPlan:
    """The data files with row ids in the ranges of the deleted ones, partition by partition.

    Raises:
        UnreadableTableError: a file is not what its place or name says, or cannot be read.
    """
    # By partition and bucket: a file of delete events is of one bucket, as the files of rows are.
    deleted: dict[int, dict[tuple[int, int], RowIdRange]] = {}
    for delete in plan.deletes:
        here = delete.row_id_range
        assert here is not None, "the plan leaves out files without delete events"
        of_partition = deleted.setdefault(delete.partition, {})
        before = of_partition.get(here.bucket)
        of_partition[here.bucket] = here if before is None else here.union(before)
    places = [
        replace(change.place, state=_data_part(change.place.state, wanted.values()))
        for change in plan.changes
        if (wanted := deleted.get(change.place.partition)) is not None
    ]
    read = plan_places(spark, plan.pinned, places, plan.footers, row_ids=True)

    def can_hold(data: DataFile) -> bool:
        ids, wanted = data.row_id_range, deleted[data.partition].values()
        return ids is not None and any(map(ids.intersects, wanted))

    return replace(read, data=tuple(filter(can_hold, read.data)))


def _data_part(state: AcidState, wanted: Collection[RowIdRange]) -> AcidState:
    """The directories of a location that can hold rows with the original write ids of ranges."""
    low = min(range_.write_id[0] for range_ in wanted)
    high = max(range_.write_id[1] for range_ in wanted)

    def can_hold(directory: SelectedDir) -> bool:
        first, last = directory.write_id_range
        return first <= high and low <= max(first, last)

    return AcidState(
        base=state.base if state.base is not None and can_hold(state.base) else None,
        deltas=tuple(filter(can_hold, state.deltas)),
        delete_deltas=(),
        originals=state.originals if low <= 0 else (),
        skipped=(),
    )


def plan_earlier_batches(spark: SparkSession, plan: ChangePlan) -> ReadPlan:
    """The files that can hold rows of the earlier batches, with what deletes them.

    Raises:
        UnreadableTableError: a file is not what its place or name says, or cannot be read.
    """
    places = [
        replace(change.place, state=seen_part(change.place.state, plan.brought_before))
        for change in plan.changes
        if change.kind is not Kind.NEW
    ]
    return plan_places(spark, plan.pinned, places, plan.footers, row_ids=True)
