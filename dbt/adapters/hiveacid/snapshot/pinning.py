"""Pinning tables under the shared locks of one transaction."""

from __future__ import annotations

from collections.abc import Mapping

from dbt.adapters.hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from dbt.adapters.hiveacid.exceptions import (
    MetastoreError,
    MetastoreUnavailableError,
    TableNotFoundError,
    UnreadableTableError,
)
from dbt.adapters.hiveacid.metastore.models import Table, TableName
from dbt.adapters.hiveacid.metastore.transactions import LockState
from dbt.adapters.hiveacid.snapshot.ddl import UnexplainedWriteIds, check_unchanged
from dbt.adapters.hiveacid.snapshot.locks import LockPatience, acquire_shared_read
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable
from dbt.adapters.hiveacid.snapshot.report import SnapshotReport
from dbt.adapters.hiveacid.snapshot.transaction import Transaction

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
