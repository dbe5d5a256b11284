"""Snapshots of the ACID targets that a command writes: each shows its newest rows."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from functools import partial

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.spark.driver import has_its_tables_in
from hiveacid import Transaction, transaction
from hiveacid.engine import SnapshotEngine
from hiveacid.errors import SnapshotEndedError
from hiveacid.metastore.models import Table, TableName
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.sql.known_tables import KnownTables


class WrittenTargets:
    """A snapshot for each target, apart from the one of the sources. Thread-safe.

    The snapshot of the sources is older than the rows that the command writes. Its locks would hold
    up the publication of a target that it has read.
    """

    def __init__(
        self,
        names: Callable[[], Collection[TableName]],
        make: Callable[[], SnapshotEngine],
        begin: Callable[[SparkSession], Transaction],
        tables: KnownTables,
    ) -> None:
        """Open nothing yet.

        Args:
            names: returns the ACID targets that the command writes.
            make: makes a snapshot without a transaction.
            begin: makes a transaction that writes, not yet begun.
            tables: the tables that the metastore has.
        """
        self._names = names
        self._make = make
        self.begin = begin
        self._tables = tables
        self._lock = threading.Lock()
        self._snapshots: dict[TableName, SnapshotEngine] = {}
        self._ended: set[int] = set()

    def snapshot_of(self, name: TableName) -> SnapshotEngine | None:
        """Return the snapshot of a target; None for a table that the command does not write."""
        if name not in self._names():
            return None
        with self._lock:
            if name not in self._snapshots:
                self._snapshots[name] = self._make()
            return self._snapshots[name]

    def check_alive(self, reads: Mapping[int, TableName]) -> set[int]:
        """Check the transactions among `reads` that targets were read in; return these.

        Args:
            reads: what was read, by the transaction that it was read in.

        Raises:
            TransactionLostError: one is lost.
            SnapshotEndedError: another node has written a target meanwhile.
        """
        with self._lock:
            found = {it.transaction_id: it for it in self._snapshots.values()}
            ended = self._ended & reads.keys()
        if ended:
            name = reads[min(ended)]
            raise SnapshotEndedError(_explain(name, str(name)))
        for transaction_id in reads.keys() & found.keys():
            found[transaction_id].check_alive()
        return {it for it in reads if it in found}

    def end(self, name: TableName) -> PinnedTable | None:
        """End the snapshot of a target before it is written; the next read opens another one.

        Returns:
            The target as it was read; None if it was not.
        """
        with self._lock:
            snapshot = self._snapshots.pop(name, None)
            transaction_id = None if snapshot is None else snapshot.transaction_id
            if snapshot is None or transaction_id is None:
                return None
            self._ended.add(transaction_id)
        read = snapshot.pin([name])[name]
        snapshot.end(partial(_explain, name))
        return read

    def look_up(self, name: TableName) -> Table | None:
        """Return the table of a name as it is now; None without one."""
        self._tables.forget(name)
        return self._tables.get(name)

    def published(self, name: TableName) -> None:
        """Forget what was known of a target before it was written."""
        self._tables.forget(name)

    def end_all(self) -> None:
        """End all snapshots. May be called again."""
        with self._lock:
            names = list(self._snapshots)
        for name in names:
            self.end(name)
        self._ended.clear()


def begin_to_write(
    credentials: HiveAcidCredentials, agent_info: str, session: SparkSession
) -> Transaction:
    """Make a transaction that writes into tables of the profile's metastore.

    Raises:
        AdapterError: Spark's tables are in another metastore.
    """
    if not has_its_tables_in(session.sparkContext, credentials.metastore_uri):
        raise AdapterError(
            "`file_format: acid` needs a Spark whose tables are in the metastore of "
            f"`metastore_uri` ({credentials.metastore_uri}). Set "
            "spark.hadoop.hive.metastore.uris in server_side_parameters, or another file_format.",
            code="HIVEACID_TARGET_IN_OTHER_METASTORE",
        )
    return transaction(
        session,
        credentials.metastore_uri,
        lock_timeout=credentials.lock_timeout,
        heartbeat_interval=credentials.heartbeat_interval,
        metastore_timeout=credentials.metastore_timeout,
        security=credentials.security,
        description=agent_info,
    )


def _explain(name: TableName, what: str) -> str:
    return (
        f"{what or name} was read by another node while the node that makes {name} wrote it. Let "
        f"the reader depend on that node: name {name} by ref()."
    )
