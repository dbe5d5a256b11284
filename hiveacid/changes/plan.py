"""Plan of the changes of a source since a state: the files that hold them."""

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
from hiveacid.changes.current_source import CurrentLocation, CurrentSource
from hiveacid.changes.diff import (
    Kind,
    LocationChange,
    diff,
    first_write_ids,
    highest_base,
    new_bases,
)
from hiveacid.changes.losses import Extent, Loss, dropped, is_renumbered, table_losses
from hiveacid.changes.state import SourceState
from hiveacid.changes.write_id_directories import grown_part, seen_part
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import Table
from hiveacid.reader.deletes import DeleteFile
from hiveacid.reader.locations import Location, locations
from hiveacid.reader.open_files import replace_open_files
from hiveacid.reader.orc_footers import OrcFooters, RowIdRange
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.read import check_readable, plan_locations
from hiveacid.snapshots.tables import PinnedTable

CHANGE_TYPE = "_change_type"
WRITE_ID = "_write_id"
ROW_ID = "_row_id"
"""Columns of changes, next to the table's own."""

ROW_ID_NAMES = (ROW_ID, "_hive_row_id")
"""Names that a target may give to the row id: Iceberg reserves the first one."""


@dataclass(frozen=True)
class FileAmount:
    """Number of some files, and their total length in bytes."""

    files: int = 0
    bytes: int = 0

    @classmethod
    def of(cls, files: Iterable[ListedFile]) -> FileAmount:
        """Return the number and length of `files`, which must be distinct."""
        lengths = [file.length for file in files]
        return cls(len(lengths), sum(lengths))


@dataclass(frozen=True)
class ChangePlan:
    """The changes of one source between a state and a snapshot, as files to read.

    A bounded batch has fewer write ids than the snapshot. It may turn out to change nothing: store
    its `state` nevertheless while there are `remaining` write ids, or the next run plans the same
    batch again.

    Attributes:
        pinned: the table, with the write ids up to which these changes go.
        since: the state before; None plans the whole snapshot as inserts.
        state: the state of a target after these changes.
        new_write_ids: the write ids of these changes.
        remaining: the new write ids that a bounded batch leaves for later.
        losses: the parts of the history that are gone.
        added: the rows of locations that the state does not have; without a state, of all.
        grown: the rows of new write ids in other locations.
        deletes: the files with delete events of new write ids.
        locations: the locations of the snapshot.
        changes: a comparison of each location with the state; empty after a loss of the whole
            table.
        whole: the number and length of all files of the snapshot.
        rows_hive_will_drop: the snapshot's directories as in `ReadPlan.rows_hive_will_drop`.
        missing: the paths of locations that do not exist.
        ignored_directories: the snapshot's directories as in `ReadPlan.ignored_directories`.
        ignored_files: the snapshot's files as in `ReadPlan.ignored_files`.
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
    locations: tuple[Location, ...] = ()
    changes: tuple[LocationChange, ...] = ()
    whole: FileAmount = FileAmount()
    rows_hive_will_drop: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    ignored_directories: tuple[str, ...] = ()
    ignored_files: tuple[ListedFile, ...] = ()
    footers: OrcFooters = field(default_factory=OrcFooters, compare=False, repr=False)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to read and nothing was lost, so that nothing has changed.

        A loss of row ids does not matter until something is deleted: the state still has the old
        base, so the loss is noticed then.
        """
        lost = any(loss.extent is not Extent.ROW_IDS for loss in self.losses)
        return not (lost or self.added.data or self.grown.data or self.deletes)

    @property
    def earlier_batch_write_ids(self) -> WriteIdRanges:
        """The write ids of the earlier batches of the same backlog."""
        if self.since is None or self.since.backlog_since is None:
            return WriteIdRanges()
        return new_write_ids(self.since.backlog_since, self.since.write_ids)

    @property
    def lost_locations(self) -> list[Location]:
        """The locations whose history, or whose row ids, have been lost."""
        return [self.location_of(change) for change in self.changes if change.loss is not None]

    def location_of(self, change: LocationChange) -> Location:
        """Return the location of a change, with its listing."""
        return self.locations[change.location.number]

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
        """The files among `files_read` that hold delete events; some may come twice."""
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
    listings: Sequence[Listing] | None = None,
) -> ChangePlan:
    """Find what changed since a state; without one, everything is an insert.

    Like `plan_read`, it runs a Spark job only for files that Hive 2 may have written.

    Args:
        options: the text of the options that `pinned` was narrowed with.
        max_write_ids: take at most N of the new write ids, the lowest (with a state).
        listings: the listings of the table's locations, if they are known.

    Raises:
        UnreadableTableError: the table cannot be read exactly, or has columns whose names the
            changes need.
    """
    check_readable(pinned.table)
    check_names(pinned.table)
    if listings is None:
        listings = list_locations(spark, [storage.location for storage in pinned.storages])
    now = _Source.of(spark, pinned, listings, options)
    planner = _Planner(spark, footers)
    if since is None:
        return planner.whole(now, [])
    lost = table_losses(since, now.current.state)
    if lost:
        return planner.whole(now, lost)
    new_ids = new_write_ids(since.write_ids, pinned.write_ids)
    if max_write_ids is None:
        return planner.difference(since, now, new_ids, WriteIdRanges())
    first = first_write_ids(since, now.current, new_ids, max_write_ids)
    if first == new_ids:
        return planner.difference(since, now, new_ids, WriteIdRanges())
    write_ids = bounded(since.write_ids, pinned.write_ids, first, highest_base(now.current))
    batch = _Source.of(spark, replace(pinned, write_ids=write_ids), listings, options)
    return planner.difference(since, batch, first, new_ids.without(first))


def state_of(
    spark: SparkSession, pinned: PinnedTable, listings: Sequence[Listing], options: str = ""
) -> SourceState:
    """Return the state of a target that has seen a pinned table. Runs no Spark job.

    Args:
        listings: the listings of the table's locations.
        options: the text of the options that `pinned` was narrowed with.

    Raises:
        UnreadableTableError: the table cannot be read exactly.
    """
    return _Source.of(spark, pinned, listings, options).current.state


def check_names(table: Table) -> None:
    """Refuse a table with a column that is named like a column of its changes.

    Raises:
        UnreadableTableError: naming the column.
    """
    for column in (*table.storage.columns, *table.partition_keys):
        if column.name.lower() in (CHANGE_TYPE, WRITE_ID, ROW_ID):
            raise UnreadableTableError(
                f"Column {column.name} of {table.name} has the name of a column that the "
                "changes add. Rename it in Hive (ALTER TABLE … CHANGE COLUMN), or read the "
                "whole table in place of its changes.",
                code="HIVEACID_RESERVED_COLUMN_NAME",
            )


@dataclass(frozen=True)
class _Source:
    """A pinned table with its locations, and the source that they show."""

    pinned: PinnedTable
    locations: tuple[Location, ...]
    current: CurrentSource

    @classmethod
    def of(
        cls, spark: SparkSession, pinned: PinnedTable, listings: Sequence[Listing], options: str
    ) -> _Source:
        time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
        found = replace_open_files(spark, pinned, locations(pinned, listings))
        return cls(pinned, tuple(found), CurrentSource.of(pinned, found, options, time_zone))


class _Planner:
    """Planner of the files to read for changes."""

    def __init__(self, spark: SparkSession, footers: OrcFooters) -> None:
        self._spark = spark
        self._footers = footers

    def whole(self, now: _Source, lost: Sequence[Loss]) -> ChangePlan:
        """Plan everything as new; after a loss of the whole table, nothing to read."""
        new_ids = valid_only_in(now.pinned.write_ids, ValidWriteIdList(0))
        changes = [] if lost else diff(None, now.current, new_ids)
        return self._plan(None, now, new_ids, WriteIdRanges(), changes, lost)

    def difference(
        self, since: SourceState, now: _Source, new_ids: WriteIdRanges, remaining: WriteIdRanges
    ) -> ChangePlan:
        """Plan the changes of each location that the state has, and all rows of the others."""
        current = self._with_new_bases(now.current, new_bases(since, now.current))
        changes = diff(since, current, new_ids)
        losses = [
            *(change.loss for change in changes if change.loss is not None),
            *dropped(since, current),
        ]
        return self._plan(since, now, new_ids, remaining, changes, losses)

    def _plan(
        self,
        since: SourceState | None,
        now: _Source,
        new_ids: WriteIdRanges,
        remaining: WriteIdRanges,
        changes: Sequence[LocationChange],
        losses: Sequence[Loss],
    ) -> ChangePlan:
        def of_kind(kind: Kind) -> list[Location]:
            return [now.locations[c.location.number] for c in changes if c.kind is kind]

        backlog = (since.backlog_since or since.write_ids) if since and remaining else None
        inserts, deletes = self._grown(now.pinned, since, of_kind(Kind.GROWN), new_ids)
        return ChangePlan(
            pinned=now.pinned,
            since=since,
            state=replace(now.current.state, backlog_since=backlog),
            new_write_ids=new_ids,
            remaining=remaining,
            losses=tuple(losses),
            added=self._read(now.pinned, of_kind(Kind.NEW)),
            grown=inserts,
            deletes=deletes,
            locations=now.locations,
            changes=tuple(changes),
            whole=FileAmount.of(file for one in now.locations for file in one.orc_files()),
            rows_hive_will_drop=tuple(
                path for one in now.locations for path in one.rows_hive_will_drop
            ),
            missing=tuple(one.path for one in now.locations if one.listing.is_missing),
            ignored_directories=tuple(
                path for one in now.locations for path in one.ignored_directories
            ),
            ignored_files=tuple(file for one in now.locations for file in one.state.ignored_files),
            footers=self._footers,
        )

    def _read(self, pinned: PinnedTable, locations: Sequence[Location]) -> ReadPlan:
        return plan_locations(self._spark, pinned, locations, self._footers, row_ids=True)

    def _with_new_bases(
        self, current: CurrentSource, bases: Sequence[tuple[CurrentLocation, SelectedDir]]
    ) -> CurrentSource:
        """Return the source with what the footers of its new bases show."""
        files = [file for _, base in bases for file in base.files]
        footers = self._footers.read(self._spark, files)
        ranges = {file: ids for file in files if (ids := footers[file].row_id_range) is not None}
        renumbered, merged = set(), set()
        for location, base in bases:
            if is_renumbered([(footers[f].rows, ranges[f]) for f in base.files if f in ranges]):
                renumbered.add(location.number)
            # Other compactions write the version of the ACID format into each file.
            if base.files and all(footers[file].acid_version is None for file in base.files):
                merged.add(location.number)
        return current.with_new_bases(renumbered, merged)

    def _grown(
        self,
        pinned: PinnedTable,
        since: SourceState | None,
        locations: Sequence[Location],
        new_ids: WriteIdRanges,
    ) -> tuple[ReadPlan, tuple[DeleteFile, ...]]:
        """Return the files with rows, and the files with delete events, of new write ids.

        The rows are read with all delete events that can hit them. A lower write id may have
        deleted a row, if its transaction began earlier and read after the row was committed.
        """
        parts = [
            replace(location, state=grown_part(location.state, new_ids)) for location in locations
        ]
        deleting = {file for part in parts for d in part.state.delete_deltas for file in d.files}
        all_deletes = [
            replace(part, state=replace(part.state, delete_deltas=location.state.delete_deltas))
            for location, part in zip(locations, parts, strict=True)
        ]
        read = self._read(pinned, all_deletes)

        def hits(delete: DeleteFile) -> bool:
            ids = delete.row_id_range
            return ids is not None and new_ids.intersects(*ids.write_id)

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
    """Plan the data files that can hold deleted rows, by the row id ranges of each partition.

    Raises:
        UnreadableTableError: a file is not what its directory or name says, or cannot be read.
    """
    # By partition and bucket: a file of delete events is of one bucket, as the files of rows are.
    deleted: dict[int, dict[tuple[int, int], RowIdRange]] = {}
    for delete in plan.deletes:
        ids = delete.row_id_range
        assert ids is not None, "the plan leaves out files without delete events"
        of_partition = deleted.setdefault(delete.partition, {})
        others = of_partition.get(ids.bucket)
        of_partition[ids.bucket] = ids if others is None else ids.union(others)
    compared = map(plan.location_of, plan.changes)
    parts = [
        replace(location, state=_data_part(location.state, wanted.values()))
        for location in compared
        if (wanted := deleted.get(location.partition)) is not None
    ]
    read = plan_locations(spark, plan.pinned, parts, plan.footers, row_ids=True)

    def can_hold(data: DataFile) -> bool:
        ids, wanted = data.row_id_range, deleted[data.partition].values()
        return ids is not None and any(map(ids.intersects, wanted))

    return replace(read, data=tuple(filter(can_hold, read.data)))


def _data_part(state: AcidState, wanted: Collection[RowIdRange]) -> AcidState:
    """Return the directories that can hold rows with the original write ids of some ranges."""
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
    """Plan the files that can hold rows of the earlier batches, with what deletes them.

    Raises:
        UnreadableTableError: a file is not what its directory or name says, or cannot be read.
    """
    seen = plan.earlier_batch_write_ids
    compared = [plan.location_of(change) for change in plan.changes if change.kind is not Kind.NEW]
    parts = [replace(location, state=seen_part(location.state, seen)) for location in compared]
    return plan_locations(spark, plan.pinned, parts, plan.footers, row_ids=True)
