"""A source now: the state to store, and what only its listing shows. Pure.

Planning derives it once, from a pinned table and its listing. Everything after that compares two
records: the state that a target has stored, and the `CurrentSource`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from hiveacid.acid.selection import AcidState, is_compacted
from hiveacid.changes.decoding import Decoding
from hiveacid.changes.state import LocationState, SourceState
from hiveacid.changes.write_id_directories import base_directory
from hiveacid.reader.locations import Location
from hiveacid.snapshots.tables import PinnedTable


@dataclass(frozen=True)
class CurrentLocation:
    """A location now.

    `state` is the part that a target stores. `number` is the number of the partition in the
    snapshot, and `name` its name as Hive writes it (empty without partition keys). `selected` are
    the directories and files of the snapshot. `is_renumbered` says that the rows of its base may
    have new row ids. `is_merged` says that a compaction that merges files may have made its base,
    or any compacted directory of an insert-only table. In full-ACID tables only ORC footers show
    both, so `with_new_bases` sets them once they are read.
    """

    state: LocationState
    number: int
    name: str
    selected: AcidState
    is_base_compacted: bool
    decoding: Decoding
    is_renumbered: bool = False
    is_merged: bool = False


@dataclass(frozen=True)
class CurrentSource:
    """A source now: the state to store, and its locations in the state's order."""

    state: SourceState
    partition_keys: tuple[str, ...]
    locations: tuple[CurrentLocation, ...]

    @classmethod
    def of(
        cls, pinned: PinnedTable, locations: Sequence[Location], options: str, time_zone: str
    ) -> CurrentSource:
        """Return what a pinned table shows. For the arguments see `SourceState.of`."""
        state = SourceState.of(pinned, locations, options, time_zone)
        names = pinned.location_names
        merges_files = pinned.table.is_insert_only and pinned.merges_files()
        return cls(
            state,
            tuple(column.name for column in pinned.table.partition_keys),
            tuple(
                CurrentLocation(
                    stored,
                    location.partition,
                    names[location.partition],
                    location.state,
                    _is_base_compacted(location),
                    Decoding.of(pinned.table, location.storage),
                    is_merged=merges_files,
                )
                for stored, location in zip(state.locations, locations, strict=True)
            ),
        )

    def with_new_bases(self, renumbered: Collection[int], merged: Collection[int]) -> CurrentSource:
        """Return the same source, with what the footers of its new bases show.

        Args:
            renumbered: the numbers of the partitions whose bases may have new row ids.
            merged: the numbers of the partitions whose bases a compaction has merged of files.
        """
        if not renumbered and not merged:
            return self
        return replace(
            self,
            locations=tuple(
                replace(
                    location,
                    is_renumbered=location.number in renumbered,
                    is_merged=location.is_merged or location.number in merged,
                )
                for location in self.locations
            ),
        )


def _is_base_compacted(location: Location) -> bool:
    base = location.state.base
    return base is not None and is_compacted(location.listing, base_directory(base))
