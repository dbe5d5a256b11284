"""What happened to each location of a source since a state, and whether its history is complete.

Pure: listings have been made, snapshots selected. A location's history is complete if every change
since the state can still be told from its directories: inserted rows by their write id, deleted
rows by their delete events. Else the location is *lost*, with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from dbt.adapters.hiveacid.acid.bucket import decode_bucket
from dbt.adapters.hiveacid.acid.changes import WriteIdRanges, valid_only_in
from dbt.adapters.hiveacid.acid.directories import BASE_OF_ORIGINALS, BaseDir
from dbt.adapters.hiveacid.acid.selection import AcidState, SelectedDir, is_compacted
from dbt.adapters.hiveacid.acid.write_ids import RangeResponse, ValidWriteIdList
from dbt.adapters.hiveacid.incremental.state import LocationState, SourceState
from dbt.adapters.hiveacid.metastore.partition_names import partition_name
from dbt.adapters.hiveacid.reader.orc_footers import RowIdRange
from dbt.adapters.hiveacid.reader.plan import Location
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable


class Extent(Enum):
    """What a loss makes unusable."""

    LOCATION = "location"
    """The changes of one location; its rows can be compared with the target's by row id."""

    TABLE = "table"
    """The changes of the whole source, or of a location whose rows cannot be compared."""

    ROW_IDS = "row ids"
    """Row ids that a target has stored; changes are complete for targets without them."""


@dataclass(frozen=True)
class Loss:
    """A part of the history that is gone.

    `location` is the partition's name, empty for the table's own location and for the whole table;
    `what` says what happened, with the directory and the write ids.
    """

    location: str
    what: str
    extent: Extent

    @property
    def reconcilable(self) -> bool:
        """Whether row ids in the target can make up for it."""
        return self.extent is Extent.LOCATION

    def __str__(self) -> str:
        where = f"partition {self.location}: " if self.location else ""
        return f"{where}{self.what}"


class Kind(Enum):
    """What a location is, compared with the state."""

    UNCHANGED = "unchanged"
    GROWN = "grown"
    NEW = "new"
    LOST = "lost"


@dataclass(frozen=True)
class LocationChange:
    """One location of the snapshot, compared with the state."""

    place: Location
    kind: Kind
    loss: Loss | None = None


def location_names(pinned: PinnedTable) -> list[str]:
    """The names of the partitions as Hive writes them; one empty name without partition keys."""
    keys = [column.name for column in pinned.table.partition_keys]
    if not keys:
        return [""]
    return [partition_name(keys, partition.values) for partition in pinned.partitions]


def source_state(pinned: PinnedTable, options: str, places: Iterable[Location]) -> SourceState:
    """The state of a target that has seen this snapshot."""
    partitions = pinned.partitions if pinned.table.partition_keys else None
    return SourceState(
        table=pinned.table.name,
        table_id=pinned.table.id,
        create_time=pinned.table.create_time,
        is_full_acid=pinned.table.is_full_acid,
        columns=tuple((column.name, column.type) for column in pinned.table.storage.columns),
        write_ids=pinned.write_ids,
        options=options,
        locations=tuple(
            LocationState(
                values=partitions[place.partition].values if partitions is not None else (),
                path=place.storage.location,
                create_time=partitions[place.partition].create_time if partitions else 0,
                base=place.state.base.directory.name if place.state.base else None,
                last_write_id=_last_write_id(place.state),
            )
            for place in places
        ),
    )


def table_losses(pinned: PinnedTable, since: SourceState, options: str) -> list[Loss]:
    """Reasons why nothing can be said about changes since the state."""
    table = pinned.table
    found = []
    if since.table_id is not None and table.id is not None and since.table_id != table.id:
        found.append(
            f"it is another table of the name (id {table.id} in the metastore, before "
            f"{since.table_id})"
        )
    elif since.create_time != table.create_time:
        found.append(
            f"it is another table of the name (createTime {table.create_time}, before "
            f"{since.create_time})"
        )
    elif since.is_full_acid != table.is_full_acid:
        kinds = ("insert-only", "full ACID")
        found.append(f"it was {kinds[since.is_full_acid]} and is {kinds[table.is_full_acid]} now")
    else:
        found += since.changed_columns(table.storage.columns)
        gone = valid_only_in(since.write_ids, pinned.write_ids)
        if gone:
            found.append(
                f"write ids {gone} had been seen and are no longer valid, as after the metastore "
                "was restored from a backup"
            )
    if since.options != options:
        found.append(
            f"it is read with other options ({options or 'none'}, before {since.options or 'none'})"
        )
    return [Loss("", what, Extent.TABLE) for what in found]


def dropped(pinned: PinnedTable, since: SourceState) -> list[Loss]:
    """The locations of the state that the table no longer has."""
    if not pinned.table.partition_keys:
        return []
    keys = [column.name for column in pinned.table.partition_keys]
    present = {partition.values for partition in pinned.partitions}
    extent = Extent.LOCATION if since.is_full_acid else Extent.TABLE
    return [
        Loss(partition_name(keys, old.values), f"it was dropped; it was at {old.path}", extent)
        for old in since.locations
        if old.values not in present and not old.is_empty
    ]


def new_bases(
    pinned: PinnedTable, since: SourceState, places: Iterable[Location]
) -> list[tuple[Location, SelectedDir]]:
    """The compacted bases that the state has not seen, in locations that it has.

    Their row ids must be looked at: see `is_renumbered`.
    """
    known = {old.values: old for old in since.locations}
    found = []
    for place in places:
        old, base = known.get(_values(pinned, place)), place.state.base
        if base is None or old is None or old.is_empty or old.base == base.directory.name:
            continue
        if is_compacted(place.listing, _base_dir(base)):
            found.append((place, base))
    return found


def is_renumbered(files: Sequence[tuple[int, RowIdRange]]) -> bool:
    """Whether the rows of a base may have been given new row ids by a REBALANCE compaction.

    That numbers all rows together from 0 on, in the order of the new buckets, and gives them
    statement 0 (`CompactionQueryBuilder.buildSelectClauseForRebalance`). Another compaction keeps
    the row ids, in which the number begins anew with each bucket and write. A base that holds only
    one write, without gaps, can be either; it is taken for renumbered.

    Args:
        files: for each file with rows how many there are, and their row ids.
    """
    next_row = 0
    for rows, ids in sorted(files, key=lambda file: file[1].row):
        bucket, last = decode_bucket(ids.bucket[0]), next_row + rows - 1
        if ids.bucket[0] != ids.bucket[1] or bucket.statement_id or ids.row != (next_row, last):
            return False
        next_row = last + 1
    return next_row > 0


def compare(
    pinned: PinnedTable,
    since: SourceState | None,
    places: Sequence[Location],
    new: WriteIdRanges,
    renumbered: frozenset[int],
) -> list[LocationChange]:
    """Compare each location of the snapshot with the state; without a state all are new.

    `new` are the new write ids of the snapshot; `renumbered` the numbers of the partitions whose
    new base `is_renumbered`.
    """
    known = {old.values: old for old in since.locations} if since else {}
    names = location_names(pinned)
    changes = []
    for place in places:
        old = known.get(_values(pinned, place))
        if since is None or old is None or old.is_empty:
            changes.append(LocationChange(place, Kind.NEW))
            continue
        name = names[place.partition]
        is_new_number = place.partition in renumbered
        loss = _loss(pinned, place, since, old, name, new, is_new_number)
        if loss is not None:
            changes.append(LocationChange(place, Kind.LOST, loss))
            continue
        if is_new_number and place.state.base is not None:
            what = (
                f"the compaction that made {place.state.base.directory.name} may have numbered "
                "the rows anew (REBALANCE), so that stored row ids no longer hold"
            )
            loss = Loss(name, what, Extent.ROW_IDS)
        kind = Kind.GROWN if _grown(place.state, new) else Kind.UNCHANGED
        changes.append(LocationChange(place, kind, loss))
    return changes


def grown_part(state: AcidState, new: WriteIdRanges) -> AcidState:
    """What of a location can hold rows and delete events of new write ids.

    No base can: one with new write ids is a loss.
    """
    return AcidState(
        base=None,
        deltas=tuple(d for d in state.deltas if _meets(d, new)),
        delete_deltas=tuple(d for d in state.delete_deltas if _meets(d, new)),
        originals=(),
        skipped=(),
    )


def take(
    pinned: PinnedTable,
    since: SourceState,
    states: Iterable[AcidState],
    new: WriteIdRanges,
    count: int,
) -> WriteIdRanges:
    """The lowest new write ids of which `count` can have left something in the locations.

    Ids that left nothing do not count, so that each batch goes forward. What is compacted together
    comes together: a base that took in new write ids, and the directories of insert-only tables,
    whose rows carry no write id.
    """
    states = list(states)
    bases = {s.base.write_id_range[1] for s in states if s.base is not None}
    deltas = {d.write_id_range for s in states for d in (*s.deltas, *s.delete_deltas)}
    traced = WriteIdRanges.of(
        piece
        for low, high in (*deltas, *((1, high) for high in bases))
        for piece in new.within(low, high).ranges
    )
    if traced.count <= count:
        return new
    tops = {traced.lowest(count).last, *(new.within(1, high).last for high in bases)}
    top = max(t for t in tops if t is not None)
    wide = [] if pinned.table.is_full_acid else [d for d in deltas if d[0] < d[1]]
    while True:
        forced = [
            last
            for low, high in wide
            if (last := new.within(low, high).last) is not None
            and last > top
            and (new.intersects(low, top) or _has_seen(since.write_ids, low, high))
        ]
        if not forced:
            return new.within(1, top)
        top = max(forced)


def _has_seen(write_ids: ValidWriteIdList, low: int, high: int) -> bool:
    return write_ids.is_range_valid(low, high) is not RangeResponse.NONE


def _values(pinned: PinnedTable, place: Location) -> tuple[str, ...]:
    if not pinned.table.partition_keys:
        return ()
    return pinned.partitions[place.partition].values


def _base_dir(base: SelectedDir) -> BaseDir:
    assert isinstance(base.directory, BaseDir)
    return base.directory


def _directories(state: AcidState) -> list[SelectedDir]:
    return [*state.deltas, *state.delete_deltas]


def _meets(directory: SelectedDir, new: WriteIdRanges) -> bool:
    return new.intersects(*directory.write_id_range)


def _grown(state: AcidState, new: WriteIdRanges) -> bool:
    return any(_meets(directory, new) for directory in _directories(state))


def _last_write_id(state: AcidState) -> int | None:
    last = max((d.write_id_range[1] for d in _directories(state) if d.files), default=None)
    return 0 if last is None and state.originals else last


def _loss(
    pinned: PinnedTable,
    place: Location,
    since: SourceState,
    old: LocationState,
    name: str,
    new: WriteIdRanges,
    is_renumbered: bool,
) -> Loss | None:
    """Why the history of a location that the state knows is not complete, if so."""
    if place.storage.location != old.path:
        what = f"it was moved from {old.path} to {place.storage.location}"
        return Loss(name, what, Extent.TABLE)
    by_row_ids = Extent.LOCATION if since.is_full_acid and not is_renumbered else Extent.TABLE
    if pinned.table.partition_keys:
        create_time = pinned.partitions[place.partition].create_time
        if create_time != old.create_time:
            what = (
                f"it was dropped and created anew (createTime {create_time}, before "
                f"{old.create_time})"
            )
            return Loss(name, what, by_row_ids)
    reason = _lost_base(place, old, new)
    if reason is not None:
        return Loss(name, reason, by_row_ids)
    if old.last_write_id is not None and not _covers(place.state, old.last_write_id):
        what = (
            f"what write id {old.last_write_id} wrote has gone, and no compaction took it in: it "
            "was truncated, or dropped and created anew, without a trace"
        )
        return Loss(name, what, by_row_ids)
    if not since.is_full_acid:
        for directory in place.state.deltas:
            low, high = directory.write_id_range
            if _meets(directory, new) and _has_seen(since.write_ids, low, high):
                what = (
                    f"{directory.directory.name} holds rows that had been seen together with those "
                    f"of write ids {new.within(low, high)}, and insert-only rows carry no write id"
                )
                return Loss(name, what, Extent.TABLE)
    return None


def _lost_base(place: Location, old: LocationState, new: WriteIdRanges) -> str | None:
    base = place.state.base
    if base is None:
        return None if old.base is None else f"its base {old.base} has gone"
    directory = _base_dir(base)
    if directory.name == old.base:
        return None
    write_id = directory.write_id
    if directory.write_id == BASE_OF_ORIGINALS:
        return None
    if is_compacted(place.listing, directory):
        past = new.within(1, write_id)
        if not past:
            return None
        return (
            f"the compaction that made {directory.name} took in write ids {past}, which had not "
            "been seen: it removed their delete events"
        )
    if write_id in new:
        return f"write id {write_id} replaced all rows (overwrite or truncate): {directory.name}"
    return (
        f"its base was {old.base or 'none'} and is {directory.name}, though write id {write_id} "
        "is not new"
    )


def _covers(state: AcidState, write_id: int) -> bool:
    """Whether what a write id wrote is still there, as written or compacted.

    A base takes in all that is below it; original files are write id 0.
    """
    if state.base is not None and (write_id == 0 or write_id <= state.base.write_id_range[1]):
        return True
    if write_id == 0:
        return bool(state.originals)
    ranges = (directory.write_id_range for directory in _directories(state))
    return any(low <= write_id <= high for low, high in ranges)
