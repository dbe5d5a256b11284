"""Last write of a table as it is now, found by a listing without a lock or transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import SparkSession

from hiveacid.acid.layout import Listing
from hiveacid.acid.location_writes import LocationWrites, Write, compactions, location_writes
from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.reader.locations import as_hive_lists, check_listed_alike, check_there
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import has_rows
from hiveacid.snapshots.tables import UnlockedTable

LOOKS = 3
"""Maximum number of attempts on a table that is compacted or cleaned meanwhile."""


class CompactedMeanwhileError(UnreadableTableError):
    """A table was compacted during each of the attempts to list its files without a lock."""

    code = "HIVEACID_FRESHNESS_UNKNOWN"


@dataclass(frozen=True)
class LastWrite:
    """Time of the newest committed write with data, in milliseconds since the epoch.

    With `is_bound` the write is part of a compaction: `time` is an upper bound, and the write came
    after `known`, the time of an earlier write; None if unknown.
    """

    time: int
    is_bound: bool = False
    known: int | None = None

    @property
    def at(self) -> datetime:
        """`time` in UTC."""
        return _utc(self.time)

    def __str__(self) -> str:
        if not self.is_bound:
            return f"at {self.at:%Y-%m-%d %H:%M:%S} UTC"
        after = "" if self.known is None else f"after {_utc(self.known):%Y-%m-%d %H:%M:%S} and "
        return f"{after}not after {self.at:%Y-%m-%d %H:%M:%S} UTC, when it was compacted"


def last_write(
    writes: Iterable[LocationWrites], has_data: Callable[[int, Write], bool]
) -> LastWrite | None:
    """Return the newest write of a table; None if no write has data.

    `has_data` is called with the number of a location, from 0, and a write; newest write first.
    """
    locations = list(writes)
    candidates = [(write.time, i, write) for i, w in enumerate(locations) for write in w.known]
    candidates.sort(key=lambda candidate: candidate[:2], reverse=True)
    newest = next((time for time, i, write in candidates if has_data(i, write)), None)
    bound = max(
        (
            compacted.time
            for i, w in enumerate(locations)
            for compacted in w.compacted
            if (newest is None or compacted.time > newest)
            # The time of the last write that a compaction has read is known while its delta exists.
            and not any(
                write.write_id == compacted.write_id and has_data(i, write) for write in w.known
            )
        ),
        default=None,
    )
    if bound is not None:
        return LastWrite(bound, is_bound=True, known=newest)
    return None if newest is None else LastWrite(newest)


def find_last_write(
    spark: SparkSession,
    see: Callable[[], UnlockedTable],
    valid_txns: Callable[[], ValidTxnList],
    footers: OrcFooters,
) -> LastWrite | None:
    """Return the newest write of a table as `see` returns it now; None if no write has data.

    Nothing is locked, so a compaction may commit, or Hive's cleaner may remove directories, during
    the listing. The table is then listed again, at most `LOOKS` times in all.

    Raises:
        CompactedMeanwhileError: a compaction committed during each listing.
        UnreadableTableError: a location cannot be listed, or has directories that are not Hive's.
    """
    for attempt in range(1, LOOKS + 1):
        seen = see()
        try:
            listings = list_locations(spark, [storage.location for storage in seen.storages])
            check_there(seen, listings)
            check_listed_alike(seen, listings)
            listings = as_hive_lists(seen, listings)
            writes = [location_writes(it, seen.write_ids, seen.valid_txns) for it in listings]
            if not _has_compacted(listings, seen.valid_txns, valid_txns()):
                return last_write(writes, _data_in(spark, seen, footers))
        except UnreadableTableError:
            if attempt == LOOKS:
                raise
    raise CompactedMeanwhileError(
        f"{seen.table.name} was compacted each of the {LOOKS} times that its files were "
        "listed. Try again."
    )


def _data_in(
    spark: SparkSession, seen: UnlockedTable, footers: OrcFooters
) -> Callable[[int, Write], bool]:
    storages = seen.storages
    return lambda i, write: has_rows(spark, seen.table.name, storages[i], write.files, footers)


def _has_compacted(listings: Iterable[Listing], before: ValidTxnList, after: ValidTxnList) -> bool:
    """Return whether a compaction has committed since the table was seen.

    Directories that the compaction replaced may be missing from the listing.
    """
    found = {txn for listing in listings for txn in compactions(listing)}
    return any(after.is_valid(txn) and not before.is_valid(txn) for txn in found)


def _utc(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, tz=timezone.utc)
