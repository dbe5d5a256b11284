"""Statistics of a table as it is now, from metadata and a listing, without a lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from hiveacid.acid.selection import AcidState, select
from hiveacid.acid.write_ids import NO_OPEN_ID
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import Partition, Table
from hiveacid.snapshots.tables import UnlockedTable


@dataclass(frozen=True)
class TableStatistics:
    """Numbers about a table; None where a number is not known, or means nothing for the table.

    `rows` and `bytes` are Hive's own statistics, summed over the partitions; `bytes` is the size
    of the files. `are_exact` says whether Hive vouches for both:
    - they are marked as accurate (`COLUMN_STATS_ACCURATE`) and their writer is committed, which is
      Hive's own rule (`ObjectStore.isCurrentStatsValidForTheQuery`),
    - no write that the listing shows is younger,
    - no earlier write was aborted: Hive goes on counting the rows of an aborted write.

    `deltas` counts the delta and delete delta directories that a reader has to read, in all
    partitions together.
    """

    partitions: int | None
    rows: int | None
    bytes: int | None
    are_exact: bool
    deltas: int | None
    last_write_id: int

    @classmethod
    def of(cls, seen: UnlockedTable, states: Sequence[AcidState] | None) -> TableStatistics:
        """Count by the metadata; `states` has what a reader reads of each of `seen.storages`."""
        parts: Sequence[Table | Partition] = (
            seen.partitions if seen.table.partition_keys else [seen.table]
        )
        newest = [0 for _ in parts] if states is None else [_newest(state) for state in states]
        return cls(
            partitions=len(parts) if seen.table.partition_keys else None,
            rows=_sum(parts, "numRows"),
            bytes=_sum(parts, "totalSize"),
            are_exact=all(
                _are_exact(part, seen, write_id)
                for part, write_id in zip(parts, newest, strict=True)
            ),
            deltas=None if states is None else sum(len(state.all_deltas) for state in states),
            last_write_id=_last_committed(seen),
        )


def list_states(spark: SparkSession, seen: UnlockedTable) -> list[AcidState]:
    """Return what a reader would read of each location of a table.

    Raises:
        UnreadableTableError: a location cannot be listed, or cannot be understood.
    """
    listings = list_locations(spark, [storage.location for storage in seen.storages])
    return [select(listing, seen.write_ids, seen.valid_txns) for listing in listings]


def _newest(state: AcidState) -> int:
    """Return the highest write id that a directory of a location is named after."""
    return max((directory.write_id_range[1] for directory in state.directories), default=0)


def _last_committed(seen: UnlockedTable) -> int:
    """Return the highest valid write id; 0 if nothing has been written."""
    write_id = seen.write_ids.high_watermark
    while write_id in seen.write_ids.invalid:
        write_id -= 1
    return write_id


def _sum(parts: Sequence[Table | Partition], key: str) -> int | None:
    """Return the sum of a statistic; None if a part has no number."""
    values = [part.parameters.get(key, "") for part in parts]
    return sum(map(int, values)) if all(value.isdecimal() for value in values) else None


def _are_exact(part: Table | Partition, seen: UnlockedTable, newest: int) -> bool:
    return (
        _are_marked_accurate(part.parameters)
        and part.write_id is not None
        and part.write_id >= newest
        and seen.write_ids.is_valid(part.write_id)
        and part.write_id < min(seen.write_ids.aborted, default=NO_OPEN_ID)
    )


def _are_marked_accurate(parameters: Mapping[str, str]) -> bool:
    """Return what Hive's `StatsSetupConst.areBasicStatsUptoDate` returns."""
    try:
        marks = json.loads(parameters.get("COLUMN_STATS_ACCURATE", "{}"))
    except ValueError:
        return False  # an older Hive wrote true or false
    return isinstance(marks, dict) and str(marks.get("BASIC_STATS")).lower() == "true"
