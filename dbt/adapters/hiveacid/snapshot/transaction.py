"""One open metastore transaction, from its opening to its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.exceptions import (
    HiveAcidError,
    MetastoreUnavailableError,
    TransactionLostError,
)
from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.metastore.transactions import ServerInfo, TransactionState
from dbt.adapters.hiveacid.snapshot.heartbeat import STATE_REASONS, Heartbeat
from dbt.adapters.hiveacid.snapshot.settings import SnapshotSettings

logger = AdapterLogger("HiveAcid")


@dataclass(frozen=True)
class Requester:
    """Who opens transactions and asks for locks, as SHOW TRANSACTIONS and SHOW LOCKS tell it."""

    user: str
    host: str
    agent_info: str


class Transaction:
    """An open transaction that sends heartbeats until it ends; all methods are thread-safe.

    `locked` are the tables on which it holds a shared lock; whoever locks more adds them. `lost`
    is set once the transaction turns out to be lost.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        settings: SnapshotSettings,
        requester: Requester,
        on_lost: Callable[[TransactionLostError], None] | None = None,
    ) -> None:
        """Open the transaction and start its heartbeats.

        `on_lost` is called once when the transaction turns out to be lost, on the thread that
        notices. Raises `InvalidSettingError` for a heartbeat interval above the metastore's
        timeout.
        """
        self.client = client_factory()
        self.requester = requester
        self.server: ServerInfo = self.client.server_info()
        interval = settings.heartbeat_seconds(self.server.transaction_timeout)
        self.id = self.client.open_txn(requester.user, requester.host, requester.agent_info)
        self.locked: set[TableName] = set()
        self.ending = threading.Event()
        self._on_lost = on_lost
        self.lost: TransactionLostError | None = None
        self._state_lock = threading.Lock()
        self._opened_at = time.monotonic()
        self._ended_at: float | None = None
        self._heartbeat = Heartbeat(
            client_factory, self.id, interval, self.server.transaction_timeout, self._mark_lost
        )
        if interval > 0:
            self._heartbeat.start()
        else:
            logger.warning(f"Transaction {self.id} sends no heartbeats (heartbeat_interval: 0).")

    @property
    def held_seconds(self) -> float:
        """How long the transaction has been open, or was if it has ended."""
        return (self._ended_at or time.monotonic()) - self._opened_at

    def check_alive(self) -> None:
        """Ask the metastore whether the transaction is open. Raises `TransactionLostError`."""
        self.raise_if_gone()
        state = self.client.heartbeat(self.id)
        if state is not TransactionState.OPEN and not self.ending.is_set():
            self._mark_lost(STATE_REASONS[state])
        self.raise_if_gone()

    def raise_if_gone(self) -> None:
        """Raise the `TransactionLostError` of a loss noticed before, or say that it has ended."""
        if self.lost is not None:
            # One for each model: dbt writes the model into the error that it catches.
            raise TransactionLostError(self.lost.msg)
        if self.ending.is_set():
            raise HiveAcidError(
                f"The run has ended transaction {self.id}, which held the snapshot of its sources, "
                "while it was still in use: the run was cancelled or is over."
            )

    def end(self, commit: bool) -> None:
        """Commit or abort, which releases the locks. Does nothing the second time.

        If the metastore cannot be told, the log says so; it aborts the transaction after its
        timeout. Raises nothing but an interrupt (Ctrl-C), after which it may be called again.
        """
        with self._state_lock:
            if self._ended_at is not None:
                return
            self._ended_at = time.monotonic()
        self.ending.set()
        self._heartbeat.stop()
        try:
            self._tell_the_metastore(commit)
        except HiveAcidError as error:
            logger.warning(
                f"Transaction {self.id} could not be ended; its locks stay until the metastore "
                f"aborts it, {self.server.transaction_timeout:g} s after its last heartbeat. "
                f"{error}"
            )
        except BaseException:
            self._ended_at = None
            raise
        finally:
            self.client.close()

    def _tell_the_metastore(self, commit: bool) -> None:
        end = self.client.commit_txn if commit else self.client.abort_txn
        try:
            try:
                end(self.id)
            except MetastoreUnavailableError:
                # The connection may have gone stale while Spark worked: once more on a new one.
                # If the first request did arrive, the second finds no open transaction.
                end(self.id)
        except TransactionLostError as error:
            if commit and self.lost is None:
                logger.warning(
                    f"Transaction {self.id} was no longer open when the run ended it. What was "
                    f"read since it was lost may be wrong. {error}"
                )

    def _mark_lost(self, reason: str) -> None:
        tables = ", ".join(map(str, sorted(self.locked))) or "no table yet"
        error = TransactionLostError(
            f"Metastore transaction {self.id}, which held this run's snapshot of {tables}, is "
            f"lost: {reason}. Files of the snapshot may be gone, so nothing read from now on can "
            "be trusted and no target is replaced. Run dbt again; if it happens again, see in the "
            "metastore's log who aborted the transaction, or lower heartbeat_interval."
        )
        with self._state_lock:
            if self.lost is not None:
                return
            self.lost = error
        if self._on_lost is not None:
            self._on_lost(error)
