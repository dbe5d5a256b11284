"""Waiting for shared read locks, and saying who is in the way."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from hiveacid.errors import HiveAcidError, LockTimeoutError, TransactionLostError
from hiveacid.metastore.models import LockInfo, LockState, TableName
from hiveacid.snapshots.transaction import Transaction

logger = logging.getLogger("hiveacid")
FIRST_WAIT = 0.05
LONGEST_WAIT = 5.0
"""Seconds between two questions to the metastore; the wait doubles from the first to this."""

TELL_AFTER = 5.0
"""Seconds of waiting after which the log tells who holds the lock."""

LOOK_PERIOD = 0.2
"""Seconds between two looks at whether the waiting is still wanted."""


@dataclass
class LockPatience:
    """How long a run waits for locks, in seconds, and for which tables it has done so in vain.

    Those are waited for once, not by one node after the other. `raise_if_cancelled` raises if
    nobody waits any more for what the calling thread does.
    """

    timeout: float
    raise_if_cancelled: Callable[[], None]
    in_vain: set[TableName] = field(default_factory=set)


def acquire_shared_read(
    transaction: Transaction, names: Iterable[TableName], patience: LockPatience
) -> float:
    """Lock all tables in one request and wait until it is granted; return the seconds waited.

    None of `names` may be locked by the transaction yet. The request is withdrawn when it is not
    granted within the time that `patience` has left for it, which raises `LockTimeoutError` naming
    the holders, when the run is cancelled, and when the transaction is ended meanwhile. Raises
    `TransactionLostError` if it is aborted.
    """
    names = sorted(set(names))
    again = not patience.in_vain.isdisjoint(names)
    timeout = 0.0 if again else patience.timeout
    client, requester = transaction.client, transaction.requester
    started = time.monotonic()
    answer = client.lock_shared_read(
        transaction.id, names, requester.user, requester.host, requester.agent_info
    )
    wait, told = FIRST_WAIT, False
    try:
        while answer.state is LockState.WAITING:
            waited = time.monotonic() - started
            if waited >= timeout:
                holders = describe_holders(transaction, names)
                break
            if waited >= TELL_AFTER and not told:
                told = True
                logger.info(f"Waiting for locks:\n{describe_holders(transaction, names)}")
            _pause(transaction, min(wait, timeout - waited), patience.raise_if_cancelled)
            wait = min(2 * wait, LONGEST_WAIT)
            answer = client.check_lock(answer.lock_id, transaction.id)
    except BaseException:
        if not transaction.ending.is_set():  # the end of the transaction takes it back, too
            _withdraw(transaction, answer.lock_id)
        raise
    if answer.state is LockState.WAITING:
        if not _withdraw(transaction, answer.lock_id):
            patience.in_vain.update(names)
            now = ", which this run has waited before, and none now" if again else ""
            raise LockTimeoutError(
                f"No shared lock on {_listed(names)} within {patience.timeout:g} s{now} "
                f"(transaction {transaction.id}). In the way:\n{holders}\n"
                "Run dbt again when that has ended, raise lock_timeout in the profile, or end the "
                "holder with ABORT TRANSACTIONS in Hive."
            )
    elif answer.state is not LockState.ACQUIRED:
        raise TransactionLostError(
            f"The metastore answered {answer.state.name} to the lock request of transaction "
            f"{transaction.id} on {_listed(names)}. Run dbt again."
        )
    patience.in_vain.difference_update(names)
    return time.monotonic() - started


def _pause(
    transaction: Transaction, seconds: float, raise_if_cancelled: Callable[[], None]
) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        if transaction.ending.wait(min(left, LOOK_PERIOD)):
            transaction.raise_if_gone()
        raise_if_cancelled()


def _withdraw(transaction: Transaction, lock_id: int) -> bool:
    """Take a waiting request back. Returns True if it has been granted at the last moment."""
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
    """Who keeps the transaction from its locks on the tables, one line a lock."""
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
