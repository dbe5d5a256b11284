"""Tables of one transaction, each with a shared lock, and what the transaction shows of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.errors import (
    MetastoreError,
    MetastoreUnavailableError,
    TableNotFoundError,
    UnreadableTableError,
)
from hiveacid.jvm.scratch import Scratch
from hiveacid.metastore.event_log import read_table_events
from hiveacid.metastore.models import HiveView, LockState, Table, TableName
from hiveacid.snapshots.concurrent_ddl import UnexplainedWriteIds, check_unchanged
from hiveacid.snapshots.locks import LockWait, acquire_shared_read
from hiveacid.snapshots.tables import (
    FileSettings,
    HiveListing,
    OrcColumns,
    PinnedTable,
    unseen_writes,
)
from hiveacid.snapshots.transaction import SnapshotSettings, Transaction

KEEP_EVERY_FILE = 0
"""Registered as a table's lowest write id, it keeps the cleaner off every file of the table."""


@dataclass(frozen=True)
class SnapshotReport:
    """A snapshot's transaction and its tables; times in seconds.

    `lock_waits` has for each table how long its lock request waited.
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

    Late tables get the same transaction list, which was taken before their lock: `concurrent_ddl`
    has the checks.
    """

    def __init__(
        self,
        transaction: Transaction,
        settings: SnapshotSettings,
        lock_wait: LockWait,
        unexplained: UnexplainedWriteIds,
    ) -> None:
        self.transaction = transaction
        self._client = transaction.client
        self._settings = settings
        self._originals: bool | None = None
        self._merges: bool | None = None
        self.scratch = Scratch(settings.scratch_directory, settings.open_files_limit)
        self._lock_wait = lock_wait
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
        """Report the tables that are held, or were held when the transaction ended."""
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
                "Take a new snapshot.",
                code="HIVEACID_LOCK_UNKNOWN",
            )
        if self._valid_txns is not None:
            # The connection may have been cut while Spark worked. This call renews it and may be
            # repeated; a lock request may not.
            self.transaction.check_alive()
        try:
            waited = acquire_shared_read(self.transaction, names, self._lock_wait)
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
        has_insert_only = any(table.is_insert_only for table in tables.values())
        shows_originals = has_insert_only and self._shows_originals()
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
                avro_time_zone=files[name].avro_time_zone,
                is_hive_3=server.is_hive_3,
                shows_originals=table.is_insert_only and shows_originals,
                merges_files=self._merges_files,
                hive_listing=HiveListing.of(server.version),
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

    def _merges_files(self) -> bool:
        if self._merges is None:
            self._merges = self._client.merges_files()
        return self._merges

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
            f"{first}, though the transaction is open. Take a new snapshot.",
            code="HIVEACID_LOCK_LOST",
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
            f"{name} is a Hive view, and only tables can be locked (looked up in transaction "
            f"{transaction_id}). Read it by its name with snapshot.sql(…), which locks the "
            "tables behind it.",
            code="HIVEACID_NOT_A_TABLE",
        )
    if not table.is_transactional:
        raise UnreadableTableError(
            f"{name} is not a transactional table (looked up under its lock in transaction "
            f"{transaction_id}). Spark reads such a table itself. If it was transactional before, "
            "it has been dropped and created as another kind: take a new snapshot.",
            code="HIVEACID_NOT_TRANSACTIONAL",
        )
