"""What happened to each location of a source since a state, and whether its history is complete.

Pure: listings have been made, snapshots selected. A location whose history is not complete is
*lost* (`losses`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from hiveacid.acid.layout import parse_directory
from hiveacid.acid.selection import AcidState, SelectedDir, is_compacted
from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges
from hiveacid.changes.decoding import decoding_fingerprint, decoding_settings
from hiveacid.changes.evidence import (
    base_directory,
    directory_fingerprint,
    emptied_by_compaction,
    has_grown,
    has_seen,
    last_write_id,
)
from hiveacid.changes.losses import Extent, Loss, location_loss
from hiveacid.changes.state import LocationState, SourceState
from hiveacid.metastore.models import partition_name
from hiveacid.reader.locations import Location
from hiveacid.snapshots.tables import PinnedTable


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


def state_of(
    pinned: PinnedTable,
    options: str,
    time_zone: str,
    places: Iterable[Location],
    backlog_since: ValidWriteIdList | None = None,
) -> SourceState:
    """The state of a target that has seen this snapshot; for the last see `SourceState`.

    `time_zone` is that of the session in which it has.
    """
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
                last_write_id=last_write_id(place.state),
                emptied=tuple(d.directory.name for d in emptied_by_compaction(place)),
                to_be_lost=tuple(
                    d.directory.name
                    for d in place.state.to_be_lost
                    if has_seen(pinned.write_ids, *d.write_id_range)
                ),
                witness=directory_fingerprint(place.state),
                mark=decoding_fingerprint(pinned.table, place.storage),
            )
            for place in places
        ),
        backlog_since=backlog_since,
        shown=decoding_settings(pinned.table, time_zone),
    )


def new_bases(
    pinned: PinnedTable, since: SourceState, places: Iterable[Location]
) -> list[tuple[Location, SelectedDir]]:
    """The compacted bases that the state has not seen, in locations that it has.

    Their row ids must be looked at: see `is_renumbered`. Rows of insert-only tables have none.
    """
    if not pinned.table.is_full_acid:
        return []
    known = {old.values: old for old in since.locations}
    found = []
    for place in places:
        old, base = known.get(_values(pinned, place)), place.state.base
        if base is None or old is None or old.is_empty or old.base == base.directory.name:
            continue
        if is_compacted(place.listing, base_directory(base)):
            found.append((place, base))
    return found


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
    seen_at = _compacted(known.values())
    names = location_names(pinned)
    changes = []
    for place in places:
        old = known.get(_values(pinned, place))
        if since is None or old is None or old.is_empty:
            changes.append(LocationChange(place, Kind.NEW))
            continue
        name = names[place.partition]
        is_new_number = place.partition in renumbered
        loss = location_loss(pinned, place, since, old, name, new, is_new_number, seen_at)
        if loss is not None:
            changes.append(LocationChange(place, Kind.LOST, loss))
            continue
        if is_new_number and place.state.base is not None:
            what = (
                f"the compaction that made {place.state.base.directory.name} may have numbered "
                "the rows anew (REBALANCE), so that stored row ids no longer hold"
            )
            loss = Loss(name, what, Extent.ROW_IDS)
        kind = Kind.GROWN if has_grown(place.state, new) else Kind.UNCHANGED
        changes.append(LocationChange(place, kind, loss))
    return changes


def first_write_ids(
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
    deltas = {d.write_id_range for s in states for d in s.all_deltas}
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
            and (new.intersects(low, top) or has_seen(since.write_ids, low, high))
        ]
        if not forced:
            return new.within(1, top)
        top = max(forced)


def highest_base(states: Iterable[AcidState]) -> int:
    """The highest write id that a base is named after; 0 without any."""
    return max((s.base.write_id_range[1] for s in states if s.base is not None), default=0)


def _compacted(locations: Iterable[LocationState]) -> dict[str, str]:
    """The compacted directories among the bases and witnesses of a state, and where they were."""
    found = {}
    for location in locations:
        for name in {location.base, location.witness and location.witness[0]}:
            directory = parse_directory(name) if name else None
            if directory is not None and directory.visibility_txn:
                found[directory.name] = location.path
    return found


def _values(pinned: PinnedTable, place: Location) -> tuple[str, ...]:
    if not pinned.table.partition_keys:
        return ()
    return pinned.partitions[place.partition].values
