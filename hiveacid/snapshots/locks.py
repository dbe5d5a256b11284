"""Locks: requests, waits, and reports of the holders."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from hiveacid.errors import HiveAcidError, LockTimeoutError, TransactionLostError
from hiveacid.metastore.models import LockInfo, LockResponse, LockState, LockType, TableName
from hiveacid.metastore.writing_client import WriteLock, WritingClient
from hiveacid.snapshots.transaction import Transaction

logger = logging.getLogger("hiveacid")
FIRST_WAIT = 0.05
LONGEST_WAIT = 5.0
"""Seconds between two `check_lock` calls; the wait doubles from the first to the second."""

REPORT_AFTER = 5.0
"""Seconds of waiting after which the log names the holders of the lock."""

EXCLUSIVE_WAIT = 2.0
"""Seconds that an EXCLUSIVE request waits before it is withdrawn: readers wait behind it."""

READERS_TURN = 3.0
"""Seconds between two EXCLUSIVE requests, in which readers get their locks."""

LOOK_PERIOD = 0.2
"""Seconds between two checks for cancellation."""


@dataclass
class LockWait:
    """Limit of the time that a snapshot waits for locks.

    Attributes:
        timeout: the limit in seconds.
        raise_if_cancelled: raises if the result of the calling thread is no longer needed.
        timed_out: the tables for which the snapshot has waited the whole time. It waits for a table
            once, not for each reader again.
    """

    timeout: float
    raise_if_cancelled: Callable[[], None]
    timed_out: set[TableName] = field(default_factory=set)


def acquire_shared_read(
    transaction: Transaction, names: Iterable[TableName], limit: LockWait
) -> float:
    """Lock all tables in one request, wait until it is granted, and return the seconds waited.

    None of `names` may be locked by the transaction yet. The request is withdrawn when
    `limit.timeout` has passed, when the caller is cancelled, and when the transaction is ended
    meanwhile.

    Raises:
        LockTimeoutError: `limit.timeout` has passed; the message names the holders.
        TransactionLostError: the transaction was aborted.
        SnapshotEndedError: the transaction was ended.
    """
    names = sorted(set(names))
    again = not limit.timed_out.isdisjoint(names)
    client, requester = transaction.client, transaction.requester
    started = time.monotonic()
    answer = client.lock_shared_read(
        transaction.id, names, requester.user, requester.host, requester.agent_info
    )
    wait = LockWait(0.0 if again else limit.timeout, limit.raise_if_cancelled)
    holders = wait_until_granted(transaction, names, answer, wait)
    if holders is not None:
        limit.timed_out.update(names)
        now = (
            " An earlier read of the table has waited this long, so this read did not wait."
            if again
            else ""
        )
        raise LockTimeoutError(
            f"No shared lock on {_listed(names)} within {limit.timeout:g} s "
            f"(transaction {transaction.id}).{now} In the way:\n{holders}\nTry again when "
            "the holder has ended, raise lock_timeout, or end the holder with ABORT "
            "TRANSACTIONS in Hive."
        )
    limit.timed_out.difference_update(names)
    return time.monotonic() - started


def acquire_to_write(
    transaction: Transaction, client: WritingClient, locks: Sequence[WriteLock], limit: LockWait
) -> None:
    """Lock the tables that a transaction writes, in one request, and wait until it is granted.

    An EXCLUSIVE request that waits for a reader holds up every later reader. So it is withdrawn
    after some seconds and repeated after a pause, until `limit.timeout` has passed.

    Raises:
        LockTimeoutError: `limit.timeout` has passed; the message names the holders.
        TransactionLostError: the transaction was aborted.
        SnapshotEndedError: the transaction was ended.
    """
    names, requester = sorted(lock.name for lock in locks), transaction.requester
    is_exclusive = any(lock.type is LockType.EXCLUSIVE for lock in locks)
    end = time.monotonic() + limit.timeout
    while True:
        left = max(0.0, end - time.monotonic())
        answer = client.lock_to_write(
            transaction.id, locks, requester.user, requester.host, requester.agent_info
        )
        timeout = min(left, EXCLUSIVE_WAIT) if is_exclusive else left
        wait = LockWait(timeout, limit.raise_if_cancelled)
        holders = wait_until_granted(transaction, names, answer, wait)
        if holders is None:
            return
        if time.monotonic() >= end:
            raise LockTimeoutError(
                f"No lock to write {_listed(names)} within {limit.timeout:g} s (transaction "
                f"{transaction.id}). In the way:\n{holders}\nNothing was written. Try again when "
                "the holder has ended, raise lock_timeout, or end the holder with ABORT "
                "TRANSACTIONS in Hive.",
                code="HIVEACID_WRITE_LOCK_TIMEOUT",
            )
        _pause(transaction, min(left, READERS_TURN), limit.raise_if_cancelled)


def wait_until_granted(
    transaction: Transaction, names: Sequence[TableName], answer: LockResponse, limit: LockWait
) -> str | None:
    """Wait until a lock request is granted; return None, or the holders after `limit.timeout`.

    The request is withdrawn if it is not granted.

    Raises:
        TransactionLostError: the transaction was aborted.
        SnapshotEndedError: the transaction was ended.
    """
    client, started = transaction.client, time.monotonic()
    wait, reported, holders = FIRST_WAIT, False, ""
    try:
        while answer.state is LockState.WAITING:
            waited = time.monotonic() - started
            if waited >= limit.timeout:
                holders = describe_holders(transaction, names)
                break
            if waited >= REPORT_AFTER and not reported:
                reported = True
                logger.info(f"Waiting for locks:\n{describe_holders(transaction, names)}")
            _pause(transaction, min(wait, limit.timeout - waited), limit.raise_if_cancelled)
            wait = min(2 * wait, LONGEST_WAIT)
            answer = client.check_lock(answer.lock_id, transaction.id)
    except BaseException:
        if not transaction.ending.is_set():  # the end of the transaction withdraws it, too
            _withdraw(transaction, answer.lock_id)
        raise
    if answer.state is LockState.WAITING:
        return None if _withdraw(transaction, answer.lock_id) else holders
    if answer.state is not LockState.ACQUIRED:
        raise TransactionLostError(
            f"The metastore answered {answer.state.name} to the lock request of transaction "
            f"{transaction.id} on {_listed(names)}. Take a new snapshot.",
            code="HIVEACID_LOCK_REFUSED",
        )
    return None


def _pause(
    transaction: Transaction, seconds: float, raise_if_cancelled: Callable[[], None]
) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if transaction.ending.wait(min(left, LOOK_PERIOD)):
            transaction.raise_if_gone()
        raise_if_cancelled()


def _withdraw(transaction: Transaction, lock_id: int) -> bool:
    """Withdraw a waiting request; return True if it was granted at the last moment."""
    try:
        transaction.client.unlock(lock_id)
    except HiveAcidError:
        # A granted lock of a transaction cannot be taken back (TxnOpenException).
        try:
            answer = transaction.client.check_lock(lock_id, transaction.id)
        except HiveAcidError:
            return False
        return answer.state is LockState.ACQUIRED
    return False


def describe_holders(transaction: Transaction, names: Iterable[TableName]) -> str:
    """Describe the locks for which the transaction waits, one line a lock."""
    lines = []
    for name in names:
        locks = transaction.client.show_locks(name)
        waited_for = {lock.blocked_by for lock in locks if lock.transaction_id == transaction.id}
        others = [lock for lock in locks if lock.transaction_id != transaction.id]
        blockers = [lock for lock in others if lock.lock_id in waited_for] or others
        lines += [f"  {name}: {_describe(lock)}" for lock in blockers]
    return "\n".join(lines) or "  The metastore lists no other lock: it has just been released."


def _describe(lock: LockInfo) -> str:
    what = "held" if lock.state is LockState.ACQUIRED else "asked for"
    scope = ".".join(part for part in (lock.database, lock.table) if part)
    partition = f" partition {lock.partition}" if lock.partition else ""
    transaction = f"transaction {lock.transaction_id}" if lock.transaction_id else "no transaction"
    return (
        f"{lock.type.name} lock {lock.lock_id} on {scope}{partition} {what} by {lock.user} on "
        f"{lock.host} ({transaction}, {lock.agent_info or 'no agent info'})"
    )


def _listed(names: Iterable[TableName]) -> str:
    return ", ".join(map(str, names))
