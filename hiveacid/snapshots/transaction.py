"""One open metastore transaction, its heartbeats and its end."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TypeVar

from hiveacid.errors import (
    HiveAcidError,
    InvalidSettingError,
    MetastoreUnavailableError,
    SnapshotEndedError,
    TransactionLostError,
)
from hiveacid.jvm.scratch import DEFAULT_LIMIT
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import ServerInfo, TableName, TransactionState
from hiveacid.snapshots.tables import FileSettings

logger = logging.getLogger("hiveacid")
RETRY_SECONDS = 5.0
"""Wait after a failed heartbeat, unless the interval is shorter, and after a failed end."""

SECONDS_BETWEEN_WARNINGS = 60.0
"""Time between two warnings about heartbeats that go on failing."""

ATTEMPTS_IN_A_TIMEOUT = 6
"""Parts of the metastore's timeout; each call waits for one part.

The usual interval is a third of the timeout. The rest leaves time for three addresses that hang.
"""

AGENT_INFO_LENGTH = 128
"""Length of the agent info column in the metastore's database; a longer text fails every lock."""

STATE_REASONS = {
    TransactionState.ABORTED: "the metastore has aborted it",
    TransactionState.UNKNOWN: "the metastore no longer knows it",
}
"""Why a transaction in this state is lost."""


T = TypeVar("T", bound="Transaction")


class Heartbeat:
    """A daemon thread that sends heartbeats on a connection of its own until stopped.

    A failed heartbeat is repeated, with a warning once a minute. The transaction is treated as lost
    when the metastore says so, or when no heartbeat got through for the metastore's timeout: from
    then on the metastore may abort the transaction at any time.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        transaction_id: int,
        interval: float,
        transaction_timeout: float,
        on_lost: Callable[[str], None],
    ) -> None:
        """`interval` and `transaction_timeout` in seconds.

        `on_lost` is called at most once, on the heartbeat's thread, with the reason.
        """
        self._client_factory = client_factory
        self._transaction_id = transaction_id
        self._interval = interval
        self._timeout = transaction_timeout
        self._on_lost = on_lost
        self._stopped = threading.Event()
        self._thread = threading.Thread(
            target=self._run, name=f"hiveacid-heartbeat-{transaction_id}", daemon=True
        )

    def start(self) -> None:
        """Send the first heartbeat one interval from now."""
        self._thread.start()

    def stop(self) -> None:
        """Send no more, without waiting for one that is under way; it can no longer report loss."""
        self._stopped.set()

    def _run(self) -> None:
        client = self._client_factory()
        client.wait_at_most(self._timeout / ATTEMPTS_IN_A_TIMEOUT)
        try:
            reason = self._beat_until_lost(client)
        finally:
            client.close()
        if reason is not None and not self._stopped.is_set():
            self._on_lost(reason)

    def _beat_until_lost(self, client: MetastoreClient) -> str | None:
        last_success = time.monotonic()
        last_warning: float | None = None
        wait = self._interval
        while not self._stopped.wait(wait):
            # The metastore counts from when it got the heartbeat, which was not before now.
            started = time.monotonic()
            try:
                state = client.heartbeat(self._transaction_id)
            except Exception as error:  # whatever it is, the thread must not die silently
                silence = time.monotonic() - last_success
                if silence >= self._timeout:
                    return (
                        f"no heartbeat reached the metastore for {silence:.0f} s: {_words(error)}"
                    )
                last_warning = self._warn(error, silence, last_warning)
                wait = min(self._interval, RETRY_SECONDS)
                continue
            if state is not TransactionState.OPEN:
                return STATE_REASONS[state]
            if last_warning is not None:
                logger.info(f"Transaction {self._transaction_id} sends heartbeats again.")
            last_success, last_warning = started, None
            wait = self._interval
        return None

    def _warn(self, error: Exception, silence: float, last_warning: float | None) -> float:
        now = time.monotonic()
        if last_warning is not None and now - last_warning < SECONDS_BETWEEN_WARNINGS:
            return last_warning
        end = datetime.now() + timedelta(seconds=self._timeout - silence)
        logger.warning(
            "[HIVEACID_WARN_HEARTBEAT_FAILED] A heartbeat of transaction "
            f"{self._transaction_id} failed. The transaction is lost at {end:%H:%M:%S} unless "
            f"a heartbeat succeeds before. {_words(error)}"
        )
        return now


@dataclass(frozen=True)
class Requester:
    """Owner of a transaction and its locks, as SHOW TRANSACTIONS and SHOW LOCKS name it."""

    user: str
    host: str
    agent_info: str


def fit_agent_info(text: str) -> str:
    """Return a text in the form that every metastore's database can store as agent info."""
    # A database of another encoding may need several bytes for a character, or refuse it.
    return text.encode("ascii", "replace").decode("ascii")[:AGENT_INFO_LENGTH]


class Transaction:
    """An open transaction that sends heartbeats until it ends; all methods are thread-safe.

    `locked` are the tables on which the transaction holds a shared lock; a caller that locks more
    adds them. `lost` is set once the transaction turns out to be lost.
    """

    def __init__(
        self,
        transaction_id: int,
        client: MetastoreClient,
        server: ServerInfo,
        requester: Requester,
        on_lost: Callable[[TransactionLostError], None] | None = None,
    ) -> None:
        """Take over an open transaction, which sends no heartbeats yet: see `open`."""
        self.id = transaction_id
        self.client = client
        self.server = server
        self.requester = requester
        self.locked: set[TableName] = set()
        self.ending = threading.Event()
        self.lost: TransactionLostError | None = None
        self._on_lost = on_lost
        self._state_lock = threading.Lock()
        self._opened_at = time.monotonic()
        self._ended_at: float | None = None
        self._heartbeat: Heartbeat | None = None

    @classmethod
    def open(
        cls: type[T],
        client_factory: Callable[[], MetastoreClient],
        settings: SnapshotSettings,
        requester: Requester,
        on_lost: Callable[[TransactionLostError], None] | None = None,
    ) -> T:
        """Open a transaction in the metastore and start its heartbeats.

        Args:
            client_factory: makes one client for the calls and one for the heartbeats.
            requester: the owner. The user with whom the client has logged in takes precedence.
            on_lost: called once when the transaction turns out to be lost, on the thread that
                notices.

        Raises:
            InvalidSettingError: the heartbeat interval is above the metastore's timeout.
            WriteIdsNotSupportedError: the metastore is older than Hive 3.
            MetastoreError: the metastore could not be asked.
        """
        client = client_factory()
        try:
            server = client.server_info()
            interval = settings.heartbeat_seconds(server.transaction_timeout)
            requester = replace(requester, user=client.known_user() or requester.user)
            id_ = client.open_txn(
                requester.user, requester.host, requester.agent_info, settings.read_only
            )
        except BaseException:
            client.close()
            raise
        transaction = cls(id_, client, server, requester, on_lost)
        transaction._start_heartbeats(client_factory, interval)
        return transaction

    def _start_heartbeats(
        self, client_factory: Callable[[], MetastoreClient], interval: float
    ) -> None:
        if interval <= 0:
            logger.warning(
                "[HIVEACID_WARN_NO_HEARTBEATS] "
                f"Transaction {self.id} sends no heartbeats (heartbeat_interval: 0)."
            )
            return
        self._heartbeat = Heartbeat(
            client_factory, self.id, interval, self.server.transaction_timeout, self._mark_lost
        )
        self._heartbeat.start()

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
        """Raise if the transaction is known to be lost, or has been ended.

        Raises:
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the transaction has been ended.
        """
        if self.lost is not None:
            # A new one each time: a caller may write into the error that it catches.
            raise TransactionLostError(self.lost.message)
        if self.ending.is_set():
            raise SnapshotEndedError(
                f"The snapshot of {self._named_tables()} has ended transaction {self.id} "
                "while it was still in use: the caller was cancelled, or left the `with` "
                "block. Take a new snapshot."
            )

    def end(self, commit: bool) -> None:
        """Commit or abort, which releases the locks. Does nothing the second time.

        If the call fails, a warning is logged, and a thread repeats it until the metastore answers
        or its timeout is over, after which the metastore aborts the transaction. Raises nothing but
        an interrupt (Ctrl-C), after which it may be called again.
        """
        with self._state_lock:
            if self._ended_at is not None:
                return
            self._ended_at = time.monotonic()
        self.ending.set()
        if self._heartbeat is not None:
            self._heartbeat.stop()
        is_retried = False
        try:
            self._send_end(commit)
        except HiveAcidError as error:
            logger.warning(
                "[HIVEACID_WARN_TRANSACTION_NOT_ENDED] "
                f"Transaction {self.id} could not be ended. The metastore aborts it, and releases "
                f"its locks, {self.server.transaction_timeout:g} s after its last heartbeat. If "
                f"this process goes on, it tries again until then. {error.message}"
            )
            is_retried = self._start_retries(commit)
        except BaseException:
            self._ended_at = None
            raise
        finally:
            if not is_retried:
                self.client.close()

    def _start_retries(self, commit: bool) -> bool:
        """Repeat the end on a daemon thread. Return False if the process exits: it takes none."""
        thread = threading.Thread(
            target=self._retry_end, args=[commit], name=f"hiveacid-end-{self.id}", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:
            return False
        return True

    def _retry_end(self, commit: bool) -> None:
        deadline = time.monotonic() + self.server.transaction_timeout
        self.client.wait_at_most(self.server.transaction_timeout / ATTEMPTS_IN_A_TIMEOUT)
        end = self.client.commit_txn if commit else self.client.abort_txn
        try:
            while time.monotonic() < deadline:
                time.sleep(RETRY_SECONDS)
                try:
                    end(self.id)
                except TransactionLostError:
                    return
                except HiveAcidError:
                    continue
                logger.info(f"Transaction {self.id} has been ended: the metastore answers again.")
                return
        finally:
            self.client.close()

    def commit(self) -> None:
        """Commit what the transaction has written, and release its locks.

        May be repeated if there was no answer: a metastore of Hive 4 answers the second commit of a
        transaction like the first.

        Raises:
            TransactionLostError: the metastore has aborted it, now or before.
            MetastoreUnavailableError: the metastore does not answer: it may have committed.
        """
        self.client.commit_txn(self.id)
        self.abandon()

    def abandon(self) -> None:
        """Stop the heartbeats and end nothing: a transaction that is open times out."""
        with self._state_lock:
            self._ended_at = time.monotonic()
        self.ending.set()
        if self._heartbeat is not None:
            self._heartbeat.stop()
        self.client.close()

    def _send_end(self, commit: bool) -> None:
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
                    f"[HIVEACID_WARN_TRANSACTION_WAS_LOST] Transaction {self.id} was no "
                    "longer open when it was ended. Rows that were read after its loss may be "
                    f"wrong: read them again from a new snapshot. {error.message}"
                )

    def _mark_lost(self, reason: str) -> None:
        error = TransactionLostError(
            f"Metastore transaction {self.id}, which held the snapshot of {self._named_tables()}, "
            f"is lost: {reason}. Files of the snapshot may be gone, so rows may be wrong from now "
            "on. Take a new snapshot. If it is lost, too, see the metastore's log, or lower "
            "heartbeat_interval."
        )
        with self._state_lock:
            if self.lost is not None:
                return
            self.lost = error
        if self._on_lost is not None:
            self._on_lost(error)

    def _named_tables(self) -> str:
        return ", ".join(map(str, sorted(self.locked))) or "no table yet"


def _words(error: Exception) -> str:
    """Return the message of an error, as a part of another one: without its code."""
    return error.message if isinstance(error, HiveAcidError) else str(error)


@dataclass(frozen=True)
class SnapshotSettings:
    """Settings of a snapshot; times are in seconds.

    Attributes:
        heartbeat_interval: seconds between two heartbeats. None takes a third of the metastore's
            `metastore.txn.timeout`. 0 sends no heartbeats, so that the metastore aborts the
            transaction after this timeout (of use only to see what happens then).
        lock_timeout: how long to wait for the shared locks on the tables.
        files: the settings for the files of all tables.
        files_of: returns, for some tables, the settings that differ from `files`.
        scratch_directory: where the flushed part of files that are being written is copied; None is
            `/tmp` of the file system that the files are on.
        open_files_limit: megabytes that these copies may have together.
        read_only: whether the transaction only reads, as Hive's own for a SELECT. It gets no write
            ids.

    Raises:
        InvalidSettingError: a number is negative, or is none.
    """

    heartbeat_interval: float | None = None
    lock_timeout: float = 300.0
    files: FileSettings = FileSettings()
    files_of: Callable[[Collection[TableName]], Mapping[TableName, FileSettings]] = lambda names: {}
    scratch_directory: str | None = None
    open_files_limit: float = DEFAULT_LIMIT
    read_only: bool = True

    def __post_init__(self) -> None:
        for key in ("heartbeat_interval", "lock_timeout", "open_files_limit"):
            value = getattr(self, key)
            if value is None and key == "heartbeat_interval":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise InvalidSettingError(
                    f"{key} must be a number, such as 60, not {value!r}.",
                    code="HIVEACID_INVALID_DURATION",
                )
            if not value >= 0:
                raise InvalidSettingError(
                    f"{key} must not be negative, but is {value:g}.",
                    code="HIVEACID_INVALID_DURATION",
                )

    def heartbeat_seconds(self, transaction_timeout: float) -> float:
        """Return the interval for a metastore with this transaction timeout; 0 sends no heartbeats.

        Raises:
            InvalidSettingError: the interval could not keep the transaction alive.
        """
        if self.heartbeat_interval is None:
            return transaction_timeout / 3
        if self.heartbeat_interval >= transaction_timeout:
            raise InvalidSettingError(
                f"heartbeat_interval is {self.heartbeat_interval:g} s, but the metastore aborts a "
                f"transaction after {transaction_timeout:g} s without one "
                "(metastore.txn.timeout). Leave it out, or set it well below.",
                code="HIVEACID_INVALID_HEARTBEAT_INTERVAL",
            )
        return self.heartbeat_interval
