"""Public API: write Hive ACID tables with Spark, several in one transaction."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Literal

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hiveacid.acid.write_ids import ValidWriteIdList
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
from hiveacid.writer.creation import (
    Created,
    TableLayout,
    as_names,
    column_of,
    new_table,
    schema_of,
)
from hiveacid.writer.definitions import append_columns, drop_leftover, put_in_place
from hiveacid.writer.files import Files
from hiveacid.writer.merge import MergeClauses
from hiveacid.writer.publication import create_and_publish, publish
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
        self._writes = Writes(
            self._client, _Reads(engine), engine.footers, self._open_writer, wrap_rows
        )
        self._committed: dict[TableName, int] = {}

    def __enter__(self) -> Transaction:
        """See `Snapshot`."""
        super().__enter__()
        return self

    def create(
        self,
        name: str | TableName,
        schema: StructType | str,
        *,
        partitioned_by: str | Iterable[str] = (),
        clustered_by: str | Iterable[str] = (),
        buckets: int | None = None,
        kind: Literal["full", "insert_only"] = "full",
        file_format: Literal["orc", "parquet"] = "orc",
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
        if_not_exists: bool = False,
    ) -> bool:
        """Create a transactional table, and return whether it will be created.

        The table is made when the block ends, just before its rows become visible, and dropped
        again if they cannot. `append` and `overwrite` of the same block write into it::

            transaction.create(
                "marts.orders",
                orders.schema,
                partitioned_by="country",
                clustered_by="id",
                buckets=4,
                kind="insert_only",
                comment="Orders by country",
            )
            transaction.append("marts.orders", orders)

        Args:
            schema: all columns, as a `StructType` or Spark's DDL. `COMMENT` of DDL, or `comment` of
                a field's metadata, becomes the comment of a column.
            partitioned_by: the columns whose values make partitions; they become the last ones.
            clustered_by: the columns whose values are hashed into `buckets` files.
            buckets: the number of buckets.
            kind: "full" tables can be updated and deleted from, "insert_only" ones only grow or are
                overwritten.
            file_format: "parquet" only with `kind="insert_only"`.
            properties: more table properties (TBLPROPERTIES).
            if_not_exists: keep a table that exists as it is, and return False.

        Raises:
            InvalidSettingError: arguments contradict each other.
            UnwritableTableError: there is such a table, or Hive has no type for a column.
        """
        layout = TableLayout(
            partitioned_by, clustered_by, buckets, kind, file_format, comment, properties
        )
        table = new_table(table_name(name), schema_of(schema), layout, self._owner())
        return self._writes.create(table, if_not_exists=if_not_exists)

    def _owner(self) -> str:
        """Return the user's short name, as Hive has it in the owner of a table."""
        user = self._client.known_user() or self._engine.requester().user
        return re.split("[/@]", user)[0]

    def create_or_replace(
        self,
        name: str | TableName,
        rows: DataFrame,
        *,
        partitioned_by: str | Iterable[str] = (),
        clustered_by: str | Iterable[str] = (),
        buckets: int | None = None,
        kind: Literal["full", "insert_only"] = "full",
        file_format: Literal["orc", "parquet"] = "orc",
        comment: str | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """Make a table of rows; a transactional table of that name is replaced.

        A table with the same columns and layout is overwritten with the other writes of the block.
        Any other one is replaced by a new table right after the commit. Between two renames there
        is no table of the name for a moment.

        Args:
            rows: all rows of the table. Their columns are its columns.

        For the other arguments and errors see `create`.
        """
        layout = TableLayout(
            partitioned_by, clustered_by, buckets, kind, file_format, comment, properties
        )
        table = new_table(table_name(name), rows.schema, layout, self._owner())
        self._writes.create_or_replace(table, rows)

    def add_columns(self, name: str | TableName, columns: StructType | str) -> None:
        """Add columns to a table at the end of the block. Rows that are there have NULL in them.

        Args:
            columns: the new columns, as a `StructType` or Spark's DDL. They become the last ones
                before the partition columns.

        Raises:
            UnwritableTableError: Hive has no type for a column.
        """
        table = table_name(name)
        added = [column_of(table, field) for field in schema_of(columns)]
        self._writes.add_columns(table, added)

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
        on: str | Iterable[str] | Column,
        *,
        when_matched: Literal["update", "delete"] | None = "update",
        when_not_matched: Literal["insert"] | None = "insert",
        update: Mapping[str, str | Column] | None = None,
        where_matched: str | Column | None = None,
        where_not_matched: str | Column | None = None,
    ) -> None:
        """Update, delete and insert rows of a full-ACID table, as SQL's MERGE.

        In conditions and in values of `update`, `target` is the table and `source` the rows::

            transaction.merge(
                "marts.customers",
                customers.selectExpr("id", "name", "0 as changes"),
                on="id",
                update={"name": "source.name", "changes": "target.changes + 1"},
                where_matched="source.name <> target.name",
            )

        Args:
            rows: the rows of the source. Two of them must not match the same row of the table.
            on: names of columns, or a condition, as in `DataFrame.join`. NULL matches nothing.
            when_matched: "update" changes a matched row, "delete" removes it, None keeps it.
            when_not_matched: "insert" adds a row that matches none; None ignores it.
            update: new values of columns, by their names. None sets all columns to those of `rows`.
            where_matched: update or delete only matched rows for which this is true.
            where_not_matched: insert only rows for which this is true.
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
        clauses = MergeClauses(
            on if isinstance(on, Column) else as_names(on),
            when_matched,
            when_not_matched,
            None if update is None else {key: _expression(it) for key, it in update.items()},
            None if where_matched is None else _expression(where_matched),
            None if where_not_matched is None else _expression(where_not_matched),
        )
        self._writes.merge(table_name(name), rows, clauses)

    def replace(self, name: str | TableName, rows: DataFrame, on: str | Iterable[str]) -> None:
        """Add rows to a full-ACID table, in place of all rows with the same keys.

        Args:
            rows: the new rows. Several may have the same key.
            on: the columns of the key. NULL equals nothing.
        """
        self._writes.replace(table_name(name), rows, as_names(on))

    def depend_on(self, name: str | TableName, write_ids: ValidWriteIdList) -> None:
        """Publish a table only if nothing was written into it since it was read elsewhere.

        For hosts that read a table in another snapshot and write what they have made of it.

        Args:
            write_ids: the write ids of the table in that snapshot.
        """
        self._writes.dependencies[table_name(name)] = write_ids

    @property
    def write_ids(self) -> dict[TableName, int]:
        """Write ids of the tables that were written, after the end of the block."""
        return dict(self._committed)

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
            if kind is None:
                self._publish()
        finally:
            self._writes.discard()
            self._client.close()

    def _publish(self) -> None:
        tables, new_tables = self._writes.tables, self._writes.new_tables
        limit = LockWait(self._settings.lock_timeout, lambda: None)

        def publish_all() -> None:
            if tables:
                publish(self._spark, tables, limit, self._writes.owner, self._open_writer)

        for added in self._writes.added_columns:
            append_columns(added, limit, self._open_writer)
        create_and_publish(Files(self._spark), Created(self._client), new_tables, publish_all)
        self._committed = {it.name: it.write_id for it in tables if it.write_id}
        pending = list(self._writes.replacements)
        if pending:
            # A rename would take the stage with the table.
            self._writes.remove_stages()
        try:
            while pending:
                replacement = pending.pop(0)
                name = replacement.old.name
                since = self._writes.dependencies.get(name)
                put_in_place(replacement, since, limit, self._open_writer)
                self._committed[name] = self._committed.pop(replacement.made)
        finally:
            for replacement in pending:
                drop_leftover(self._open_writer, replacement.made)

    def _open_writer(self) -> MetastoreTransaction:
        settings = replace(self._settings, read_only=False)
        requester = self._engine.requester()
        return MetastoreTransaction.open(self._connect, settings, requester, lambda error: None)


def _expression(given: str | Column) -> Column:
    return F.expr(given) if isinstance(given, str) else given


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
