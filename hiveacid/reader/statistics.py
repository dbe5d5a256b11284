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
from hiveacid.reader.locations import as_hive_lists
from hiveacid.snapshots.tables import UnlockedTable


@dataclass(frozen=True)
class TableStatistics:
    """Statistics of a table; None where a number is unknown or does not apply to the table.

    `rows` and `bytes` are Hive's own statistics, summed over the partitions; `bytes` is the size
    of the files. `are_exact` is true if all of these hold:
    - the statistics are marked as accurate (`COLUMN_STATS_ACCURATE`) and their writer is committed,
      which is Hive's own rule (`ObjectStore.isCurrentStatsValidForTheQuery`),
    - the listing shows no newer write,
    - no earlier write was aborted: Hive keeps counting the rows of an aborted write.

    `deltas` is the number of delta and delete delta directories that a reader must read, in all
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
        """Sum the metadata; `states` has the ACID state of each of `seen.storages`, if listed."""
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
    """List a table's locations, and return the ACID state of each.

    Raises:
        UnreadableTableError: a location cannot be listed, or has directories that are not Hive's.
    """
    found = list_locations(spark, [storage.location for storage in seen.storages])
    listings = as_hive_lists(seen, found)
    return [select(listing, seen.write_ids, seen.valid_txns) for listing in listings]


def _newest(state: AcidState) -> int:
    """Return the highest write id in the names of a location's directories."""
    return max((directory.write_id_range[1] for directory in state.directories), default=0)


def _last_committed(seen: UnlockedTable) -> int:
    """Return the highest valid write id; 0 if nothing has been written."""
    write_id = seen.write_ids.high_watermark
    while write_id in seen.write_ids.invalid:
        write_id -= 1
    return write_id


def _sum(parts: Sequence[Table | Partition], key: str) -> int | None:
    """Return the sum of a statistic; None if it is missing in a part."""
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
    """Return whether basic statistics are accurate (`StatsSetupConst.areBasicStatsUptoDate`)."""
    try:
        marks = json.loads(parameters.get("COLUMN_STATS_ACCURATE", "{}"))
    except ValueError:
        return False  # an older Hive wrote true or false
    return isinstance(marks, dict) and str(marks.get("BASIC_STATS")).lower() == "true"
