"""The snapshot of one dbt run."""

from __future__ import annotations

import atexit
import getpass
import os
import socket
import threading
from collections.abc import Callable, Iterable

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.exceptions import TransactionLostError
from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.snapshot.ddl import UnexplainedWriteIds, nothing_explained
from dbt.adapters.hiveacid.snapshot.locks import LockPatience
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable
from dbt.adapters.hiveacid.snapshot.pinning import Pinning
from dbt.adapters.hiveacid.snapshot.report import SnapshotReport
from dbt.adapters.hiveacid.snapshot.settings import SnapshotSettings
from dbt.adapters.hiveacid.snapshot.transaction import Requester, Transaction

logger = AdapterLogger("HiveAcid")


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
