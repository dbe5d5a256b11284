"""Snapshot of several ACID tables, under the shared locks of one transaction."""

from __future__ import annotations

import atexit
import logging
import socket
import threading
from collections.abc import Callable, Iterable

from hiveacid.errors import SnapshotEndedError, TransactionLostError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import ServerInfo, TableName
from hiveacid.metastore.security.login import operating_system_user
from hiveacid.snapshots.concurrent_ddl import UnexplainedWriteIds, nothing_explained
from hiveacid.snapshots.locked_tables import LockedTables, SnapshotReport
from hiveacid.snapshots.locks import LockWait
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import (
    Requester,
    SnapshotSettings,
    Transaction,
    fit_agent_info,
)

logger = logging.getLogger("hiveacid")


class SnapshotHooks:
    """Callbacks of a snapshot to its host. Each does nothing by default; a host overrides some."""

    def initial_tables(self) -> Iterable[TableName]:
        """Return the tables that are locked together, with the first one that is read."""
        return ()

    def before_pin(self, names: frozenset[TableName]) -> None:
        """Called before each `pin`, on its thread, with the names of the tables. May raise."""

    def on_held(self) -> None:
        """Called once the first tables of a transaction are locked and looked up."""

    def on_lost(self, error: TransactionLostError) -> None:
        """Called once when the transaction is found lost, possibly on another thread.

        The host should cancel what reads under the transaction.
        """

    def raise_if_cancelled(self) -> None:
        """Raise if the result of the calling thread is no longer needed.

        Called before a `pin` begins and while it waits for locks.
        """


NO_HOOKS = SnapshotHooks()
"""Hooks of a snapshot that has no host."""


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
        hooks: SnapshotHooks = NO_HOOKS,
        *,
        unexplained: UnexplainedWriteIds = nothing_explained,
    ) -> None:
        """Open nothing yet.

        Args:
            client_factory: makes one client for the calls and one for the heartbeats.
            agent_info: names the owner of the transaction and its locks for administrators.
            hooks: the callbacks to the host of the snapshot.
            unexplained: lists a table and finds the write ids without a directory; asked only
                about late tables.
        """
        self._client_factory = client_factory
        self._settings = settings
        self._agent_info = fit_agent_info(agent_info)
        self._unexplained = unexplained
        self._hooks = hooks
        self._lock_wait = LockWait(settings.lock_timeout, hooks.raise_if_cancelled)
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
        """Loss of the current transaction, or of the last one if there is none now."""
        tables = self._tables or self._last
        return None if tables is None else tables.transaction.lost

    @property
    def has_ended(self) -> bool:
        """Whether every use is an error, since the snapshot has ended."""
        return self._explain_end is not None

    def pin(self, names: Iterable[TableName]) -> dict[TableName, PinnedTable]:
        """Return the tables as the snapshot has them; they stay the same until its end.

        Name all tables that are known in advance in the first call: they are locked in one request
        and are safe from any DDL. If no table has been pinned yet, a failure ends the transaction,
        and the next call opens another one.

        Raises:
            SnapshotEndedError: the snapshot has ended.
            HiveAcidError: what `LockedTables.add` and `Transaction.open` raise.
        """
        wanted = frozenset(names)
        if not wanted:
            return {}
        self._hooks.before_pin(wanted)
        with self._pin_lock:
            self._lock_wait.raise_if_cancelled()
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
            self._hooks.on_held()
        return {name: tables[name] for name in wanted}

    def begin(self) -> Transaction:
        """Return the transaction; open it if no table has been pinned yet.

        Raises:
            SnapshotEndedError: the snapshot has ended.
            HiveAcidError: what `Transaction.open` raises.
        """
        with self._pin_lock:
            self._raise_if_ended()
            return (self._tables or self._open()).transaction

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
                the names of the tables; the text is empty if they are not known.
        """
        self._explain_end = self._explain_end or explain or self._explain
        self._finish(commit=True)

    def abort(self) -> None:
        """Abort the transaction and release its locks. May be called again."""
        self._explain_end = self._explain_end or self._explain
        self._finish(commit=False)

    def renew(self) -> None:
        """Let the next `pin` begin another snapshot, after the end of this one."""
        self._lock_wait.timed_out.clear()
        self._explain_end = None

    def report(self) -> SnapshotReport | None:
        """Report what the snapshot holds, or held last; None before the first `pin`."""
        tables = self._tables or self._last
        return None if tables is None else tables.summarize()

    def requester(self) -> Requester:
        """Return the owner that transactions of the snapshot name."""
        return Requester(operating_system_user(), socket.gethostname(), self._agent_info)

    def _open(self) -> LockedTables:
        transaction = Transaction.open(
            self._client_factory, self._settings, self.requester(), self._hooks.on_lost
        )
        self._tables = LockedTables(transaction, self._settings, self._lock_wait, self._unexplained)
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
