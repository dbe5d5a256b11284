"""Was a table that joins a running snapshot changed by DDL since that snapshot was taken?

The first tables of a run are locked before the snapshot is taken, so no DROP TABLE or DROP
PARTITION can come between. A table that nobody foresaw is locked later, and its write ids show
what happened to it in the meantime: data that was written since lies in a directory of its own and
is simply not visible, but a dropped partition leaves a write id with nothing behind it, and a
table that was dropped and created anew has no write id that the snapshot may see. Before Hive 4 a
dropped partition leaves nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timezone

from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.errors import ConcurrentDdlError
from hiveacid.metastore.models import ServerInfo
from hiveacid.snapshots.tables import PinnedTable

UnexplainedWriteIds = Callable[[PinnedTable, frozenset[int]], frozenset[int]]
"""Which of some committed write ids of a table have no directory (base, delta, delete delta)."""

CLOCK_TOLERANCE = 10
"""Seconds that the clocks of the metastore and of its database may differ."""

CONVERSION_WRITE_ID = 10_000_000
"""Hive gives a table that it converts to a transactional one only write ids above this one."""

_ADVICE = (
    "Run dbt again, and do not change the table's structure meanwhile; a source that the selected "
    "models name is locked at the start of the run."
)


def nothing_explained(pinned: PinnedTable, write_ids: frozenset[int]) -> frozenset[int]:
    """Without a listing every write id counts as unexplained: an error, never a wrong row."""
    return write_ids


def check_unchanged(
    pinned: PinnedTable,
    fresh: ValidWriteIdList,
    snapshot_time: int,
    server: ServerInfo,
    unexplained: UnexplainedWriteIds,
) -> None:
    """Check a table that was locked after the snapshot was taken.

    `pinned` has the write ids that the snapshot may see, `fresh` those committed once the lock was
    granted; `snapshot_time` is in seconds since the epoch by the clock of the metastore's database.
    Raises `ConcurrentDdlError` that names the table and the write id.
    """
    name, seen = pinned.table.name, pinned.write_ids
    created = pinned.table.create_time
    lowest = _lowest_write_id(fresh)
    sees_any = seen.high_watermark - lowest + 1 > len(seen.invalid)
    if not sees_any and created >= snapshot_time - CLOCK_TOLERANCE:
        when = datetime.fromtimestamp(created, tz=timezone.utc)
        raise ConcurrentDdlError(
            f"{name} was created at {when:%Y-%m-%d %H:%M:%S} UTC, when the snapshot of this run "
            f"was taken or later (transaction {pinned.transaction_id}): the snapshot holds nothing "
            f"of it, and the rows of a former table of this name, if any, are gone. {_ADVICE}"
        )
    if not sees_any and lowest > CONVERSION_WRITE_ID:
        raise ConcurrentDdlError(
            f"{name} was converted to a transactional table, or written for the first time since, "
            f"after the snapshot of this run was taken (transaction {pinned.transaction_id}): its "
            f"first write id is {lowest}. {_ADVICE}"
        )
    later = range(max(seen.high_watermark + 1, lowest), fresh.high_watermark + 1)
    since = frozenset(id_ for id_ in (*seen.invalid, *later) if fresh.is_valid(id_))
    missing = unexplained(pinned, since) if since else since
    if missing:
        ids = ", ".join(map(str, sorted(missing)))
        raise ConcurrentDdlError(
            f"{name} was changed after the snapshot of this run was taken (transaction "
            f"{pinned.transaction_id}), in a way that may have removed rows of the snapshot, such "
            f"as DROP PARTITION or ALTER TABLE: nothing on disk explains write id {ids}. (An "
            f"INSERT that wrote no row leaves the same trace.) {_ADVICE}"
        )
    if pinned.table.partition_keys and not server.traces_dropped_partitions:
        raise ConcurrentDdlError(
            f"{name} has partitions and was not locked at the start of the run (transaction "
            f"{pinned.transaction_id}): a metastore of version {server.version}, before Hive 4, "
            "does not tell whether one was dropped since the snapshot of this run was taken. Let a "
            "selected model name it as a source (`-- depends_on: {{ source(…) }}` does), so that "
            "it is locked with the others."
        )


def _lowest_write_id(fresh: ValidWriteIdList) -> int:
    """The first write id that the table can have given; those below a conversion's are none."""
    return CONVERSION_WRITE_ID + 1 if fresh.high_watermark > CONVERSION_WRITE_ID else 1
