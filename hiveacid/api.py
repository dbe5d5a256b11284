"""Public API: open a snapshot of Hive ACID tables and read it with Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from pyspark.sql import DataFrame, SparkSession

from hiveacid.arguments import (
    address_of,
    path_of,
    seconds_of,
    security_of,
    session_of,
    start_of_changes,
    table_name,
    table_names,
    text_of,
    values_of_tables,
    write_id_of,
)
from hiveacid.changes.losses import Loss
from hiveacid.changes.plan import ChangePlan
from hiveacid.changes.state import SourceState
from hiveacid.engine import SnapshotEngine, changed_rows, open_footers
from hiveacid.errors import InvalidSettingError
from hiveacid.jvm.scratch import DEFAULT_LIMIT
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.settings import NO_SECURITY, Auth, Security
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.verify_result import Verification
from hiveacid.snapshots.locked_tables import SnapshotReport
from hiveacid.snapshots.read_options import AsOf, ReadKind
from hiveacid.snapshots.run_snapshot import SnapshotHooks
from hiveacid.snapshots.tables import FileSettings
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.gate import install_gate
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.parameters import Parameters, parse_with
from hiveacid.sql.prepare import prepare
from hiveacid.sql.reads import AcidRead, ChangesRead
from hiveacid.sql.statement import TableFunction

Partitions = Mapping[str, Any]
"""Values to read by partition key: a value, or a list of values. Keys may be left out."""


def snapshot(
    spark: SparkSession,
    metastore_uri: str,
    tables: str | TableName | Iterable[str | TableName],
    *,
    lock_timeout: float = 300.0,
    orc_columns: str | Mapping[str, str] | None = None,
    old_dates: str | Mapping[str, str] | None = None,
    parquet_time_zone: str | Mapping[str, str] | None = None,
    avro_time_zone: str | Mapping[str, str] | None = None,
    heartbeat_interval: float | None = None,
    metastore_timeout: float = 60.0,
    security: Security | Auth | None = NO_SECURITY,
    footer_cache: str | Path | None = None,
    scratch_directory: str | None = None,
    open_files_limit: float = DEFAULT_LIMIT,
    hive_views: str | None = None,
    description: str = "hiveacid",
) -> Snapshot:
    """Open a snapshot of Hive ACID tables, as a context manager.

    The `with` block opens one read-only transaction, which locks all tables in one request. Every
    read in the block shows what was committed when the locks were granted::

        with hiveacid.snapshot(spark, metastore, ["shop.orders", "shop.customers"]) as snapshot:
            orders = snapshot.table("shop.orders", partitions={"day": ["2026-01-30", "2026-01-31"]})
            customers = snapshot.table("shop.customers")
            report = orders.join(customers, "customer_id").groupBy("country").sum("amount")
            report.write.mode("overwrite").parquet(target)

    Args:
        spark: the session that reads the tables.
        metastore_uri: `thrift://host:port`, or several addresses of the same metastore,
            comma-separated.
        tables: names of the tables, such as `shop.orders`; one name stands for a list of one.
        lock_timeout: seconds to wait for the locks.
        orc_columns: how Hive matches ORC columns: "position" or "name". Like `old_dates`,
            `parquet_time_zone` and `avro_time_zone`: one value, or a mapping from names of existing
            tables to values. None: by position if the metastore is Hive 4; if it is Hive 3, files
            for which the two differ are refused.
        old_dates: the calendar of days before 1582-10-15 in files that do not name their calendar:
            "gregorian", as in Hive 3.1, or "file", the Julian calendar. None: as in the
            metastore's version of Hive.
        parquet_time_zone: the time zone of the JVM that wrote Parquet files, such as
            "Europe/Berlin", for files that do not name it or that hold instants. None: a query
            that needs their timestamps is refused.
        avro_time_zone: the time zone of Hive's JVM, for timestamps in Avro files that do not name
            their writer's zone, such as Spark's. None: a query that needs them is refused.
        heartbeat_interval: seconds between two heartbeats; None: a third of the metastore's
            transaction timeout.
        metastore_timeout: seconds that a call to the metastore may take.
        security: how to authenticate to a secured metastore, and what protects the connection.
            `Kerberos()` stands for `Security(Kerberos())`, as do the other ways to authenticate.
        footer_cache: cache directory for ORC footers, so that a later snapshot does not read them
            again; None: nothing is kept on disk.
        scratch_directory: directory for copies of the flushed part of files that are still being
            written. Spark's executors must reach it. The copies are removed with the snapshot.
            None: `/tmp` on the file system of the files.
        open_files_limit: megabytes that these copies may have together. A table that needs more
            is refused.
        hive_views: the release of Hive that Hive views are read as, "4.0" or "3.1", whatever the
            metastore's version. "refuse" refuses views unless the metastore is one of these two.
            None: the nearer of the two, with a warning if the metastore is neither.
        description: the owner of the locks, as `SHOW LOCKS` shows it.

    Raises:
        InvalidSettingError: an argument has an invalid value, a table name is not of the form
            `database.table`, or the session has been stopped.
    """
    session_of(spark)
    names = table_names(tables)
    of_all, of_some = _file_settings(
        orc_columns=orc_columns,
        old_dates=old_dates,
        parquet_time_zone=parquet_time_zone,
        avro_time_zone=avro_time_zone,
    )
    connect = partial(
        MetastoreClient,
        address_of(metastore_uri),
        seconds_of("metastore_timeout", metastore_timeout),
        security=security_of(security),
    )
    settings = SnapshotSettings(
        heartbeat_interval,
        lock_timeout,
        of_all,
        lambda wanted: of_some,
        None if scratch_directory is None else text_of("scratch_directory", scratch_directory),
        open_files_limit,
    )
    hooks, footers = InitialTables(names), open_footers(path_of("footer_cache", footer_cache))
    description = text_of("description", description)
    engine = SnapshotEngine(connect, settings, description, hooks, footers=footers, spark=spark)
    return Snapshot(
        spark, engine, InitiallyKnown(connect, names, hive_views), names, of_some.keys() - names
    )


def _file_settings(
    **given: str | Mapping[str, str] | None,
) -> tuple[FileSettings, dict[TableName, FileSettings]]:
    """Split settings into the values for all tables, and the values for single tables."""
    of_all: dict[str, str] = {}
    of_some: dict[TableName, dict[str, str]] = {}
    for setting, words in given.items():
        for name, word in values_of_tables(setting, words).items():
            (of_all if name is None else of_some.setdefault(name, {}))[setting] = word
    return FileSettings(**of_all), {name: FileSettings(**own) for name, own in of_some.items()}


class Snapshot:
    """Hive ACID tables as of one moment, read with Spark; returned by `hiveacid.snapshot`.

    All threads may share it. Methods that read take the `name` of a table, such as `shop.orders`,
    and `spark`, a session that reads in place of the snapshot's. A table that was not named when
    the snapshot was opened is locked when it is first read. It is read as of the same moment, or
    refused if DDL has changed it since.

    Raises:
        UnreadableTableError: in methods that read: a table cannot be read exactly; the message
            says why.
        TransactionLostError: the transaction is lost, so what was read may be wrong.
        SnapshotEndedError: the snapshot has ended.
    """

    def __init__(
        self,
        spark: SparkSession,
        engine: SnapshotEngine,
        known: InitiallyKnown,
        tables: Collection[TableName],
        with_settings: Collection[TableName],
    ) -> None:
        """Open nothing yet.

        Args:
            spark: the session that reads if a method is given none.
            engine: pins the tables and reads them.
            known: the tables that the metastore has.
            tables: the tables that entering the block locks, in one request.
            with_settings: other tables that have settings of their own. Entering the block checks
                that the metastore has them.
        """
        self._spark = spark
        self._engine = engine
        self._known = known
        self._tables = tables
        self._with_settings = with_settings

    def __enter__(self) -> Snapshot:
        """Open the transaction and lock the tables.

        From now on the session refuses to read or write a transactional table as plain files, also
        after the snapshot has ended.

        Raises:
            LockTimeoutError: a lock was not granted in time.
            TableNotFoundError: there is no such table.
            InvalidSettingError: a setting is for a table that the metastore does not have.
            UnreadableTableError: a table is not transactional.
            MetastoreError: a call to the metastore failed.
        """
        self._session(self._spark)
        self._check_settings()
        self._engine.pin(self._tables)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit, or abort after an error; release the locks.

        Raises:
            TransactionLostError: the transaction was lost, so what was read may be wrong.
            MetastoreError: whether the transaction was lost could not be found out.
        """
        if kind is not None:
            self._engine.abort()
            return
        try:
            if not self._engine.has_ended:
                self._engine.check_alive()
        finally:
            self._engine.end()

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled, as in a function that Spark's workers would run."""
        raise TypeError(
            "A snapshot cannot be pickled: it belongs to the process that took it. Read from "
            "it in the driver, and send the rows to other processes."
        )

    def table(
        self,
        name: str | TableName,
        partitions: Partitions | None = None,
        *,
        version_as_of: int | None = None,
        timestamp_as_of: str | datetime | None = None,
        read: str | None = None,
        spark: SparkSession | None = None,
    ) -> DataFrame:
        """Return the rows that Hive shows of a table, lazily: the snapshot's, or earlier ones.

        An earlier instant is a write id or a time::

            earlier = snapshot.table("shop.orders", version_as_of=write_id)

        Args:
            partitions: a value, or a list of values, by partition key, written as SHOW PARTITIONS
                shows them; None stands for NULL. Keys may be left out. Other partitions are not
                even listed.
            version_as_of: read the table as of this write id: everything that write ids up to it
                wrote and the snapshot shows. 0 is the table before its first write.
            timestamp_as_of: read the table as of this time, which is mapped to a write id. Lower
                write ids that are known to have been committed later are left out. A text or a
                datetime without a time zone is in the time zone of the session.
            read: "snapshot" (the default), or "optimized" for bases and compacted deltas only,
                which may be behind the snapshot.

        Raises:
            InvalidSettingError: the snapshot has no such write id, or an argument is wrong.
            InstantLostError: the rows of the instant can no longer be determined with certainty.
        """
        session, found = self._session(spark), table_name(name)
        as_of, kind = AsOf.of(version_as_of, timestamp_as_of), ReadKind.parse(read)
        choice = _chosen(found, partitions)
        plan = self._engine.plan_table(session, found, choice, as_of=as_of, read=kind)
        return self._engine.frame(session, plan)

    def sql(
        self, text: str, args: Parameters | None = None, *, spark: SparkSession | None = None
    ) -> DataFrame:
        """Run a Spark SQL statement that reads transactional tables from the snapshot.

        The statement names tables by their own names, and may read them through stored views. A
        query runs when its rows are fetched, a command at once. A stored view that the statement
        creates over transactional tables can only be read through this method or dbt-hiveacid.

        Args:
            text: one statement.
            args: values for the parameters in the text, as `SparkSession.sql` takes them: by name
                for `:name`, or in order for `?`.

        Raises:
            RawAcidReferenceError: the statement hides which tables it reads.
            AcidTargetError: the statement would change or remove a transactional table.
            InvalidSettingError: an option of a table is unknown or wrong.
            PySparkException: Spark's own errors.
        """
        session = self._session(spark)
        statement = parse_with(session, text_of("text", text), _parameters(args))
        rows = _Rows(self._engine, self._known.for_statement())
        return prepare(session, statement, rows).run(session)

    def changes(
        self,
        name: str | TableName,
        since: SourceState | str | int | None = None,
        partitions: Partitions | None = None,
        *,
        until: int | None = None,
        max_write_ids: int | None = None,
        spark: SparkSession | None = None,
    ) -> Changes:
        """Find what changed in a table since a state or a write id.

        Runs a Spark job only for files whose footers do not show whether Hive 2 wrote them. Pass
        the state of the changes that were applied last, None the first time::

            changes = snapshot.changes("shop.orders", since=state)

        Args:
            since: `Changes.state` of the changes that were applied last, or its text; or a write
                id, whose own changes are not included. None: every row is an insert.
            partitions: as for `table`. They must be the same each time; the history counts as lost
                if they differ.
            until: the last write id whose changes are included; None: the snapshot's newest.
            max_write_ids: include at most this many of the new write ids, the lowest ones.

        Raises:
            InvalidStateError: the text is not a state.
            InvalidSettingError: the snapshot has no such write id, or `until` is before `since`.
            InstantLostError: the table as of one of the write ids can no longer be determined.
        """
        session, found = self._session(spark), table_name(name)
        state, choice = start_of_changes(since), _chosen(found, partitions)
        plan = self._engine.plan_changes(
            session,
            found,
            state,
            choice,
            until=None if until is None else write_id_of("until", until),
            max_write_ids=(
                None if max_write_ids is None else write_id_of("max_write_ids", max_write_ids)
            ),
        )
        return Changes(session, plan)

    def table_changes(
        self,
        name: str | TableName,
        since: int,
        until: int | None = None,
        partitions: Partitions | None = None,
        *,
        spark: SparkSession | None = None,
    ) -> DataFrame:
        """Return the changes between two write ids in the form of Delta's change data feed.

        The rows are those of `changes`: the changes of `since` itself are not included. Columns
        in addition to the table's are `_change_type` (insert or delete), `_commit_version` (the
        write id) and `_commit_timestamp`. The timestamp is the commit time if the metastore keeps a
        notification log. Without one it is the time of the files that the write left; NULL if
        neither is known.

        Raises:
            HistoryLostError: a part of the changes is lost.
            HiveAcidError: as for `changes`.
        """
        found = table_name(name)
        choice, first = _chosen(found, partitions), write_id_of("since", since)
        last = None if until is None else write_id_of("until", until)
        return self._engine.change_feed(self._session(spark), found, first, last, choice)

    def verify(self, name: str | TableName, *, spark: SparkSession | None = None) -> Verification:
        """Check the files of a table, and that `table` shows their rows.

        Reads the whole table, and shuffles its rows. `problems` of the result is empty for a table
        that is as Hive writes it.
        """
        return self._engine.verify(self._session(spark), table_name(name))

    @property
    def rows_hive_will_drop(self) -> Mapping[TableName, tuple[str, ...]]:
        """Tables read so far with rows that Hive will lose, and the directories that show it."""
        return self._engine.rows_hive_will_drop

    def check_alive(self) -> None:
        """Check with the metastore that the transaction is open: call it before you publish."""
        self._engine.check_alive()

    def end(self) -> None:
        """Commit the transaction and release its locks, before the end of the block or without one.

        May be called again.
        """
        self._engine.end()

    def report(self) -> SnapshotReport | None:
        """Return the transaction, write ids and lock times; None before the first table is locked.

        After the end of the snapshot they are the last ones.
        """
        return self._engine.report()

    def _session(self, spark: SparkSession | None) -> SparkSession:
        """Return the session that a method is given, with the gate; None: the snapshot's own.

        Raises:
            InvalidSettingError: it is no session, or has been stopped.
        """
        if spark is None:
            return session_of(self._spark)
        install_gate(session_of(spark))
        return spark

    def _check_settings(self) -> None:
        """Refuse settings for tables that do not exist: a misspelled name leaves a table without.

        A table that is locked late may have settings, too.
        """
        unknown = self._known.missing(self._with_settings)
        if unknown:
            raise InvalidSettingError(
                f"The settings name {', '.join(map(str, unknown))}, but the metastore has no such "
                "table, so another table may be read without its settings. Correct or remove "
                "the name in `orc_columns`, `old_dates`, `parquet_time_zone` or `avro_time_zone`.",
                code="HIVEACID_SETTINGS_FOR_UNKNOWN_TABLE",
            )


class InitialTables(SnapshotHooks):
    """Hooks that name the tables of a snapshot, and do nothing else."""

    def __init__(self, names: frozenset[TableName]) -> None:
        self._names = names

    def initial_tables(self) -> Iterable[TableName]:
        """See `SnapshotHooks.initial_tables`."""
        return self._names


class InitiallyKnown(KnownTables):
    """Tables of the metastore; the initial ones count as transactional without a look-up."""

    def __init__(
        self,
        client: Callable[[], MetastoreClient],
        initial: frozenset[TableName],
        hive_views: str | None,
    ) -> None:
        super().__init__(client, lambda: (), lambda: (), hive_views)
        self._initial = initial

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """See `KnownTables.has`."""
        return name in self._initial or super().has(name, in_spark=in_spark)


class _Rows:
    """Rows of a snapshot for a statement (`RowSource`)."""

    def __init__(self, engine: SnapshotEngine, known: KnownTables) -> None:
        self.known = known
        self._engine = engine

    def pin(self, names: Iterable[TableName]) -> None:
        """See `RowSource.pin`."""
        self._engine.pin_with_initial(names)

    def rows(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """See `RowSource.rows`."""
        clauses = ReadClauses.of(session, read.table, read.relation)
        plan = self._engine.plan_table(
            session, read.table, clauses.partitions, as_of=clauses.as_of, read=clauses.read
        )
        return self._engine.frame(session, plan)

    def columns(self, session: SparkSession, read: AcidRead) -> DataFrame:
        """See `RowSource.columns`."""
        ReadClauses.of(session, read.table, read.relation)
        return self._engine.columns_of(session, self.known.metadata(read.table))

    def feed(self, session: SparkSession, read: ChangesRead) -> DataFrame:
        """See `RowSource.feed`."""
        everything = PartitionChoice()
        return self._engine.change_feed(session, read.table, read.since, read.until, everything)

    def function(self, call: TableFunction) -> Callable[[SparkSession], DataFrame] | None:
        """See `RowSource.function`."""
        return None


class Changes:
    """Changes of one table between a state and a snapshot.

    Apply the deletes of `rows` first, then the inserts. Store `state.to_text()` together with the
    data, and pass it as `since` the next time. `losses` says which parts of the history are lost,
    and why. With losses `rows` raises an error: call `Snapshot.changes` without `since`, and
    replace the data by its rows.
    """

    def __init__(self, spark: SparkSession, plan: ChangePlan) -> None:
        """Take the changes of a plan; `Snapshot.changes` makes it."""
        self._spark = spark
        self._plan = plan

    @property
    def state(self) -> SourceState:
        """State after these changes: `since` of the next call."""
        return self._plan.state

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Lost parts of the history since the state; empty if the changes are complete."""
        return self._plan.losses

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed, and nothing was lost."""
        return self._plan.is_empty

    @property
    def has_more(self) -> bool:
        """Whether `max_write_ids` has left new write ids for the next call."""
        return bool(self._plan.remaining)

    @cached_property
    def rows(self) -> DataFrame:
        """Changed rows, lazily: the table's columns, `_change_type`, `_write_id` and `_row_id`.

        `_change_type` is `insert` or `delete`; an UPDATE in Hive is both. A row that was inserted
        and deleted since the state does not appear. A deleted row has the values that it had.

        Raises:
            HistoryLostError: a part of the changes is lost.
            UnreadableTableError: a file cannot be read exactly.
        """
        return changed_rows(self._spark, self._plan)


def _parameters(args: Parameters | None) -> Parameters | None:
    """Return the values of parameters.

    Raises:
        InvalidSettingError: they are neither a mapping nor a list.
    """
    if isinstance(args, str) or not isinstance(args, Mapping | Sequence | None):
        raise InvalidSettingError(
            f"`args` must be a mapping from names to values, or a list of values, not {args!r}. "
            'Write it as {"day": …} for `:day`, or […] for `?`.',
            code="HIVEACID_INVALID_ARGUMENT",
        )
    return args


def _chosen(name: TableName, partitions: Partitions | None) -> PartitionChoice:
    if partitions is None:
        return PartitionChoice()
    try:
        return PartitionChoice.parse(partitions)
    except ValueError as error:
        raise InvalidSettingError(
            f"Table {name}: the option `partitions` must map partition keys to a value or to a "
            f"list of values each, but {error}.",
            code="HIVEACID_INVALID_PARTITIONS",
        ) from error
