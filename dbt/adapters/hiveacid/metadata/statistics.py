"""Statistics of a table for dbt docs, from metadata and a listing, without a lock."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import SparkSession

from hiveacid.acid.selection import AcidState, select
from hiveacid.acid.write_ids import NO_OPEN_ID
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import Partition, Table
from hiveacid.snapshots.tables import UnlockedTable

logger = AdapterLogger("HiveAcid")
MOST_LOCATIONS = 1000
"""Partitions up to which a table is listed for the docs; more would take longer than the rest."""


def states_for_docs(spark: SparkSession, seen: UnlockedTable) -> list[AcidState] | None:
    """Return what a reader would read of each location; None if the docs do without it.

    The docs do without the number of deltas rather than fail. The log tells the reason.
    """
    storages = seen.storages
    if len(storages) > MOST_LOCATIONS:
        reason = f"it has {len(storages)} partitions, more than {MOST_LOCATIONS}"
    else:
        try:
            listings = list_locations(spark, [storage.location for storage in storages])
            return [select(listing, seen.write_ids, seen.valid_txns) for listing in listings]
        except UnreadableTableError as error:
            reason = error.message
    logger.info(f"The docs do not say how many deltas {seen.table.name} has: {reason}")
    return None


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

    def entries(self) -> dict[str, str | int | bool]:
        """Return dbt's form: `stats:<id>:label`, `:value`, `:description` and `:include`."""
        kept = "by Hive's statistics in the metastore"
        doubt = (
            ""
            if self.are_exact
            else ". They do not cover every write: ANALYZE TABLE … COMPUTE STATISTICS in Hive "
            "brings them up to date"
        )
        inexact = "" if self.are_exact else " (not exact)"
        found = [
            ("rows", f"Rows{inexact}", self.rows, f"Rows {kept}{doubt}."),
            ("bytes", f"Bytes{inexact}", self.bytes, f"Size of the files {kept}{doubt}."),
            ("partitions", "Partitions", self.partitions, "Partitions in the metastore."),
            (
                "deltas",
                "Deltas",
                self.deltas,
                "Delta and delete delta directories that a reader has to read.",
            ),
            (
                "last_write_id",
                "Last write id",
                self.last_write_id,
                "The highest committed write id. DDL takes write ids, too.",
            ),
        ]
        entries: dict[str, str | int | bool] = {}
        for name, label, value, description in found:
            if value is not None:
                entries[f"stats:{name}:label"] = label
                entries[f"stats:{name}:value"] = value
                entries[f"stats:{name}:description"] = description
                entries[f"stats:{name}:include"] = True
        return entries


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
