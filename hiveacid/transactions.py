"""Public API: write Hive ACID tables with Spark, several in one transaction."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession

from hiveacid.api import InitiallyKnown, InitialTables, Snapshot
from hiveacid.arguments import (
    address_of,
    seconds_of,
    security_of,
    session_of,
    table_name,
    table_names,
    text_of,
)
from hiveacid.engine import SnapshotEngine, open_footers
from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.settings import NO_SECURITY, Auth, Security
from hiveacid.metastore.writing_client import WritingClient
from hiveacid.snapshots.locks import LockWait
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.snapshots.transaction import Transaction as MetastoreTransaction
from hiveacid.writer.publication import publish
from hiveacid.writer.writes import Writes


def transaction(
    spark: SparkSession,
    metastore_uri: str,
    tables: str | TableName | Iterable[str | TableName] = (),
    *,
    lock_timeout: float = 300.0,
    heartbeat_interval: float | None = None,
    metastore_timeout: float = 60.0,
    security: Security | Auth | None = NO_SECURITY,
    description: str = "hiveacid",
    wrap_rows: bool = False,
) -> Transaction:
    """Open a transaction that reads and writes Hive ACID tables, as a context manager.

    All writes become visible together when the `with` block ends, or none of them if it ends with
    an error::

        with hiveacid.transaction(spark, metastore, ["shop.orders"]) as transaction:
            orders = transaction.table("shop.orders")
            daily = orders.groupBy("country").agg({"amount": "sum"}).toDF("country", "amount")
            transaction.overwrite("marts.daily", daily)
            transaction.append("marts.log", spark.sql("SELECT current_timestamp() AS at"))

    Needs a metastore of Hive 4; with Hive 3.1 it writes less (docs/writing.md). Arguments are those
    of `hiveacid.snapshot`; `tables` are those that the transaction reads.

    Args:
        wrap_rows: write the rows of full-ACID tables with their row ids, as Hive does. It takes
            longer, and is done anyway where the metastore's settings say that compactions need it
            (docs/writing.md).

    Raises:
        InvalidSettingError: an argument has an invalid value.
    """
    session_of(spark)
    names = table_names(tables)
    connect = partial(
        WritingClient,
        address_of(metastore_uri),
        seconds_of("metastore_timeout", metastore_timeout),
        security=security_of(security),
    )
    settings = SnapshotSettings(heartbeat_interval, lock_timeout)
    engine = SnapshotEngine(
        connect,
        settings,
        text_of("description", description),
        InitialTables(names),
        footers=open_footers(None),
        spark=spark,
    )
    known = InitiallyKnown(connect, names, None)
    return Transaction(spark, engine, known, names, connect, settings, wrap_rows)


class Transaction(Snapshot):
    """Hive ACID tables as of one moment, and writes that become visible together.

    Returned by `hiveacid.transaction`. It reads as a `Snapshot`; reads do not see the
    transaction's own writes. Methods that write stage files at once, in a hidden directory of the
    table. The end of the `with` block locks the tables, moves the files and commits.

    Methods that write take the `name` of a table, such as `marts.daily`, and raise:

    Raises:
        UnwritableTableError: the table cannot be written so that Hive reads exactly the rows.
        UnwritableRowsError: the rows do not fit the table.
    """

    def __init__(
        self,
        spark: SparkSession,
        engine: SnapshotEngine,
        known: InitiallyKnown,
        tables: frozenset[TableName],
        connect: partial[WritingClient],
        settings: SnapshotSettings,
        wrap_rows: bool,
    ) -> None:
        """Open nothing yet; see `hiveacid.transaction`."""
        super().__init__(spark, engine, known, tables, ())
        self._connect = connect
        self._settings = settings
        self._client = connect()
        self._writes = Writes(self._client, _Reads(engine), engine.footers, wrap_rows)

    def __enter__(self) -> Transaction:
        """See `Snapshot`."""
        super().__enter__()
        return self

    def append(self, name: str | TableName, rows: DataFrame) -> None:
        """Add rows to a table.

        Columns are matched by name. Values are converted where nothing can be lost. May be called
        several times for one table.
        """
        self._writes.append(table_name(name), rows)

    def overwrite(
        self,
        name: str | TableName,
        rows: DataFrame,
        *,
        partitions: Literal["all", "dynamic"] = "all",
    ) -> None:
        """Replace the rows of a table, or of some of its partitions.

        Args:
            partitions: "all" replaces the whole table; "dynamic" only partitions that `rows` has
                rows for, as `spark.sql.sources.partitionOverwriteMode`.
        """
        if partitions not in ("all", "dynamic"):
            raise InvalidSettingError(
                f'`partitions` must be "all" or "dynamic", not {partitions!r}.',
                code="HIVEACID_INVALID_ARGUMENT",
            )
        self._writes.overwrite(table_name(name), rows, dynamic=partitions == "dynamic")

    def delete(self, name: str | TableName, condition: str | Column) -> None:
        """Delete the rows of a full-ACID table for which a condition is true."""
        self._writes.delete(self._session(None), table_name(name), condition)

    def merge(
        self,
        name: str | TableName,
        rows: DataFrame,
        on: str | Iterable[str],
        *,
        when_matched: Literal["update", "delete"] | None = "update",
        when_not_matched: Literal["insert"] | None = "insert",
    ) -> None:
        """Update, delete and insert rows of a full-ACID table by key, as SQL's MERGE.

        Args:
            rows: new rows, with all columns of the table. Two rows must not match the same row.
            on: the columns that rows are matched by. NULL matches nothing.
            when_matched: "update" replaces a matched row, "delete" removes it, None keeps it.
            when_not_matched: "insert" adds a row that matches none; None ignores it.
        """
        if when_matched not in ("update", "delete", None) or when_not_matched not in (
            "insert",
            None,
        ):
            raise InvalidSettingError(
                '`when_matched` must be "update", "delete" or None, and `when_not_matched` '
                f'"insert" or None, not {when_matched!r} and {when_not_matched!r}.',
                code="HIVEACID_INVALID_ARGUMENT",
            )
        keys = [on] if isinstance(on, str) else list(on)
        self._writes.merge(
            table_name(name),
            rows,
            keys,
            when_matched=when_matched,
            when_not_matched=when_not_matched,
        )

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Publish the writes and commit, or remove them and abort after an error.

        Raises:
            LockTimeoutError: a lock was not granted in time.
            PublicationError: a file could not be moved into its table.
            WriteAbortedError: the transaction was aborted, or another one has changed what it has
                read.
        """
        try:
            # The locks of the reads end here: the lock of an overwrite would wait for them.
            super().__exit__(kind, error, trace)
            if kind is None and (tables := self._writes.tables):
                limit = LockWait(self._settings.lock_timeout, lambda: None)
                publish(self._spark, tables, limit, self._open_writer)
        finally:
            self._writes.discard()
            self._client.close()

    def _open_writer(self) -> MetastoreTransaction:
        settings = replace(self._settings, read_only=False)
        requester = self._engine.requester()
        return MetastoreTransaction.open(self._connect, settings, requester, lambda error: None)


class _Reads:
    """The transaction that reads (`writer.writes.Reads`)."""

    def __init__(self, engine: SnapshotEngine) -> None:
        self._engine = engine

    def transaction(self) -> MetastoreTransaction:
        """See `Reads.transaction`."""
        return self._engine.begin()

    def pin(self, name: TableName) -> PinnedTable:
        """See `Reads.pin`."""
        return self._engine.pin_with_initial([name])[name]

    def pinned(self, name: TableName) -> PinnedTable | None:
        """See `Reads.pinned`."""
        report = self._engine.report()
        return self.pin(name) if report is not None and name in report.write_ids else None
