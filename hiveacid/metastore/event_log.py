"""The metastore's notification log: commit times of write ids, and dropped partitions.

A metastore keeps the log if it has a listener (`metastore.transactional.event.listeners`, which is
`org.apache.hive.hcatalog.listener.DbNotificationListener`). It forgets old entries
(`metastore.event.db.listener.timetolive`).
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from hiveacid.errors import MetastoreError, MetastoreUnavailableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import NotificationEvent, TableName

BATCH = 10_000
MOST = 300_000
"""Limit of entries. A longer log is not read, because it would take minutes."""

_ALLOCATED = "ALLOC_WRITE_ID_EVENT"
_COMMITTED = "COMMIT_TXN"
_OF_TABLES = {"CREATE_TABLE", "ALTER_TABLE", "DROP_TABLE", "INSERT"}
_ALTERED = "ALTER_PARTITION"
_SKIPPED = ("OPEN_TXN", "ABORT_TXN", "ACID_WRITE_EVENT", "BATCH_ACID_WRITE_EVENT")
"""Frequent events that have no use here."""

_HARMLESS = {*_OF_TABLES, *_SKIPPED, _ALLOCATED, "ADD_PARTITION", "COMMIT_COMPACTION_EVENT"}
"""Events of a table after which each partition still has the rows that it had."""


@dataclass(frozen=True)
class TableEvents:
    """Events of one table in the notification log; times in seconds since the epoch.

    Attributes:
        since: the time of the oldest entry of the log.
        committed: the time of the commit by write id.
        allocated: the write ids that were allocated.
        dropped: for each drop, rename or move of a partition, the last write id that was allocated
            before; None if it is not in the log.
        knows_tables: whether the log has events of tables and partitions at all, which another
            listener writes.
        truncated: for each TRUNCATE of the table or a partition, the last write id that was
            allocated before; None if it is not in the log.
    """

    since: int
    committed: Mapping[int, int] = field(default_factory=dict)
    allocated: frozenset[int] = frozenset()
    dropped: tuple[int | None, ...] = ()
    knows_tables: bool = False
    truncated: tuple[int | None, ...] = ()

    def at(self, time: float, high_watermark: int) -> int | None:
        """Return the highest write id that was committed at a time, in seconds.

        Without a commit until then, it is the last write id before the log, or `high_watermark` if
        the log has no write id of the table. None if the log does not reach back so far.
        """
        if self.since > time:
            return None
        before = [write_id for write_id, when in self.committed.items() if when <= time]
        if before:
            return max(before)
        return min(self.allocated) - 1 if self.allocated else high_watermark

    def later(self, time: float, write_id: int) -> frozenset[int]:
        """Return the write ids below `write_id` that were committed after a time, in seconds."""
        return frozenset(i for i, when in self.committed.items() if i < write_id and when > time)

    def rules_out_drops(self, after: int, *, has_write_id: bool) -> bool:
        """Whether no partition was dropped, and nothing truncated, after an instant.

        Before Hive 4, TRUNCATE removes the files and leaves nothing. The log must reach back to the
        instant: it must have the instant's write id or an earlier one.
        """
        reaches_back = self.knows_tables and any(i <= after for i in self.allocated)
        if not reaches_back or self.drops_since(after, has_write_id=has_write_id):
            return False
        return not self._is_any_since(self.truncated, after, has_write_id)

    def drops_since(self, after: int, *, has_write_id: bool) -> bool:
        """Whether the log has a drop of a partition after an instant.

        Args:
            after: the write id of the instant.
            has_write_id: whether a drop takes a write id, as since Hive 4. It is at most the last
                one that was allocated.
        """
        return self._is_any_since(self.dropped, after, has_write_id)

    def _is_any_since(self, removals: Iterable[int | None], after: int, has_write_id: bool) -> bool:
        before_log = min(self.allocated) - 1 if self.allocated else None
        for given in removals:
            last = before_log if given is None else given
            if last is None or last > after or (last == after and not has_write_id):
                return True
        return False


def read_table_events(client: MetastoreClient, name: TableName) -> TableEvents | None:
    """Return the events of a table in the notification log.

    None if there is no log, if the caller may not read it, or if it has `MOST` entries or more.

    Raises:
        MetastoreUnavailableError: the metastore does not answer.
    """
    events: list[NotificationEvent] = []
    while len(events) < MOST:
        last = events[-1].id if events else 0
        try:
            batch = client.get_events(last, BATCH, _SKIPPED)
        except MetastoreUnavailableError:
            raise
        except MetastoreError:
            return None
        events += batch
        if len(batch) < BATCH:
            return table_events(events, name) if events else None
    return None


def table_events(events: Iterable[NotificationEvent], name: TableName) -> TableEvents | None:
    """Collect the events of a table. `events` have the oldest first.

    None without any event, or if an event does not have Hive's form.
    """
    since: int | None = None
    write_ids: dict[int, int] = {}
    allocated: set[int] = set()
    committed: dict[int, int] = {}
    dropped: list[int | None] = []
    truncated: list[int | None] = []
    knows_tables = False
    for event in events:
        since = event.time if since is None else min(since, event.time)
        knows_tables |= event.type in _OF_TABLES
        is_ours = (event.database.lower(), event.table.lower()) == (name.database, name.table)
        if event.type == _ALLOCATED and (is_ours or not event.table):
            message = message_of(event)
            # Hive 3.1 names the table in the message only.
            table = event.table or message.get("tableName")
            if not isinstance(table, str):
                return None
            if (event.database.lower(), table.lower()) != (name.database, name.table):
                continue
            txn_ids, given = message.get("txnIdList"), message.get("writeIdList")
            if not isinstance(txn_ids, list) or not isinstance(given, list):
                return None
            write_ids |= dict(zip(txn_ids, given, strict=True))
            allocated |= set(given)
        elif event.type == _COMMITTED:
            txn_id = message_of(event).get("txnid")
            if txn_id is None:
                return None
            if txn_id in write_ids:
                committed[write_ids[txn_id]] = event.time
        elif is_ours and event.type in ("CREATE_TABLE", "DROP_TABLE"):
            # A new table of the same name counts its write ids from the start.
            write_ids, allocated, committed, dropped, truncated = {}, set(), {}, [], []
        elif is_ours and not _is_harmless(event):
            dropped.append(max(allocated, default=None))
        elif is_ours and _is_truncation(event):
            truncated.append(max(allocated, default=None))
    if since is None:
        return None
    return TableEvents(
        since, committed, frozenset(allocated), tuple(dropped), knows_tables, tuple(truncated)
    )


def _is_harmless(event: NotificationEvent) -> bool:
    if event.type == _ALTERED:
        # Statistics alter a partition, too.
        message = message_of(event)
        before, after = message.get("partitionObjBeforeJson"), message.get("partitionObjAfterJson")
        return _values_and_location(before) == _values_and_location(after) != (None, None)
    return event.type in _HARMLESS or "_STAT_" in event.type


def _is_truncation(event: NotificationEvent) -> bool:
    """Whether an event that alters a table or a partition is that of a TRUNCATE."""
    if event.type not in ("ALTER_TABLE", _ALTERED):
        return False
    return str(message_of(event).get("isTruncateOp")).lower() == "true"


def _values_and_location(text: object) -> tuple[object, object]:
    """Return the values and the location of a `Partition` that thrift wrote as JSON."""
    try:
        fields = json.loads(str(text))
        return fields["1"]["lst"], fields["6"]["rec"]["2"]["str"]
    except (ValueError, LookupError, TypeError):
        return None, None


def message_of(event: NotificationEvent) -> Mapping[str, Any]:
    """Return the message of an event; empty if it cannot be read."""
    try:
        text = event.message
        if event.message_format.startswith("gzip"):
            text = gzip.decompress(base64.b64decode(text)).decode()
        message = json.loads(text)
    except (ValueError, OSError, EOFError):
        return {}
    return message if isinstance(message, Mapping) else {}
