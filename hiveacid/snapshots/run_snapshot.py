"""Snapshot of several ACID tables, under the shared locks of one transaction."""

from __future__ import annotations

import atexit
import logging
import socket
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import (
    MetastoreError,
    MetastoreUnavailableError,
    SnapshotEndedError,
    TableNotFoundError,
    TransactionLostError,
    UnreadableTableError,
)
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.event_log import read_table_events
from hiveacid.metastore.models import HiveView, LockState, ServerInfo, Table, TableName
from hiveacid.metastore.security.opening import operating_system_user
from hiveacid.snapshots.late_tables import UnexplainedWriteIds, check_unchanged, nothing_explained
from hiveacid.snapshots.locks import LockPatience, acquire_shared_read
from hiveacid.snapshots.tables import FileSettings, OrcColumns, PinnedTable, unseen_writes
from hiveacid.snapshots.transaction import (
    Requester,
    SnapshotSettings,
    Transaction,
    fit_agent_info,
)

logger = logging.getLogger("hiveacid")
KEEP_EVERY_FILE = 0
"""Registered as a table's lowest write id, it keeps the cleaner off every file of the table."""


@dataclass(frozen=True)
class SnapshotReport:
    """A snapshot's transaction and its tables; times in seconds.

    `lock_waits` has for each table how long the request waited in which it was locked.
    """

    transaction_id: int
    write_ids: Mapping[TableName, ValidWriteIdList]
    lock_waits: Mapping[TableName, float]
    lock_wait_seconds: float
    held_seconds: float

    @property
    def tables(self) -> str:
        """Names of the tables, for a message."""
        return ", ".join(str(name) for name in sorted(self.write_ids))

    def __str__(self) -> str:
        if not self.write_ids:
            return f"Transaction {self.transaction_id} held no table"
        return (
            f"One snapshot of {self.tables}: transaction {self.transaction_id}, held "
            f"{self.held_seconds:.1f} s, waited {self.lock_wait_seconds:.1f} s for locks"
        )


class LockedTables:
    """Tables of one transaction, each with a shared lock. Not thread-safe.

    The order of the first `add` makes the snapshot safe: lock all tables in one request; once the
    locks are granted, take the transaction list, the write ids, the tables and the partitions, in
    this order. Hive's SELECT takes its list before it locks, and must check afterwards whether a
    DROP and CREATE came in between; here nothing can.

    The list goes up to the metastore's high-water mark at this moment, not only up to the
    transaction's own id. So a statement that held a lock and committed while we waited for it is
    part of the snapshot. The cleaner spares its files all the same: it removes what a compaction
    has replaced only when no transaction is open that began before the end of the compaction.

    Late tables get the same transaction list, which was taken before their lock: `late_tables`
    has the checks.
    """

    def __init__(
        self,
        transaction: Transaction,
        settings: SnapshotSettings,
        patience: LockPatience,
        unexplained: UnexplainedWriteIds,
    ) -> None:
        self.transaction = transaction
        self._client = transaction.client
        self._settings = settings
        self._originals: bool | None = None
        self.scratch = Scratch(settings.scratch_directory, settings.open_files_limit)
        self._patience = patience
        self._unexplained = unexplained
        self._valid_txns: ValidTxnList | None = None
        self._pinned: dict[TableName, PinnedTable] = {}
        self._maybe_locked: set[TableName] = set()
        self._lock_wait_seconds = 0.0
        self._lock_waits: dict[TableName, float] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no table has been added."""
        return not self._pinned

    def __getitem__(self, name: TableName) -> PinnedTable:
        return self._pinned[name]

    def add(self, names: set[TableName]) -> None:
        """Lock and look up the tables that are not here yet.

        Raises:
            LockTimeoutError: a lock was not granted in time.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the transaction was ended meanwhile.
            TableNotFoundError: there is no such table.
            UnreadableTableError: a table is not transactional.
            ConcurrentDdlError: a late table was changed since the snapshot was taken.
        """
        self.transaction.raise_if_gone()
        new = names - self._pinned.keys()
        if new:
            self._lock(new - self.transaction.locked)
            if self._valid_txns is None:
                self._add_first(new)
            else:
                self._add_late(new, self._valid_txns)
            self.transaction.raise_if_gone()

    def summarize(self) -> SnapshotReport:
        """Summarize what is held, or was held when the transaction ended."""
        return SnapshotReport(
            transaction_id=self.transaction.id,
            write_ids={name: pinned.write_ids for name, pinned in self._pinned.items()},
            lock_waits=dict(self._lock_waits),
            lock_wait_seconds=self._lock_wait_seconds,
            held_seconds=self.transaction.held_seconds,
        )

    def _lock(self, names: set[TableName]) -> None:
        # Never lock a table twice: behind an EXCLUSIVE that waits for this transaction's first
        # lock, a second one would wait for ever.
        if not names:
            return
        unsure = names & self._maybe_locked
        if unsure:
            raise MetastoreUnavailableError(
                f"The metastore failed while transaction {self.transaction.id} asked for a lock on "
                f"{', '.join(map(str, sorted(unsure)))}, so whether it holds one is unknown. "
                "Take a new snapshot."
            )
        if self._valid_txns is not None:
            # The connection may have been cut while Spark worked. This call renews it and may be
            # repeated; a lock request may not.
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

    def _add_first(self, names: set[TableName]) -> None:
        valid_txns = self._client.get_valid_txns()
        write_ids = self._client.get_valid_write_ids(names, valid_txns)
        self._pinned.update(self._look_up(names, write_ids, valid_txns))
        self._valid_txns = valid_txns

    def _add_late(self, names: set[TableName], valid_txns: ValidTxnList) -> None:
        write_ids = self._client.get_valid_write_ids(names, valid_txns)
        fresh = self._client.get_valid_write_ids(names, self._client.get_valid_txns())
        pinned = self._look_up(names, write_ids, valid_txns)
        snapshot_time, server = self._snapshot_time(), self.transaction.server
        for name in sorted(names):
            check_unchanged(
                pinned[name],
                fresh[name],
                snapshot_time,
                server,
                self._unexplained,
                self._log_rules_out_drops,
            )
        self._pinned.update(pinned)

    def _log_rules_out_drops(self, pinned: PinnedTable) -> bool:
        events = read_table_events(self._client, pinned.table.name)
        after = pinned.write_ids.high_watermark
        return events is not None and events.rules_out_drops(after, has_write_id=False)

    def _look_up(
        self,
        names: set[TableName],
        write_ids: Mapping[TableName, ValidWriteIdList],
        valid_txns: ValidTxnList,
    ) -> dict[TableName, PinnedTable]:
        tables = self._client.get_tables(names)
        for name in sorted(names):
            _check_readable(name, tables.get(name), self.transaction.id)
        of_all, of_some = self._settings.files, self._settings.files_of(names)
        files = {name: of_some.get(name, FileSettings()).or_else(of_all) for name in names}
        server = self.transaction.server
        shows_originals = any(table.is_insert_only for table in tables.values()) and (
            self._shows_originals()
        )
        return {
            name: PinnedTable(
                table=table,
                partitions=self._client.get_partitions(name) if table.partition_keys else (),
                write_ids=write_ids[name],
                valid_txns=valid_txns,
                transaction_id=self.transaction.id,
                orc_columns=OrcColumns.of(files[name].orc_columns, server),
                gregorian=files[name].counts_in_gregorian(server),
                parquet_time_zone=files[name].parquet_time_zone,
                shows_originals=table.is_insert_only and shows_originals,
                deletes_by_number=server.finds_deletes_by_number or table.is_bucketed,
                scratch=self.scratch,
                unseen=unseen_writes(self._client, table, valid_txns),
            )
            for name, table in tables.items()
        }

    def _shows_originals(self) -> bool:
        if self._originals is None:
            self._originals = self._client.shows_originals()
        return self._originals

    def _snapshot_time(self) -> int:
        """Return when the first lock was granted, just before the snapshot was taken.

        In seconds since the epoch, by the clock of the metastore's database: ours may differ.
        """
        first = next(iter(self._pinned))
        for lock in self._client.show_locks(first):
            if lock.transaction_id == self.transaction.id and lock.state is LockState.ACQUIRED:
                if lock.acquired_at is not None:
                    return lock.acquired_at // 1000
        self.transaction.check_alive()
        raise MetastoreError(
            f"The metastore does not list the lock of transaction {self.transaction.id} on "
            f"{first}, though the transaction is open. Take a new snapshot."
        )


def _check_readable(name: TableName, table: Table | None, transaction_id: int) -> None:
    # The metastore grants locks on tables that do not exist and gives them write ids, too.
    if table is None:
        raise TableNotFoundError(
            f"The metastore has no table {name} (looked up under its lock in transaction "
            f"{transaction_id}). Check the names of the database and the table; it may just have "
            "been dropped."
        )
    if HiveView.of(table) is not None:
        raise UnreadableTableError(
            f"{name} is a view of Hive's, and only tables can be locked (looked up in transaction "
            f"{transaction_id}). Read it by its name with snapshot.sql(…), which locks the tables "
            "behind it."
        )
    if not table.is_transactional:
        raise UnreadableTableError(
            f"{name} is not a transactional table (looked up under its lock in transaction "
            f"{transaction_id}). Spark reads such a table itself. If it was transactional before, "
            "it has been dropped and created as another kind: take a new snapshot."
        )


class RunSnapshot:
    """One consistent view of several ACID tables: one transaction, opened when first needed.

    All threads of a run share it. `pin` calls take turns, so that the first opens the transaction
    and the others find its tables. `check_alive`, `end` and `abort` do not wait for a `pin` that
    waits for locks. After `end` or `abort` every use is an error, until `renew`.

    The transaction also ends at the exit of Python. A signal handler should raise `SystemExit`
    rather than call `end`.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        settings: SnapshotSettings,
        agent_info: str,
        *,
        unexplained: UnexplainedWriteIds = nothing_explained,
        before_pin: Callable[[frozenset[TableName]], None] = lambda names: None,
        on_held: Callable[[], None] = lambda: None,
        on_lost: Callable[[TransactionLostError], None] | None = None,
        raise_if_cancelled: Callable[[], None] = lambda: None,
    ) -> None:
        """Open nothing yet.

        Args:
            client_factory: makes one client for the calls and one for the heartbeats.
            agent_info: names the owner of the transaction and its locks for administrators.
            unexplained: lists a table and finds the write ids without a directory; asked only
                about late tables.
            before_pin: called before each `pin`, on its thread, with the names of the tables; may
                raise.
            on_held: called once the first tables of a transaction are locked and looked up.
            on_lost: called once when the transaction is found lost, possibly on another thread:
                the time to cancel what reads under it.
            raise_if_cancelled: raises if nobody needs the result of the calling thread any more;
                asked before a `pin` begins and while it waits for locks.
        """
        self._client_factory = client_factory
        self._settings = settings
        self._agent_info = fit_agent_info(agent_info)
        self._unexplained = unexplained
        self._before_pin = before_pin
        self._on_held = on_held
        self._on_lost = on_lost
        self._patience = LockPatience(settings.lock_timeout, raise_if_cancelled)
        self._pin_lock = threading.RLock()
        self._swap_lock = threading.RLock()
        self._tables: LockedTables | None = None
        self._last: LockedTables | None = None
        self._explain_end: Callable[[str], str] | None = None

    @property
    def transaction_id(self) -> int | None:
        """Id of the open transaction; None while there is none."""
        tables = self._tables
        return None if tables is None else tables.transaction.id

    @property
    def server(self) -> ServerInfo | None:
        """What the metastore can do; None while there is no open transaction."""
        tables = self._tables
        return None if tables is None else tables.transaction.server

    @property
    def lost(self) -> TransactionLostError | None:
        """Loss of the present transaction, or of the last one if there is none now."""
        tables = self._tables or self._last
        return None if tables is None else tables.transaction.lost

    @property
    def has_ended(self) -> bool:
        """Whether every use is an error, since the snapshot has ended."""
        return self._explain_end is not None

    def pin(self, names: Iterable[TableName]) -> dict[TableName, PinnedTable]:
        """Return the tables as the snapshot has them; they stay the same until its end.

        Name all tables that can be foreseen in the first call: they are locked in one request and
        are safe from any DDL. If no table has been pinned yet, a failure ends the transaction, and
        the next call opens another one.

        Raises:
            SnapshotEndedError: the snapshot has ended.
            HiveAcidError: what `LockedTables.add` and `Transaction.open` raise.
        """
        wanted = frozenset(names)
        if not wanted:
            return {}
        self._before_pin(wanted)
        with self._pin_lock:
            self._patience.raise_if_cancelled()
            self._raise_if_ended(", ".join(map(str, sorted(wanted))))
            tables = self._tables or self._open()
            was_empty = tables.is_empty
            try:
                tables.add(set(wanted))
            except BaseException:
                if tables.is_empty:
                    self._finish(commit=False)
                raise
        if was_empty:
            self._on_held()
        return {name: tables[name] for name in wanted}

    def check_alive(self) -> None:
        """Ask the metastore now whether the transaction is still open.

        Returns at once when no table has been pinned.

        Raises:
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        self._raise_if_ended()
        tables = self._tables
        if tables is not None:
            tables.transaction.check_alive()

    def end(self, explain: Callable[[str], str] | None = None) -> None:
        """Commit the transaction and release its locks. May be called again.

        Args:
            explain: makes the message of the `SnapshotEndedError` that each later use raises, from
                the names of the tables, which are not always known.
        """
        self._explain_end = self._explain_end or explain or self._explain
        self._finish(commit=True)

    def abort(self) -> None:
        """Abort the transaction and release its locks. May be called again."""
        self._explain_end = self._explain_end or self._explain
        self._finish(commit=False)

    def renew(self) -> None:
        """Let the next `pin` begin another snapshot, after the end of this one."""
        self._patience.in_vain.clear()
        self._explain_end = None

    def report(self) -> SnapshotReport | None:
        """Report what the snapshot holds, or held last; None before the first `pin`."""
        tables = self._tables or self._last
        return None if tables is None else tables.summarize()

    def _open(self) -> LockedTables:
        requester = Requester(operating_system_user(), socket.gethostname(), self._agent_info)
        transaction = Transaction.open(
            self._client_factory, self._settings, requester, self._on_lost
        )
        self._tables = LockedTables(transaction, self._settings, self._patience, self._unexplained)
        atexit.register(self.end)
        logger.debug(f"Opened transaction {transaction.id} ({self._agent_info}).")
        return self._tables

    def _finish(self, commit: bool) -> None:
        with self._swap_lock:
            tables, self._tables = self._tables, None
            if tables is None:
                return
            self._last = tables
        try:
            tables.transaction.end(commit)
        except BaseException:
            # Interrupted: whoever ends the snapshot next, or the exit of Python, tries again.
            with self._swap_lock:
                self._tables = self._tables or tables
            raise
        with self._swap_lock:
            if self._tables is None:
                atexit.unregister(self.end)
        logger.debug(
            f"Ended transaction {tables.transaction.id}, open for "
            f"{tables.transaction.held_seconds:.1f} s."
        )
        # After the transaction: this may wait for a thread that copies, and be interrupted.
        tables.scratch.remove()

    def _raise_if_ended(self, what: str = "") -> None:
        explain = self._explain_end
        if explain is not None:
            raise SnapshotEndedError(explain(what))

    def _explain(self, what: str) -> str:
        tables = self._last
        which = "" if tables is None else f" with transaction {tables.transaction.id}"
        return (
            f"{what or 'A table'} is read from a snapshot that has ended{which}: Hive may have "
            "removed the files since. Read inside of the `with` block, or take a new snapshot."
        )
