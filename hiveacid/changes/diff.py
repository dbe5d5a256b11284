"""Changes of each location of a source since a state. Pure.

Two records are compared: the state that a target has stored, and the source now. A location whose
history is not complete is *lost* (`losses`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hiveacid.acid.selection import SelectedDir
from hiveacid.acid.write_ids import WriteIdRanges
from hiveacid.changes.current_source import CurrentLocation, CurrentSource
from hiveacid.changes.losses import Loss, loss, row_id_loss
from hiveacid.changes.state import SourceState
from hiveacid.changes.write_id_directories import has_grown, has_seen


class Kind(Enum):
    """Kind of a location, compared with the state."""

    UNCHANGED = "unchanged"
    GROWN = "grown"
    NEW = "new"
    LOST = "lost"


@dataclass(frozen=True)
class LocationChange:
    """One location of the source now, compared with the state."""

    location: CurrentLocation
    kind: Kind
    loss: Loss | None = None


def diff(
    before: SourceState | None, now: CurrentSource, new_ids: WriteIdRanges
) -> list[LocationChange]:
    """Compare each location with the state. Without a state all locations are new.

    `new_ids` are the write ids of the snapshot that the state has not seen.
    """
    return [_change(before, location, new_ids) for location in now.locations]


def _change(
    before: SourceState | None, now: CurrentLocation, new_ids: WriteIdRanges
) -> LocationChange:
    old = None if before is None else before.by_values.get(now.state.values)
    if before is None or old is None or old.is_empty:
        return LocationChange(now, Kind.NEW)
    lost = loss(before, now, new_ids)
    if lost is not None:
        return LocationChange(now, Kind.LOST, lost)
    kind = Kind.GROWN if has_grown(now.selected, new_ids) else Kind.UNCHANGED
    return LocationChange(now, kind, row_id_loss(now))


def new_bases(before: SourceState, now: CurrentSource) -> list[tuple[CurrentLocation, SelectedDir]]:
    """Return the compacted bases that the state has not seen, in locations that it has seen.

    The caller must look at their row ids: see `is_renumbered`. Insert-only rows have none.
    """
    if not now.state.is_full_acid:
        return []
    found = []
    for location in now.locations:
        old, base = before.by_values.get(location.state.values), location.selected.base
        if base is None or old is None or old.is_empty or old.base == base.directory.name:
            continue
        if location.is_base_compacted:
            found.append((location, base))
    return found


def first_write_ids(
    before: SourceState, now: CurrentSource, new_ids: WriteIdRanges, count: int
) -> WriteIdRanges:
    """Return the lowest new write ids, `count` of which can have left something in the locations.

    Write ids that left nothing do not count, so that each batch makes progress. Write ids that
    share a directory stay in one batch if their rows cannot be separated: in a base that merged new
    write ids, and in a directory of an insert-only table, whose rows carry no write id.
    """
    selected = [location.selected for location in now.locations]
    bases = {s.base.write_id_range[1] for s in selected if s.base is not None}
    deltas = {d.write_id_range for s in selected for d in s.all_deltas}
    with_evidence = WriteIdRanges.of(
        piece
        for low, high in (*deltas, *((1, high) for high in bases))
        for piece in new_ids.within(low, high).ranges
    )
    if with_evidence.count <= count:
        return new_ids
    tops = {with_evidence.lowest(count).last, *(new_ids.within(1, high).last for high in bases)}
    top = max(t for t in tops if t is not None)
    wide = [] if now.state.is_full_acid else [d for d in deltas if d[0] < d[1]]
    while True:
        forced = [
            last
            for low, high in wide
            if (last := new_ids.within(low, high).last) is not None
            and last > top
            and (new_ids.intersects(low, top) or has_seen(before.write_ids, low, high))
        ]
        if not forced:
            return new_ids.within(1, top)
        top = max(forced)


def highest_base(now: CurrentSource) -> int:
    """Return the highest write id that a base is named after; 0 without any base."""
    bases = (location.selected.base for location in now.locations)
    return max((base.write_id_range[1] for base in bases if base is not None), default=0)
