"""Snapshots that are read with Spark: the door of the library."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from pyspark.sql import DataFrame, SparkSession

from hiveacid.changes.between import plan_between
from hiveacid.changes.feed import as_change_feed, check_feed_names
from hiveacid.changes.history import History, look_back
from hiveacid.changes.losses import Loss
from hiveacid.changes.plan import ChangePlan, plan_before_images, plan_changes
from hiveacid.changes.rows import deleted_rows, inserted_rows
from hiveacid.changes.state import SourceState
from hiveacid.errors import (
    HistoryLostError,
    InvalidSettingError,
    MetastoreError,
    TransactionLostError,
    UnreadableTableError,
)
from hiveacid.formatting import pluralize
from hiveacid.jvm.filesystem import list_locations
from hiveacid.jvm.plans import plan_of
from hiveacid.jvm.scratch import DEFAULT_LIMIT
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import HiveSql, HiveView, Table, TableName
from hiveacid.metastore.security.settings import NO_SECURITY, Security
from hiveacid.reader.columns import table_columns
from hiveacid.reader.footer_cache import FooterCache
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import ReadPlan
from hiveacid.reader.read import (
    check_readable,
    no_rows,
    plan_listed,
    plan_optimized,
    plan_read,
    to_dataframe,
    write_ids_without_directory,
)
from hiveacid.reader.read_warnings import ReadWarnings, about_foreign
from hiveacid.reader.replicas import compactions_ahead, find_foreign
from hiveacid.reader.verification import Verification
from hiveacid.reader.verify import verify
from hiveacid.snapshots.instants import AsOf, ReadKind
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import FileSettings, PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.describe import describe_table
from hiveacid.sql.parameters import Parameters, parse_with
from hiveacid.sql.relations import (
    AcidRead,
    ChangesRead,
    described_elsewhere,
    find_acid,
    find_changes,
    tables_of,
)
from hiveacid.sql.swap import SwappedStatement, swap

_ANSI = "spark.sql.ansi.enabled"
_casts_lock = threading.RLock()

Partitions = Mapping[str, Any] | PartitionChoice
"""For some partition keys the value to read, or a list of values."""

S = TypeVar("S", bound="Snapshot")
_PlanKey = tuple[int, TableName, PartitionChoice, AsOf | None, str | None, ReadKind]
logger = logging.getLogger("hiveacid")


def snapshot(
    spark: SparkSession,
    metastore_uri: str,
    tables: Iterable[str | TableName],
    *,
    lock_timeout: float = 300.0,
    orc_columns: str | Mapping[str, str] | None = None,
    old_dates: str | Mapping[str, str] | None = None,
    parquet_time_zone: str | Mapping[str, str] | None = None,
    heartbeat_interval: float | None = None,
    metastore_timeout: float = 60.0,
    security: Security = NO_SECURITY,
    footer_cache: str | Path | None = None,
    scratch_directory: str | None = None,
    open_files_limit: float = DEFAULT_LIMIT,
    hive_views: str | None = None,
    description: str = "hiveacid",
) -> Snapshot:
    """Take a snapshot of some Hive ACID tables, as a context manager.

    The snapshot begins with the `with` block. One transaction locks all the tables in one request
    and shows what was committed at this moment. It ends with the block.

    Args:
        spark: the session that reads the tables.
        metastore_uri: `thrift://host:port`, or several addresses of the same metastore,
            comma-separated.
        tables: their names, such as `shop.orders`.
        lock_timeout: seconds to wait for the locks.
        orc_columns: by what Hive finds the columns of a table in ORC files, "position" or "name".
            None: by position if the metastore is one of Hive 4. With Hive 3, files in which it
            makes a difference are refused then. Like the next two: a word for all tables, or a
            mapping that has a word for some, by their names. A name that the metastore does not
            have is refused when the block is entered.
        old_dates: the calendar of days before 1582-10-15 in files that do not name theirs:
            "gregorian", as Hive 3.1 counts, or "file", which is the Julian one. None: as the
            metastore's version does.
        parquet_time_zone: the time zone of the Java that wrote Parquet files, such as
            "Europe/Berlin", for files that do not name it or hold instants; or a mapping that has a
            zone for some tables, by their names. Hive shows their timestamps in the zone of its own
            Java. Without a zone a query that needs them is refused.
        heartbeat_interval: seconds between two heartbeats; None takes a third of the metastore's
            transaction timeout.
        metastore_timeout: seconds that a call to the metastore may take.
        security: who the caller is for a secured metastore, and what protects the connection.
        footer_cache: a directory that keeps what ORC files say about themselves, so that a later
            snapshot reads no file's footer again; None keeps nothing.
        scratch_directory: where files that are being written are copied, as far as they count, for
            as long as the snapshot lives; Spark's executors must reach it. None: `/tmp` of the file
            system that the files are on.
        open_files_limit: megabytes that these copies may have together.
        hive_views: the release of Hive that views are read as, "4.0" or "3.1", whatever the
            metastore's version; or "refuse", which refuses views unless the metastore is one of
            these two. None: as the nearer of the two shows them, with a warning.
        description: the owner of the locks, as `SHOW LOCKS` shows it.

    Raises:
        InvalidSettingError: a setting cannot work, or a name is not one of a table.
    """
    names = frozenset(table_name(name) for name in tables)
    of_all, of_some = _file_settings(
        orc_columns=orc_columns, old_dates=old_dates, parquet_time_zone=parquet_time_zone
    )
    return Snapshot(
        partial(MetastoreClient, metastore_uri, metastore_timeout, security=security),
        SnapshotSettings(
            heartbeat_interval,
            lock_timeout,
            of_all,
            lambda wanted: of_some,
            scratch_directory,
            open_files_limit,
            hive_views,
        ),
        description,
        tables=lambda: names,
        footers=open_footers(footer_cache),
        spark=spark,
        with_settings=frozenset(of_some),
    )


def _file_settings(
    **given: str | Mapping[str, str] | None,
) -> tuple[FileSettings, dict[TableName, FileSettings]]:
    """Return the settings for all tables, and those of some."""
    of_all: dict[str, str] = {}
    of_some: dict[TableName, dict[str, str]] = {}
    for setting, words in given.items():
        if isinstance(words, str):
            of_all[setting] = words
        for name, word in words.items() if isinstance(words, Mapping) else ():
            of_some.setdefault(table_name(name), {})[setting] = word
    return FileSettings(**of_all), {name: FileSettings(**own) for name, own in of_some.items()}


def open_footers(directory: str | Path | None) -> OrcFooters:
    """Return footers that a directory keeps; without a directory they live as long as the object.

    The directory is made when the first footers are kept.
    """
    return OrcFooters(None if directory is None else FooterCache(Path(directory).expanduser()))


def table_name(name: str | TableName) -> TableName:
    """Return a table's name, whichever way it is given.

    Raises:
        InvalidSettingError: it is a text of another form than `database.table`.
    """
    return name if isinstance(name, TableName) else TableName.parse(name)


class Snapshot(RunSnapshot):
    """Hive ACID tables at one moment, read with Spark. All threads may share it.

    Each method that reads takes the name of a table as `database.table`. A table that was not named
    when the snapshot was opened is locked late: it is read as of the same moment, or refused if DDL
    has changed it since.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        settings: SnapshotSettings,
        agent_info: str,
        *,
        tables: Callable[[], Iterable[TableName]],
        footers: OrcFooters,
        spark: SparkSession | None = None,
        with_settings: frozenset[TableName] = frozenset(),
        before_pin: Callable[[frozenset[TableName]], None] = lambda names: None,
        on_held: Callable[[], None] = lambda: None,
        on_lost: Callable[[TransactionLostError], None] | None = None,
        raise_if_cancelled: Callable[[], None] = lambda: None,
    ) -> None:
        """Open nothing yet: see `snapshot`, and `RunSnapshot` for the arguments not named here.

        Args:
            tables: names the tables that are locked together, with the first that is read.
            footers: the footers of ORC files that are known.
            spark: the session that reads where a method is given none; None takes the active one.
            with_settings: the tables that have settings of their own. Entering the block checks
                that the metastore has them.
        """
        super().__init__(
            client_factory,
            settings,
            agent_info,
            unexplained=self._unexplained_write_ids,
            before_pin=before_pin,
            on_held=on_held,
            on_lost=on_lost,
            raise_if_cancelled=raise_if_cancelled,
        )
        self.footers = footers
        self._spark = spark
        self._together = tables
        self._with_settings = with_settings
        self._found_foreign: dict[
            tuple[TableName, frozenset[tuple[str, int]]], list[tuple[str, int]]
        ] = {}
        self._warnings = ReadWarnings()
        self._plans_lock = threading.Lock()
        self._plans: dict[_PlanKey, _Planned] = {}

    def __enter__(self: S) -> S:
        """Open the transaction and lock the tables.

        Raises:
            LockTimeoutError: a lock was not granted in time.
            TableNotFoundError: there is no such table.
            InvalidSettingError: a setting is for a table that the metastore does not have.
            UnreadableTableError: a table is not transactional.
            MetastoreError: the metastore could not be asked.
        """
        together = frozenset(self._together())
        self._check_settings(together)
        self.pin(together)
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
            MetastoreError: the metastore could not be asked whether it was.
        """
        if kind is not None:
            self.abort()
            return
        try:
            if not self.has_ended:
                self.check_alive()
        finally:
            self.end()

    def __reduce__(self) -> NoReturn:
        """Refuse to go to another process, as in a function that Spark's workers would run."""
        raise TypeError(
            "A snapshot stays in the process that has taken it. Read from it in the driver, and "
            "give the rows to what runs elsewhere."
        )

    @property
    def to_be_lost(self) -> Mapping[TableName, tuple[str, ...]]:
        """Tables read so far with rows that Hive is going to lose, and directories that show it."""
        return self._warnings.to_be_lost

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
        """Return the rows that Hive shows of a table, lazily; or those that it showed earlier.

        Args:
            name: such as `shop.orders`.
            partitions: for some partition keys the value to read, or a list of values, written as
                SHOW PARTITIONS shows them; None stands for NULL. Other partitions are not even
                listed.
            version_as_of: the rows as of a write id of the table: everything that write ids up to
                it wrote and the snapshot shows. 0 is the table before its first write.
            timestamp_as_of: the rows as of a time, which is mapped to a write id. Lower write ids
                that are known to have been committed later do not count. A text or a datetime
                without a zone is in the time zone of the session.
            read: "snapshot" (the default), or "optimized" for bases and compacted deltas alone,
                which may be behind.
            spark: another session than the snapshot's.

        Raises:
            InvalidSettingError: the snapshot has no such write id, or an argument is wrong.
            InstantLostError: the rows of the instant can no longer be told with certainty.
            UnreadableTableError: the table cannot be read exactly; the message says why.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        session, found = self._session(spark), table_name(name)
        as_of, kind = AsOf.of(version_as_of, timestamp_as_of), ReadKind.parse(read)
        choice = _chosen(found, partitions)
        return self.frame(session, self.plan_table(session, found, choice, as_of=as_of, read=kind))

    def frame(self, spark: SparkSession, plan: ReadPlan) -> DataFrame:
        """Return the rows of a plan that `plan_table` has made, lazily."""
        with _hives_casts(spark):
            return to_dataframe(spark, plan)

    def sql(
        self, text: str, args: Parameters | None = None, *, spark: SparkSession | None = None
    ) -> DataFrame:
        """Run a statement of Spark SQL in which each transactional table shows its snapshot.

        Tables go by their own names, also behind stored views. All of them are read as of the same
        moment. A query is run when its rows are fetched, a command at once. A stored view that the
        statement makes over transactional tables can be read by this method only.

        Args:
            text: one statement.
            args: values for the parameters in the text, as `SparkSession.sql` takes them: by name
                for `:name`, or in their order for `?`.
            spark: another session than the snapshot's.

        Raises:
            RawAcidReferenceError: the statement hides which tables it reads.
            AcidTargetError: the statement would change or remove a transactional table.
            InvalidSettingError: an option of a table is unknown or wrong.
            UnreadableTableError: a table cannot be read exactly; the message says why.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
            PySparkException: Spark's own errors.
        """
        session = self._session(spark)
        statement = parse_with(session, text, args)
        if statement.plan is None:
            given = dict(args) if isinstance(args, Mapping) else list(args or ())
            return session.sql(text, given or None)
        known = _Known(self)
        reads = find_acid(session, statement, known)
        changes = find_changes(session, statement, known)
        if not reads and not changes:
            described = described_elsewhere(session, statement, known)
            if described is not None:
                table = self._metadata(described)
                return describe_table(session, statement, table).run(session)
            if statement.is_rewritten:
                return SwappedStatement(statement, statement.plan).run(session)
            return session.sql(text)
        rows = self._columns
        if not statement.is_permanent_view:
            rows = self._rows
            tables = {read.table for read in tables_of(reads)} | {it.table for it in changes}
            self.pin_together(tables)
        feeds = [(change.function, partial(self._feed, session, change)) for change in changes]
        return swap(session, statement, reads, partial(rows, session), feeds).run(session)

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

        Runs a Spark job only for files whose footers leave open whether Hive 2 has written them.

        Args:
            name: such as `shop.orders`.
            since: `state` of the changes that were applied last, or its text; or a write id, whose
                own changes are not among them. None takes every row as an insert.
            partitions: as for `table`; the same each time, or the history counts as lost.
            until: the last write id whose changes are taken; None goes to the snapshot's newest.
            max_write_ids: take at most this many of the new write ids, the lowest ones.
            spark: another session than the snapshot's.

        Raises:
            InvalidStateError: the text is not a state.
            InvalidSettingError: the snapshot has no such write id, or `until` is before `since`.
            InstantLostError: the table as of one of the write ids can no longer be told.
            UnreadableTableError: the table cannot be read exactly; the message says why.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        session, found = self._session(spark), table_name(name)
        state = SourceState.parse(since) if isinstance(since, str) else since
        choice = _chosen(found, partitions)
        if until is None and not isinstance(state, int):
            plan = self.plan_changes(session, found, state, choice, max_write_ids=max_write_ids)
            return Changes(session, plan)
        with self._history(session, found, choice) as history:
            plan = plan_between(
                session,
                history,
                state,
                until,
                self.footers,
                options=str(choice),
                max_write_ids=max_write_ids,
            )
        self._check_changes(self._whole(found), choice, plan)
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

        The rows are those of `changes`: `since` itself is not among them. Next to the columns of
        the table there are `_change_type` (insert or delete), `_commit_version` (the write id) and
        `_commit_timestamp`. The time is that of the commit if the metastore keeps a notification
        log; otherwise that of the files that the write left; NULL if neither is known.

        Raises:
            HistoryLostError: the changes cannot be told completely.
            HiveAcidError: as for `changes`.
        """
        session, found = self._session(spark), table_name(name)
        choice = _chosen(found, partitions)
        with self._history(session, found, choice) as history:
            check_feed_names(history.pinned.table)
            plan = plan_between(session, history, since, until, self.footers, options=str(choice))
            times = history.commit_times(plan.new_write_ids)
        self._check_changes(self._whole(found), choice, plan)
        rows = Changes(session, plan).rows
        with _hives_casts(session):
            return as_change_feed(rows, times)

    def verify(self, name: str | TableName, *, spark: SparkSession | None = None) -> Verification:
        """Check the files of a table, and that its reader shows their rows. Takes a shuffle.

        `problems` of the result is empty for a table that is as Hive writes it.

        Raises:
            UnreadableTableError: the table is refused, for the reason given.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        session, found = self._session(spark), table_name(name)
        pinned = self.pin([found])[found]
        with _hives_casts(session):
            return verify(session, pinned, self.footers)

    def pinned(self, name: TableName, choice: PartitionChoice) -> PinnedTable:
        """Return a table with the chosen partitions, pinned with those that belong together."""
        return choice.of_table(self._whole(name))

    def pin_together(self, names: Iterable[TableName]) -> dict[TableName, PinnedTable]:
        """Pin some tables in one call, with those that belong together; without names, none.

        Raises:
            HiveAcidError: what `pin` raises.
        """
        wanted = set(names)
        return self.pin(wanted | set(self._together())) if wanted else {}

    def plan_table(
        self,
        spark: SparkSession,
        name: TableName,
        choice: PartitionChoice,
        *,
        as_of: AsOf | None = None,
        read: ReadKind = ReadKind.SNAPSHOT,
    ) -> ReadPlan:
        """Plan the read of a table, once for each choice of partitions, instant and kind of read.

        Other threads that want the same plan wait for the first one.
        """
        whole = self._whole(name)
        zone = None
        if as_of is not None and as_of.timestamp is not None:
            zone = str(spark.conf.get("spark.sql.session.timeZone"))
        key = (whole.transaction_id, name, choice, as_of, zone, read)
        with self._plans_lock:
            planned = self._plans.setdefault(key, _Planned())
        with planned.lock:
            if planned.plan is None:
                if as_of is None and read is ReadKind.SNAPSHOT:
                    plan = plan_read(spark, choice.of_table(whole), self.footers)
                else:
                    plan = self._plan_kind(spark, name, choice, as_of, read)
                self._check_listed(whole, choice)
                planned.plan = plan
                self._warnings.warn_of_nanoseconds(plan)
                self._warnings.warn_of_losses(name, plan.to_be_lost)
                self._warnings.warn_of_missing(name, plan.missing)
                self._warnings.warn_of_passed_over(name, plan.passed_over)
                self._warnings.warn_of_unseen(whole)
                self._warn_of_foreign(name, plan.ahead)
            return planned.plan

    def plan_changes(
        self,
        spark: SparkSession,
        name: TableName,
        since: SourceState | None,
        choice: PartitionChoice,
        *,
        max_write_ids: int | None = None,
    ) -> ChangePlan:
        """Plan the read of what changed in a table since a state; see `changes`."""
        whole = self._whole(name)
        plan = plan_changes(
            spark,
            choice.of_table(whole),
            since,
            self.footers,
            options=str(choice),
            max_write_ids=max_write_ids,
        )
        self._check_changes(whole, choice, plan)
        return plan

    def columns_of(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return a DataFrame with the columns of a table and no row. Takes no lock."""
        with _hives_casts(spark):
            return no_rows(spark, table_columns(table))

    def _rows(self, spark: SparkSession, read: AcidRead) -> Any:
        clauses = ReadClauses.of(spark, read.table, read.relation)
        plan = self.plan_table(
            spark, read.table, clauses.partitions, as_of=clauses.as_of, read=clauses.read
        )
        return plan_of(self.frame(spark, plan))

    def _feed(self, spark: SparkSession, read: ChangesRead) -> Any:
        return plan_of(self.table_changes(read.table, read.since, read.until, spark=spark))

    def _columns(self, spark: SparkSession, read: AcidRead) -> Any:
        ReadClauses.of(spark, read.table, read.relation)
        return plan_of(self.columns_of(spark, self._metadata(read.table)))

    def _metadata(self, name: TableName) -> Table:
        with self._client_factory() as client:
            return client.get_tables([name])[name]

    def _plan_kind(
        self,
        spark: SparkSession,
        name: TableName,
        choice: PartitionChoice,
        as_of: AsOf | None,
        read: ReadKind,
    ) -> ReadPlan:
        """Plan the read of an earlier instant, or of the read-optimized part, or of both."""
        pinned = self.pinned(name, choice)
        check_readable(pinned.table)
        if as_of is None:
            listings = list_locations(spark, [s.location for s in pinned.storages])
        else:
            with self._history(spark, name, choice) as history:
                instant = history.at_point(history.resolve(spark, as_of))
            pinned, listings = instant.pinned, list(instant.listings)
        if read is ReadKind.SNAPSHOT:
            return plan_listed(spark, pinned, listings, self.footers)
        plan, behind = plan_optimized(spark, pinned, listings, self.footers)
        logger.info(
            f"{name}, read optimized, is behind by {pluralize(behind.count, 'write id')} of "
            f"{pinned.write_ids.high_watermark}: {behind}."
        )
        return plan

    @contextmanager
    def _history(
        self, spark: SparkSession, name: TableName, choice: PartitionChoice
    ) -> Iterator[History]:
        """Look into a table's past, on a connection of its own: other threads may pin meanwhile."""
        whole = self._whole(name)
        check_readable(whole.table)
        with self._client_factory() as client:
            server = self.server or client.server_info()
            yield look_back(spark, choice.of_table(whole), whole, client, server)

    def _whole(self, name: TableName) -> PinnedTable:
        return self.pin_together([name])[name]

    def _check_changes(self, whole: PinnedTable, choice: PartitionChoice, plan: ChangePlan) -> None:
        self._check_listed(whole, choice)
        for read in (plan.added, plan.grown):
            self._warnings.warn_of_nanoseconds(read)
        self._warnings.warn_of_losses(whole.table.name, plan.to_be_lost)
        self._warnings.warn_of_missing(whole.table.name, plan.missing)
        self._warnings.warn_of_passed_over(whole.table.name, plan.passed_over)
        self._warnings.warn_of_unseen(whole)
        ahead = [it for location in plan.locations for it in compactions_ahead(location)]
        foreign = self._foreign(whole.table.name, ahead)
        if foreign:
            raise UnreadableTableError(
                f"{about_foreign(whole.table.name, foreign)} Their appearance is no write, so no "
                "state can rest on what is shown now, and changes cannot be followed. Read the "
                "table as a whole until then, and take a new snapshot after that."
            )

    def _warn_of_foreign(self, name: TableName, ahead: Sequence[tuple[str, int]]) -> None:
        """Warn of compactions of another metastore. Without an answer the rows are Hive's, too."""
        try:
            self._warnings.warn_of_foreign(name, self._foreign(name, ahead))
        except MetastoreError as error:
            self._warnings.warn_of_unknown_compactions(name, error)

    def _foreign(self, name: TableName, ahead: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        if not ahead:
            return []
        key = (name, frozenset(ahead))
        if key not in self._found_foreign:
            with self._client_factory() as client:
                server = self.server or client.server_info()
                self._found_foreign[key] = find_foreign(client, server, name, ahead)
        return self._found_foreign[key]

    def _check_listed(self, whole: PinnedTable, choice: PartitionChoice) -> None:
        """Check what can be said of a table once its files have been listed.

        A listing of after the transaction's loss lacks what Hive's cleaner has removed, and the
        reader may never ask again. A file that goes later is an error of its own.
        """
        self.check_alive()
        self._warnings.warn_of_unknown(whole, choice)

    def _check_settings(self, together: frozenset[TableName]) -> None:
        """Refuse settings for tables that do not exist: a table with another name lacks them.

        A table that is locked late may have settings, too.
        """
        late = self._with_settings - together
        if not late:
            return
        with self._client_factory() as client:
            unknown = sorted(late - client.get_tables(late).keys())
        if unknown:
            raise InvalidSettingError(
                f"There are settings for {', '.join(map(str, unknown))}, and the metastore has no "
                "such table. So another table may be read without its settings. Correct the name "
                "in `orc_columns`, `old_dates` or `parquet_time_zone`, or leave it out."
            )

    @cached_property
    def _hive_sql(self) -> HiveSql:
        with self._client_factory() as client:
            return client.hive_sql(self._settings.hive_views)

    def _session(self, spark: SparkSession | None) -> SparkSession:
        return spark or self._spark or SparkSession.active()

    def _unexplained_write_ids(
        self, pinned: PinnedTable, write_ids: frozenset[int]
    ) -> frozenset[int]:
        return write_ids_without_directory(self._session(None), pinned, write_ids)


class _Known:
    """Tables that a snapshot knows without Spark's catalog."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._found: dict[TableName, Table | None] = {}

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """See `KnownTables.has`."""
        if name in self._snapshot._together():
            return True
        if in_spark:
            return False
        table = self._table(name)
        return table is not None and table.is_transactional

    def hive_view(self, name: TableName, *, in_spark: bool) -> HiveView | None:
        """See `KnownTables.hive_view`."""
        return None if in_spark else HiveView.of(self._table(name))

    def hive_sql(self) -> HiveSql:
        """See `KnownTables.hive_sql`."""
        return self._snapshot._hive_sql

    def _table(self, name: TableName) -> Table | None:
        if name not in self._found:
            with self._snapshot._client_factory() as client:
                self._found[name] = client.get_tables([name]).get(name)
        return self._found[name]


class Changes:
    """Changes of one table between a state and a snapshot.

    `state` is the state of whoever has applied them: store its text, `state.to_text()`, together
    with the data. `losses` says which parts of the history are gone, and why; then the changes
    cannot be told, and the table must be read from the start.
    """

    def __init__(self, spark: SparkSession, plan: ChangePlan) -> None:
        """Take the changes of a plan, which `Snapshot.changes` makes."""
        self._spark = spark
        self.plan = plan

    @property
    def state(self) -> SourceState:
        """State after these changes, for the next time."""
        return self.plan.state

    @property
    def losses(self) -> tuple[Loss, ...]:
        """Parts of the history since the state that are gone."""
        return self.plan.losses

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed, and nothing was lost."""
        return self.plan.is_empty

    @property
    def has_more(self) -> bool:
        """Whether `max_write_ids` has left new write ids for the next time."""
        return bool(self.plan.remaining)

    @cached_property
    def rows(self) -> DataFrame:
        """Changed rows, lazily: the table's columns, `_change_type`, `_write_id` and `_row_id`.

        `_change_type` is `insert` or `delete`. An UPDATE of Hive is a delete and an insert. A row
        that was inserted and deleted since the state is in neither. A deleted row has the values
        that it had.

        Raises:
            HistoryLostError: the changes cannot be told completely.
            UnreadableTableError: a file cannot be read exactly.
        """
        if self.losses:
            raise HistoryLostError(
                f"The changes of {self.plan.pinned.table.name} since the state can no longer be "
                f"told: {'; '.join(map(str, self.losses))}. Call `changes` without a state, "
                "replace what you have by its rows, and store its state."
            )
        with _hives_casts(self._spark):
            images = plan_before_images(self._spark, self.plan)
            deleted = deleted_rows(self._spark, self.plan, images)
            return inserted_rows(self._spark, self.plan).unionByName(deleted)


@contextmanager
def _hives_casts(spark: SparkSession) -> Iterator[None]:
    """Let what is built in the block cast as Hive does: to NULL, where ANSI has an error.

    A frame keeps what its session was set to when the frame was built. The caller's own expressions
    stay as the session says.
    """
    if spark.conf.get(_ANSI) == "false":
        yield
        return
    # Another thread must not take our setting for the session's own.
    with _casts_lock:
        before = spark.conf.get(_ANSI)
        spark.conf.set(_ANSI, "false")
        try:
            yield
        finally:
            spark.conf.set(_ANSI, str(before))


def _chosen(name: TableName, partitions: Partitions | None) -> PartitionChoice:
    if partitions is None or isinstance(partitions, PartitionChoice):
        return partitions or PartitionChoice()
    try:
        return PartitionChoice.parse(partitions)
    except ValueError as error:
        raise InvalidSettingError(
            f"Table {name}: the option `partitions` must map partition keys to a value or to a "
            f"list of values each, but {error}."
        ) from error


@dataclass
class _Planned:
    """The plan of one read, once there is one. Other reads do not wait for its lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    plan: ReadPlan | None = None
