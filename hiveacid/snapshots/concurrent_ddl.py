"""Concurrent DDL: was a table that joins a snapshot late changed since the snapshot was taken?

The first tables are locked before the snapshot is taken, so no DROP TABLE or DROP PARTITION can
come between. A late table is locked afterwards. Its write ids show what happened in the meantime:

- Data that was written is in a directory of its own and is simply not visible.
- A dropped partition leaves a write id without a directory. Before Hive 4 it leaves nothing.
- TRUNCATE leaves an empty base. Before Hive 4 it removes everything, and leaves nothing.
- A table that was dropped and created again has no write id that the snapshot may see.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.errors import ConcurrentDdlError
from hiveacid.metastore.models import ServerInfo
from hiveacid.snapshots.tables import PinnedTable

UnexplainedWriteIds = Callable[[PinnedTable, frozenset[int]], frozenset[int]]
"""Returns which of some committed write ids of a table no directory is named after."""

CLOCK_TOLERANCE = 10
"""Seconds that the clocks of the metastore and of its database may differ."""

CONVERSION_WRITE_ID = 10_000_000
"""A table that Hive converts to a transactional one gets only write ids above this one."""

_ADVICE = "Take a new snapshot, and name the table when you open it."


def nothing_explained(pinned: PinnedTable, write_ids: frozenset[int]) -> frozenset[int]:
    """Return all write ids: without a listing the result is an error, never a wrong row."""
    return write_ids


def nothing_ruled_out(pinned: PinnedTable) -> bool:
    """Return that something may have been removed: without a log the result is an error."""
    return False


def check_unchanged(
    pinned: PinnedTable,
    fresh: ValidWriteIdList,
    snapshot_time: int,
    server: ServerInfo,
    unexplained: UnexplainedWriteIds,
    rules_out_drops: Callable[[PinnedTable], bool] = nothing_ruled_out,
) -> None:
    """Refuse a table that was changed by DDL between the snapshot and its lock.

    Args:
        pinned: the table with the write ids that the snapshot may see.
        fresh: the write ids committed once the lock was granted.
        snapshot_time: in seconds since the epoch, by the clock of the metastore's database.
        rules_out_drops: whether the metastore's notification log has no drop of a partition and no
            TRUNCATE since; asked only if the metastore is before Hive 4.

    Raises:
        ConcurrentDdlError: naming the table and the write id.
    """
    name, seen = pinned.table.name, pinned.write_ids
    created = pinned.table.create_time
    lowest = _lowest_write_id(fresh)
    sees_any = seen.high_watermark - lowest + 1 > len(seen.invalid)
    if not sees_any and created >= snapshot_time - CLOCK_TOLERANCE:
        when = datetime.fromtimestamp(created, tz=timezone.utc)
        raise ConcurrentDdlError(
            f"{name} was created at {when:%Y-%m-%d %H:%M:%S} UTC, when the snapshot was taken or "
            f"later (transaction {pinned.transaction_id}). The snapshot has no rows of it, and "
            f"rows of a previous table of this name are gone. {_ADVICE}"
        )
    if not sees_any and lowest > CONVERSION_WRITE_ID:
        raise ConcurrentDdlError(
            f"{name} was converted to a transactional table, or written for the first time since, "
            f"after the snapshot was taken (transaction {pinned.transaction_id}): its first write "
            f"id is {lowest}. {_ADVICE}"
        )
    later = range(max(seen.high_watermark + 1, lowest), fresh.high_watermark + 1)
    since = frozenset(id_ for id_ in (*seen.invalid, *later) if fresh.is_valid(id_))
    may_be_truncated = not server.traces_dropped_partitions and not pinned.table.partition_keys
    shown = _shown(seen, lowest) if may_be_truncated else frozenset()
    asked = since | shown
    without = unexplained(pinned, asked) if asked else asked
    missing = since & without
    if missing:
        ids = ", ".join(map(str, sorted(missing)))
        raise ConcurrentDdlError(
            f"{name} was changed after the snapshot was taken (transaction "
            f"{pinned.transaction_id}), and rows of the snapshot may be gone (DROP PARTITION, "
            f"ALTER TABLE): no directory is from write id {ids}. (An INSERT without rows leaves "
            f"the same trace.) {_ADVICE}"
        )
    if server.traces_dropped_partitions:
        return
    if pinned.table.partition_keys and not rules_out_drops(pinned):
        raise ConcurrentDdlError(
            f"{name} has partitions and was not locked when the snapshot was taken (transaction "
            f"{pinned.transaction_id}). A metastore before Hive 4 ({server.version}) does not "
            "record whether partitions were dropped or truncated since, and no notification log "
            f"rules it out. {_ADVICE}",
            code="HIVEACID_LATE_TABLE",
        )
    if shown and shown <= without and not rules_out_drops(pinned):
        raise ConcurrentDdlError(
            f"{name} was not locked when the snapshot was taken (transaction "
            f"{pinned.transaction_id}), and no directory is from its write ids. A metastore before "
            f"Hive 4 ({server.version}) does not record a TRUNCATE, and no notification log rules "
            f"one out. {_ADVICE}",
            code="HIVEACID_LATE_TABLE",
        )


def _shown(seen: ValidWriteIdList, lowest: int) -> frozenset[int]:
    """Return the write ids that the snapshot may see, without those that no write can have."""
    # A conversion reserves the write ids up to its own: no write has them.
    is_converted = seen.high_watermark >= CONVERSION_WRITE_ID
    first = CONVERSION_WRITE_ID + 1 if is_converted else lowest
    return frozenset(i for i in range(first, seen.high_watermark + 1) if seen.is_valid(i))


def _lowest_write_id(fresh: ValidWriteIdList) -> int:
    """Return the first write id that the table can have allocated since a conversion, if any."""
    return CONVERSION_WRITE_ID + 1 if fresh.high_watermark > CONVERSION_WRITE_ID else 1
