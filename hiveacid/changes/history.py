"""History of a pinned table: the earlier instants that can still be read.

Nothing records which directories once existed. So an instant is read only if the listing, and what
the metastore knows of its cleaner, leave no doubt: see `acid.time_travel`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from pyspark.sql import SparkSession

from hiveacid.acid.layout import Listing
from hiveacid.acid.time_travel import (
    Cleaning,
    Obstacle,
    cut,
    has_something_at,
    instants_needed,
    listing_at,
    listing_since,
    obstacles,
    traceless,
)
from hiveacid.acid.write_ids import WriteIdRanges
from hiveacid.errors import InstantLostError, InvalidSettingError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.event_log import TableEvents, read_table_events
from hiveacid.metastore.models import Compaction, CompactionState, ServerInfo, TableName
from hiveacid.reader.locations import as_hive_lists
from hiveacid.snapshots.concurrent_ddl import CONVERSION_WRITE_ID
from hiveacid.snapshots.tables import PinnedTable

_LOOKS = 5
_PAUSE = 0.3
"""At most `_LOOKS` listings of a table whose compactions change meanwhile.

`_PAUSE` is the seconds to wait after the first listing; each later wait is longer by as much."""


@dataclass(frozen=True)
class Evidence:
    """What the metastore knows of a table's history.

    `events` is None without a notification log. `compactions` are the ones that the metastore
    listed both before and after the table's directories were listed; None if they kept changing.
    """

    server: ServerInfo
    compactions: tuple[Compaction, ...] | None = None
    read_events: Callable[[], TableEvents | None] = lambda: None

    @cached_property
    def events(self) -> TableEvents | None:
        """The table's events in the notification log, which is read when it is first needed."""
        return self.read_events()

    def cleaning(self, partition: str) -> Cleaning:
        """Return what is known of the cleaner in one location."""
        if self.compactions is None:
            return Cleaning(may_be_partial=True)
        here = [found for found in self.compactions if found.partition in (partition, "")]
        partial = [found for found in here if _may_be_partial(found)]
        cleaned = [found for found in here if found.state is CompactionState.SUCCEEDED]
        # The cleaner of a later compaction removes what an earlier one merged, too.
        last = max((found.id for found in (*partial, *cleaned)), default=0)
        untouched = frozenset(
            found.transaction_id
            for found in here
            if found.transaction_id and found.id > last and _is_untouched(found)
        )
        return Cleaning(untouched, may_be_partial=bool(partial))


def _is_untouched(compaction: Compaction) -> bool:
    return (
        compaction.state is CompactionState.READY_FOR_CLEANING
        and not compaction.cleaning_began
        and not compaction.error
    )


def _may_be_partial(compaction: Compaction) -> bool:
    """Whether the cleaner may have removed a part of what a compaction merged."""
    if compaction.state is CompactionState.READY_FOR_CLEANING:
        return not _is_untouched(compaction)
    return compaction.state in (CompactionState.FAILED, CompactionState.OTHER)


@dataclass(frozen=True)
class Point:
    """A write id at which a table is read, without lower write ids that were committed `later`."""

    write_id: int
    later: frozenset[int] = frozenset()

    def __str__(self) -> str:
        if not self.later:
            return str(self.write_id)
        return f"{self.write_id} without {WriteIdRanges.of_ids(self.later)}, committed later"


@dataclass(frozen=True)
class Instant:
    """A table at one point: the pinned table, and listings that show nothing later."""

    pinned: PinnedTable
    listings: tuple[Listing, ...]

    @property
    def write_id(self) -> int:
        """The write id."""
        return self.pinned.write_ids.high_watermark


@dataclass(frozen=True)
class History:
    """History of a pinned table, which may be narrowed to some partitions.

    `listings` are the listings of `pinned`; `list_whole` lists all partitions of the table.
    """

    pinned: PinnedTable
    listings: tuple[Listing, ...]
    evidence: Evidence
    list_whole: Callable[[], Sequence[Listing]]

    @property
    def name(self) -> TableName:
        """Name of the table."""
        return self.pinned.table.name

    @property
    def newest(self) -> int:
        """The highest write id of the snapshot."""
        return self.pinned.write_ids.high_watermark

    @cached_property
    def obstacles(self) -> tuple[Obstacle, ...]:
        """What keeps earlier instants of the locations from being read."""
        table, found = self.pinned.table, list[Obstacle]()
        names = self.pinned.location_names
        for i, (storage, listing) in enumerate(
            zip(self.pinned.storages, self.listings, strict=True)
        ):
            found += obstacles(
                listing,
                self.pinned.write_ids,
                self.pinned.valid_txns,
                self.evidence.cleaning(names[i]),
                is_full_acid=table.is_full_acid,
                path=storage.location,
                create_time=self.pinned.partitions[i].create_time if table.partition_keys else 0,
                first=self._first,
            )
        return tuple(found)

    def at(self, write_id: int) -> Instant:
        """Return the table as of a write id; raises as `at_point` does."""
        return self.at_point(Point(write_id))

    def at_point(self, point: Point) -> Instant:
        """Return the table as of a write id, without the lower ones that were committed later.

        Raises:
            InvalidSettingError: the snapshot has no such write id.
            InstantLostError: the rows cannot be determined with certainty; the message says why.
        """
        write_id, later = point.write_id, point.later
        self.check_known(write_id)
        pinned = replace(self.pinned, write_ids=cut(self.pinned.write_ids, write_id, later))
        if write_id == self.newest and not later:
            return Instant(pinned, self.listings)
        needed = instants_needed(write_id, later)
        for obstacle in self.obstacles:
            if any(map(obstacle.hides, needed)):
                raise self._lost(point, f"{obstacle.directory} {obstacle.why}")
        for removed in map(self._removed_since, needed):
            if removed:
                raise self._lost(point, removed)
        listings = zip(self.pinned.storages, self.listings, strict=True)
        is_full_acid = self.pinned.table.is_full_acid
        return Instant(
            pinned,
            tuple(
                listing_at(
                    listing,
                    write_id,
                    self.pinned.valid_txns,
                    is_full_acid=is_full_acid,
                    path=storage.location,
                    later=later,
                )
                for storage, listing in listings
            ),
        )

    def until(self, write_id: int, since: int) -> Instant:
        """Return the table as of `write_id`, with the directories of the changes after `since`.

        Raises:
            InvalidSettingError, InstantLostError: as `at` does, for one of the two.
        """
        if since > write_id:
            raise InvalidSettingError(
                f"The changes of {self.name} cannot go from write id {since} back to write id "
                f"{write_id}. Give the lower one as `since`.",
                code="HIVEACID_INVALID_CHANGE_RANGE",
            )
        instant = self.at(write_id)
        is_full_acid = self.pinned.table.is_full_acid
        renumbering = {
            found.transaction_id
            for found in self.evidence.compactions or ()
            if found.renumbers and found.transaction_id
        }
        kept = (
            listing_since(
                listing,
                since,
                self.pinned.valid_txns,
                is_full_acid=is_full_acid,
                renumbering=renumbering,
            )
            for listing in instant.listings
        )
        return replace(instant, listings=tuple(kept))

    def check_known(self, write_id: int) -> None:
        """Refuse a write id that the snapshot does not have.

        Raises:
            InvalidSettingError: the write id is negative, or above the snapshot's highest one.
        """
        if not 0 <= write_id <= self.newest:
            raise InvalidSettingError(
                f"{self.name} has no write id {write_id} in this snapshot: its write ids go from 0 "
                f"(before the first write) to {self.newest}. Ask for one of them, or take a new "
                "snapshot if the write was committed since.",
                code="HIVEACID_UNKNOWN_WRITE_ID",
            )

    def readable_after(self, write_id: int) -> str:
        """Return the sentence that names the instants after a lost one that can still be read."""
        first = max((found.high for found in self.obstacles), default=0)
        first = max(first, write_id + 1)
        ends = {last for _, last in self._unexplained.ranges}
        if self.evidence.events is not None:
            ends |= self.evidence.events.allocated
        # An instant is lost up to a write id at which something may have been removed.
        for instant in [first, *sorted(end for end in ends if first < end < self.newest)]:
            if instant < self.newest and not self._removed_since(instant):
                return f"The write ids {instant} to {self.newest} can be read."
        return f"Only the newest write id, {self.newest}, can be read."

    @property
    def _first(self) -> int:
        return CONVERSION_WRITE_ID + 1 if self.newest > CONVERSION_WRITE_ID else 1

    def _removed_since(self, write_id: int) -> str:
        """Return what may have removed rows since an instant, without leaving a directory."""
        if write_id < self._first and self._first == 1:
            return ""
        if not self.pinned.table.partition_keys:
            return self._unpartitioned_removal(write_id)
        events, traces = self.evidence.events, self.evidence.server.traces_dropped_partitions
        if events is not None and events.drops_since(write_id, has_write_id=traces):
            return "the metastore's notification log shows that a partition was dropped since"
        if events is not None and events.rules_out_drops(write_id, has_write_id=traces):
            return ""
        if not traces:
            return (
                f"a metastore of version {self.evidence.server.version}, before Hive 4, does "
                "not record whether a partition was dropped or truncated since"
            )
        dropped = self._unexplained.within(write_id + 1, self.newest)
        if dropped:
            return (
                f"no directory is named after write id {dropped}, so a partition may have been "
                "dropped since (a statement that wrote no row, ALTER TABLE and a compaction whose "
                "directories were cleaned leave the same trace)"
            )
        return ""

    def _unpartitioned_removal(self, write_id: int) -> str:
        # Hive 3's TRUNCATE removes all directories and leaves no base.
        if any(has_something_at(listing, write_id) for listing in self.listings):
            return ""
        before = self._unexplained.within(0, write_id)
        after = self._unexplained.within(write_id + 1, self.newest)
        if before and (after or not self.evidence.server.traces_dropped_partitions):
            return (
                f"no directory is from write ids {before}, so the table may have been "
                "truncated since (statements that wrote no row leave the same trace)"
            )
        return ""

    @cached_property
    def _unexplained(self) -> WriteIdRanges:
        """The write ids without a directory, which may have removed other directories."""
        ids, first = self.pinned.write_ids, self._first
        if not self.pinned.table.partition_keys:
            return traceless(ids, self.listings, by_name=False, first=first)
        found = traceless(ids, self.listings, by_name=True, first=first)
        return traceless(ids, self.list_whole(), by_name=True, first=first) if found else found

    def _lost(self, point: Point, why: str) -> InstantLostError:
        return InstantLostError(
            f"{self.name} can no longer be read as of write id {point}: {why}. "
            f"{self.readable_after(point.write_id)}"
        )


def look_back(
    spark: SparkSession,
    pinned: PinnedTable,
    whole: PinnedTable,
    client: MetastoreClient,
    server: ServerInfo,
) -> History:
    """Return the history of a table: list it, and ask the metastore about its compactions.

    Args:
        pinned: the table with the chosen partitions.
        whole: the table with all partitions.

    Raises:
        UnreadableTableError: a location cannot be listed.
        MetastoreError: the metastore could not be asked.
    """
    name = pinned.table.name
    locations = [storage.location for storage in pinned.storages]
    listings: list[Listing] = []
    compactions: tuple[Compaction, ...] | None = None
    # The cleaner may remove directories while they are listed. If it has not begun with a
    # compaction after the listing, it had not begun before it either.
    for look in range(_LOOKS):
        before = _sorted(client.get_compactions(name))
        listings = as_hive_lists(pinned, list_locations(spark, locations))
        if before == _sorted(client.get_compactions(name)):
            compactions = before
            break
        time.sleep(_PAUSE * (look + 1))

    def list_whole() -> Sequence[Listing]:
        if len(whole.storages) == len(locations):
            return listings
        found = list_locations(spark, [storage.location for storage in whole.storages])
        return as_hive_lists(whole, found)

    evidence = Evidence(server, compactions, lambda: read_table_events(client, name))
    return History(pinned, tuple(listings), evidence, list_whole)


def _sorted(compactions: Iterable[Compaction]) -> tuple[Compaction, ...]:
    return tuple(sorted(compactions, key=lambda found: found.id))
