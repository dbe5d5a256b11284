"""What the metastore says about transactions and locks, as plain immutable data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.hiveacid.metastore.models import TableName


class LockState(Enum):
    """State of a lock request (thrift `LockState`)."""

    ACQUIRED = 1
    WAITING = 2
    ABORT = 3
    NOT_ACQUIRED = 4


class LockType(Enum):
    """Type of a lock (thrift `LockType`); `EXCL_WRITE` since Hive 4."""

    SHARED_READ = 1
    SHARED_WRITE = 2
    EXCLUSIVE = 3
    EXCL_WRITE = 4


class TransactionState(Enum):
    """What a heartbeat says of a transaction. `UNKNOWN`: committed, or never opened here."""

    OPEN = "open"
    ABORTED = "aborted"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class LockResponse:
    """Answer to a lock request: its id, with which to ask again, and its state."""

    lock_id: int
    state: LockState


@dataclass(frozen=True)
class LockInfo:
    """A lock as `show_locks` lists it (thrift `ShowLocksResponseElement`).

    `acquired_at` is in milliseconds since the epoch by the clock of the metastore's database, None
    while the lock waits; `blocked_by` is the id of the lock that it waits for, where known.
    `transaction_id` is 0 for a lock outside a transaction; `table` is None for a database's lock.
    """

    lock_id: int
    state: LockState
    type: LockType
    database: str
    table: str | None
    partition: str | None
    transaction_id: int
    user: str
    host: str
    agent_info: str | None
    acquired_at: int | None
    blocked_by: int | None

    def is_on(self, name: TableName) -> bool:
        """Whether the lock concerns the table: it, a partition of it or its whole database."""
        return self.database.lower() == name.database and (
            self.table is None or self.table.lower() == name.table
        )


@dataclass(frozen=True)
class ServerInfo:
    """What a metastore can do, found out without opening a transaction.

    `transaction_timeout` is in seconds (`metastore.txn.timeout`). With `min_history_write_ids`
    (`metastore.txn.use.minhistorywriteid`) the cleaner heeds only readers that have registered
    their write ids.
    """

    version: str
    supports_write_ids: bool
    transaction_timeout: float
    min_history_write_ids: bool

    @property
    def traces_dropped_partitions(self) -> bool:
        """Whether DROP PARTITION leaves a write id, as it does since Hive 4."""
        major = self.version.partition(".")[0]
        return major.isdecimal() and int(major) >= 4
