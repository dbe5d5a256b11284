"""Snapshot of all ACID tables of one run, under the shared locks of one transaction."""

from __future__ import annotations

import atexit
import getpass
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import (
    MetastoreError,
    MetastoreUnavailableError,
    TableNotFoundError,
    TransactionLostError,
    UnreadableTableError,
)
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import LockState, Table, TableName
from hiveacid.snapshots.late_tables import UnexplainedWriteIds, check_unchanged, nothing_explained
from hiveacid.snapshots.locks import LockPatience, acquire_shared_read
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import Requester, SnapshotSettings, Transaction


@dataclass(frozen=True)
class SnapshotReport:
    """The run's transaction and what it pinned; times in seconds.

    `lock_waits` says of each table how long the request waited in which it was locked.
    """

    transaction_id: int
    write_ids: Mapping[TableName, ValidWriteIdList]
    lock_waits: Mapping[TableName, float]
    lock_wait_seconds: float
    held_seconds: float

    @property
    def tables(self) -> str:
        """The tables' names, for a message."""
        return ", ".join(str(name) for name in sorted(self.write_ids))

    def line(self, ended_after: str | None) -> str:
        """What the log says once the transaction has ended; `ended_after` is the last reader."""
        if not self.write_ids:
            return "The run's transaction held no table"
        told = (
            f"One snapshot of {self.tables}: transaction {self.transaction_id}, held "
            f"{self.held_seconds:.1f} s, waited {self.lock_wait_seconds:.1f} s for locks"
        )
        return told if ended_after is None else f"{told}, ended after {ended_after}"


KEEP_EVERY_FILE = 0
"""Registered as a table's lowest write id, it keeps the cleaner off every file of the table."""


class Pinning:
    """The tables that one transaction has pinned. Not thread-safe.

    What makes the snapshot safe is the order of the first `pin`: lock all tables in one request,
    and take the transaction list, the write ids, the tables and the partitions, in this order,
    only once the locks are granted. Hive's SELECT takes its list before it locks, and must check
    afterwards whether a DROP and CREATE came in between; here nothing can.

    The list goes up to the metastore's high-water mark at that moment, not only up to this
    transaction's id: what was committed while waiting for a lock (the very statement waited for,
    say) is part of the snapshot. The cleaner spares its files all the same, since it removes what
    a compaction has replaced only once no transaction is open that began before the compaction
    ended.

    Tables that come later get the same transaction list, which was then taken before their lock:
    see `ddl.py` for what is checked.
    """

    def __init__(
        self, transaction: Transaction, patience: LockPatience, unexplained: UnexplainedWriteIds
    ) -> None:
        """`patience` is the run's; `unexplained` serves `ddl.check_unchanged`."""
        self.transaction = transaction
        self._client = transaction.client
        self._patience = patience
        self._unexplained = unexplained
        self._valid_txns: ValidTxnList | None = None
        self._pinned: dict[TableName, PinnedTable] = {}
        self._maybe_locked: set[TableName] = set()
        self._lock_wait_seconds = 0.0
        self._lock_waits: dict[TableName, float] = {}

    @property
    def tables(self) -> Mapping[TableName, PinnedTable]:
        """What has been pinned so far."""
        return self._pinned

    def pin(self, names: set[TableName]) -> dict[TableName, PinnedTable]:
        """The tables as the snapshot has them, locking and pinning those that are new.

        Raises `LockTimeoutError`, `TransactionLostError`, `TableNotFoundError`,
        `UnreadableTableError` for a table that is not transactional, and `ConcurrentDdlError`.
        """
        self.transaction.raise_if_gone()
        new = names - self._pinned.keys()
        if new:
            self._lock(new - self.transaction.locked)
            if self._valid_txns is None:
                self._pin_under_new_snapshot(new)
            else:
                self._pin_under_old_snapshot(new, self._valid_txns)
            self.transaction.raise_if_gone()
        return {name: self._pinned[name] for name in names}

    def report(self) -> SnapshotReport:
        """What is held, or was held when the transaction ended."""
        return SnapshotReport(
            transaction_id=self.transaction.id,
            write_ids={name: pinned.write_ids for name, pinned in self._pinned.items()},
            lock_waits=dict(self._lock_waits),
            lock_wait_seconds=self._lock_wait_seconds,
            held_seconds=self.transaction.held_seconds,
        )

    def _lock(self, names: set[TableName]) -> None:
        # A table locked before is never asked for again: behind an EXCLUSIVE that waits for this
        # transaction's first lock, a second one would wait for ever.
        if not names:
            return
        unsure = names & self._maybe_locked
        if unsure:
            raise MetastoreUnavailableError(
                f"The metastore failed while transaction {self.transaction.id} asked for a lock on "
                f"{', '.join(map(str, sorted(unsure)))}, so whether it holds one is unknown. "
                "Run dbt again."
            )
        if self._valid_txns is not None:
            # The connection may have been cut while Spark worked. This call may be repeated, and
            # renews it; a lock request may not.
            self.transaction.check_alive()
        try:
            waited = acquire_shared_read(self.transaction, names, self._patience)
        except MetastoreError:
            # A request that the metastore answers with an error may be queued all the same.
            self._maybe_locked |= names
            raise
        self._lock_wait_seconds += waited
        self._lock_waits.update(dict.fromkeys(names, waited))
        self.transaction.locked.update(names)
        if self.transaction.server.min_history_write_ids:
            self._client.add_write_ids_to_min_history(
                self.transaction.id, dict.fromkeys(names, KEEP_EVERY_FILE)
            )

    def _pin_under_new_snapshot(self, names: set[TableName]) -> None:
        valid_txns = self._client.get_valid_txns()
        write_ids = self._client.get_valid_write_ids(names, valid_txns)
        self._pinned.update(self._look_up(names, write_ids, valid_txns))
        self._valid_txns = valid_txns

    def _pin_under_old_snapshot(self, names: set[TableName], valid_txns: ValidTxnList) -> None:
        write_ids = self._client.get_valid_write_ids(names, valid_txns)
        fresh = self._client.get_valid_write_ids(names, self._client.get_valid_txns())
        pinned = self._look_up(names, write_ids, valid_txns)
        snapshot_time, server = self._snapshot_time(), self.transaction.server
        for name in sorted(names):
            check_unchanged(pinned[name], fresh[name], snapshot_time, server, self._unexplained)
        self._pinned.update(pinned)

    def _look_up(
        self,
        names: set[TableName],
        write_ids: Mapping[TableName, ValidWriteIdList],
        valid_txns: ValidTxnList,
    ) -> dict[TableName, PinnedTable]:
        tables = self._client.get_tables(names)
        for name in sorted(names):
            _check_readable(name, tables.get(name), self.transaction.id)
        return {
            name: PinnedTable(
                table=table,
                partitions=self._client.get_partitions(name) if table.partition_keys else (),
                write_ids=write_ids[name],
                valid_txns=valid_txns,
                transaction_id=self.transaction.id,
            )
            for name, table in tables.items()
        }

    def _snapshot_time(self) -> int:
        """When the first lock was granted, just before the snapshot, in seconds since the epoch.

        By the clock of the metastore's database: ours may differ.
        """
        first = next(iter(self._pinned))
        for lock in self._client.show_locks(first):
            if lock.transaction_id == self.transaction.id and lock.state is LockState.ACQUIRED:
                if lock.acquired_at is not None:
                    return lock.acquired_at // 1000
        self.transaction.check_alive()
        raise MetastoreError(
            f"The metastore does not list the lock of transaction {self.transaction.id} on "
            f"{first}, though the transaction is open. Run dbt again."
        )


def _check_readable(name: TableName, table: Table | None, transaction_id: int) -> None:
    # The metastore grants locks on tables that do not exist and gives them write ids, too.
    if table is None:
        raise TableNotFoundError(
            f"The metastore has no table {name} (looked up under its lock in transaction "
            f"{transaction_id}). Check the source's schema and identifier; it may just have been "
            "dropped."
        )
    if not table.is_transactional:
        raise UnreadableTableError(
            f"{name} is not a transactional table: it has been dropped and created as another "
            f"kind since it was looked up. Run dbt again."
        )


logger = logging.getLogger("hiveacid")


class RunSnapshot:
    """One consistent view of all ACID sources of a run: one transaction, opened when first needed.

    All threads of a run share it. `pin` calls take turns, so that the first opens the transaction
    and the others find its tables; `check_alive`, `end` and `abort` do not wait for a `pin` that
    waits for locks. After `end` or `abort` the next `pin` begins a new snapshot.

    Ending at exit is seen to; a signal handler should raise `SystemExit` rather than call `end`.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        settings: SnapshotSettings,
        agent_info: str,
        *,
        unexplained: UnexplainedWriteIds = nothing_explained,
        on_lost: Callable[[TransactionLostError], None] | None = None,
        raise_if_cancelled: Callable[[], None] = lambda: None,
    ) -> None:
        """Open nothing yet.

        `client_factory` makes one client for the run's calls and one for its heartbeats.
        `agent_info` tells an administrator who holds the transaction and its locks.
        `unexplained` lists a table and says which write ids have no directory; it is asked only
        about tables that join after the first `pin`. `on_lost` is called once when the transaction
        is found lost, possibly on another thread: the time to cancel what reads under it.
        `raise_if_cancelled` raises if nobody waits any more for what the calling thread does; it is
        asked before a `pin` begins and while it waits for locks.
        """
        self._client_factory = client_factory
        self._settings = settings
        self._agent_info = agent_info
        self._unexplained = unexplained
        self._on_lost = on_lost
        self._patience = LockPatience(settings.lock_timeout, raise_if_cancelled)
        self._pin_lock = threading.RLock()
        self._swap_lock = threading.RLock()
        self._pinning: Pinning | None = None
        self._last: Pinning | None = None

    @property
    def transaction_id(self) -> int | None:
        """The open transaction's id, None while there is none."""
        pinning = self._pinning
        return None if pinning is None else pinning.transaction.id

    @property
    def lost(self) -> TransactionLostError | None:
        """The loss of the present transaction, or of the last one if there is none now."""
        pinning = self._pinning or self._last
        return None if pinning is None else pinning.transaction.lost

    def pin(self, tables: Iterable[TableName]) -> dict[TableName, PinnedTable]:
        """The tables as the run sees them; what is pinned once stays the same until `end`.

        Name all tables that can be foreseen in the first call: they are locked in one request and
        are safe from any DDL. Raises what `Pinning.pin` raises and `WriteIdsNotSupportedError`.
        If no table has been pinned yet, a failure ends the transaction.
        """
        names = set(tables)
        if not names:
            return {}
        with self._pin_lock:
            self._patience.raise_if_cancelled()
            pinning = self._pinning or self._open()
            try:
                return pinning.pin(names)
            except BaseException:
                if not pinning.tables:
                    self.abort()
                raise

    def check_alive(self) -> None:
        """Ask the metastore now whether the run's transaction is still open.

        Raises `TransactionLostError`. Returns at once when no table has been pinned.
        """
        pinning = self._pinning
        if pinning is not None:
            pinning.transaction.check_alive()

    def end(self) -> None:
        """Commit the transaction and release its locks; does nothing if there is none."""
        self._patience.in_vain.clear()
        self._finish(commit=True)

    def abort(self) -> None:
        """Abort the transaction and release its locks; does nothing if there is none."""
        self._finish(commit=False)

    def report(self) -> SnapshotReport | None:
        """What the run holds, or held last; None before the first `pin`."""
        pinning = self._pinning or self._last
        return None if pinning is None else pinning.report()

    def _open(self) -> Pinning:
        requester = Requester(_user(), socket.gethostname(), self._agent_info)
        transaction = Transaction(self._client_factory, self._settings, requester, self._on_lost)
        self._pinning = Pinning(transaction, self._patience, self._unexplained)
        atexit.register(self.end)
        logger.debug(f"Opened transaction {transaction.id} ({self._agent_info}).")
        return self._pinning

    def _finish(self, commit: bool) -> None:
        with self._swap_lock:
            pinning, self._pinning = self._pinning, None
            if pinning is None:
                return
            self._last = pinning
        try:
            pinning.transaction.end(commit)
        except BaseException:
            # Interrupted: whoever ends the run next, or the exit of Python, tries again.
            with self._swap_lock:
                self._pinning = self._pinning or pinning
            raise
        with self._swap_lock:
            if self._pinning is None:
                atexit.unregister(self.end)
        logger.debug(
            f"Ended transaction {pinning.transaction.id}, open for "
            f"{pinning.transaction.held_seconds:.1f} s."
        )


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # As in a container that runs under any user id: it has no name.
        return str(os.getuid())
