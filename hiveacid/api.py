"""Snapshots that are read with Spark: the door of the library."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from pyspark.sql import DataFrame, SparkSession

from hiveacid.changes.losses import Loss
from hiveacid.changes.plan import ChangePlan, plan_before_images, plan_changes
from hiveacid.changes.rows import deleted_rows, inserted_rows
from hiveacid.changes.state import SourceState
from hiveacid.errors import HistoryLostError, InvalidSettingError, TransactionLostError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Table, TableName
from hiveacid.reader.columns import table_columns
from hiveacid.reader.footer_cache import FooterCache
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import ReadPlan
from hiveacid.reader.read import no_rows, plan_read, to_dataframe, write_ids_without_directory
from hiveacid.reader.read_warnings import ReadWarnings
from hiveacid.reader.verification import Verification
from hiveacid.reader.verify import verify
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.relations import AcidRead, find_acid, tables_of
from hiveacid.sql.statement import parse
from hiveacid.sql.swap import swap

_ANSI = "spark.sql.ansi.enabled"
_casts_lock = threading.RLock()

Partitions = Mapping[str, Any] | PartitionChoice
"""For some partition keys the value to read, or a list of values."""

S = TypeVar("S", bound="Snapshot")


def snapshot(
    spark: SparkSession,
    metastore_uri: str,
    tables: Iterable[str | TableName],
    *,
    lock_timeout: float = 300.0,
    heartbeat_interval: float | None = None,
    metastore_timeout: float = 60.0,
    footer_cache: str | Path | None = None,
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
        heartbeat_interval: seconds between two heartbeats; None takes a third of the metastore's
            transaction timeout.
        metastore_timeout: seconds that a call to the metastore may take.
        footer_cache: a directory that keeps what ORC files say about themselves, so that a later
            snapshot reads no file's footer again; None keeps nothing.
        description: the owner of the locks, as `SHOW LOCKS` shows it.

    Raises:
        InvalidSettingError: a setting cannot work, or a name is not one of a table.
    """
    names = frozenset(table_name(name) for name in tables)
    return Snapshot(
        partial(MetastoreClient, metastore_uri, metastore_timeout),
        SnapshotSettings(heartbeat_interval, lock_timeout),
        description,
        tables=lambda: names,
        footers=open_footers(footer_cache),
        spark=spark,
    )


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
        self._warnings = ReadWarnings()
        self._plans_lock = threading.Lock()
        self._plans: dict[tuple[int, TableName, PartitionChoice], _Planned] = {}

    def __enter__(self: S) -> S:
        """Open the transaction and lock the tables.

        Raises:
            LockTimeoutError: a lock was not granted in time.
            TableNotFoundError: there is no such table.
            UnreadableTableError: a table is not transactional.
            MetastoreError: the metastore could not be asked.
        """
        self.pin(self._together())
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

    @property
    def to_be_lost(self) -> Mapping[TableName, tuple[str, ...]]:
        """Tables read so far with rows that Hive is going to lose, and directories that show it."""
        return self._warnings.to_be_lost

    def table(
        self,
        name: str | TableName,
        partitions: Partitions | None = None,
        *,
        spark: SparkSession | None = None,
    ) -> DataFrame:
        """Return the rows that Hive shows of a table, lazily.

        Args:
            name: such as `shop.orders`.
            partitions: for some partition keys the value to read, or a list of values, written as
                SHOW PARTITIONS shows them; None stands for NULL. Other partitions are not even
                listed.
            spark: another session than the snapshot's.

        Raises:
            UnreadableTableError: the table cannot be read exactly; the message says why.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        session, found = self._session(spark), table_name(name)
        return self.frame(session, self.plan_table(session, found, _chosen(found, partitions)))

    def frame(self, spark: SparkSession, plan: ReadPlan) -> DataFrame:
        """Return the rows of a plan that `plan_table` has made, lazily."""
        with _hives_casts(spark):
            return to_dataframe(spark, plan)

    def sql(self, text: str, *, spark: SparkSession | None = None) -> DataFrame:
        """Run a statement of Spark SQL in which each transactional table shows its snapshot.

        Tables go by their own names, also behind stored views. All of them are read as of the same
        moment. A query is run when its rows are fetched, a command at once. A stored view that the
        statement makes over transactional tables can be read by this method only.

        Args:
            text: one statement.
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
        statement = parse(session, text)
        reads = () if statement.plan is None else find_acid(session, statement, _Known(self))
        if not reads:
            return session.sql(text)
        if statement.is_permanent_view:
            return swap(session, statement, reads, partial(self._columns, session)).run(session)
        self.pin_with_foreseen(read.table for read in tables_of(reads))
        return swap(session, statement, reads, partial(self._rows, session)).run(session)

    def changes(
        self,
        name: str | TableName,
        since: SourceState | str | None = None,
        partitions: Partitions | None = None,
        *,
        max_write_ids: int | None = None,
        spark: SparkSession | None = None,
    ) -> Changes:
        """Find what changed in a table since a state. Runs no Spark job.

        Args:
            name: such as `shop.orders`.
            since: `state` of the changes that were applied last, or its text; None takes every row
                as an insert.
            partitions: as for `table`; the same each time, or the history counts as lost.
            max_write_ids: take at most this many of the new write ids, the lowest ones.
            spark: another session than the snapshot's.

        Raises:
            InvalidStateError: the text is not a state.
            UnreadableTableError: the table cannot be read exactly; the message says why.
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        session, found = self._session(spark), table_name(name)
        state = SourceState.parse(since) if isinstance(since, str) else since
        choice = _chosen(found, partitions)
        plan = self.plan_changes(session, found, state, choice, max_write_ids=max_write_ids)
        return Changes(session, plan)

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

    def pin_with_foreseen(self, names: Iterable[TableName]) -> None:
        """Pin some tables, together with those that belong to the snapshot."""
        self.pin({*names, *self._together()})

    def plan_table(self, spark: SparkSession, name: TableName, choice: PartitionChoice) -> ReadPlan:
        """Plan the read of a table, once for each choice of partitions.

        Other threads that want the same plan wait for the first one.
        """
        whole = self._whole(name)
        key = (whole.transaction_id, name, choice)
        with self._plans_lock:
            planned = self._plans.setdefault(key, _Planned())
        with planned.lock:
            if planned.plan is None:
                plan = plan_read(spark, choice.of_table(whole), self.footers)
                self._check_listed(whole, choice)
                planned.plan = plan
                self._warnings.warn_of_nanoseconds(plan)
                self._warnings.warn_of_losses(name, plan.to_be_lost)
                self._warnings.warn_of_missing(name, plan.missing)
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
        self._check_listed(whole, choice)
        for read in (plan.added, plan.grown):
            self._warnings.warn_of_nanoseconds(read)
        self._warnings.warn_of_losses(name, plan.to_be_lost)
        self._warnings.warn_of_missing(name, plan.missing)
        return plan

    def columns_of(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return a DataFrame with the columns of a table and no row. Takes no lock."""
        with _hives_casts(spark):
            return no_rows(spark, table_columns(table))

    def _rows(self, spark: SparkSession, read: AcidRead) -> Any:
        clauses = ReadClauses.of(read.table, read.relation)
        plan = self.plan_table(spark, read.table, clauses.partitions)
        return self.frame(spark, plan)._jdf.queryExecution().analyzed()

    def _columns(self, spark: SparkSession, read: AcidRead) -> Any:
        ReadClauses.of(read.table, read.relation)
        with self._client_factory() as client:
            table = client.get_tables([read.table])[read.table]
        return self.columns_of(spark, table)._jdf.queryExecution().analyzed()

    def _whole(self, name: TableName) -> PinnedTable:
        return self.pin({name, *self._together()})[name]

    def _check_listed(self, whole: PinnedTable, choice: PartitionChoice) -> None:
        """Check what can be said of a table once its files have been listed.

        A listing of after the transaction's loss lacks what Hive's cleaner has removed, and the
        reader may never ask again. A file that goes later is an error of its own.
        """
        self.check_alive()
        self._warnings.warn_of_unknown(whole, choice)

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

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """See `KnownTables.has`."""
        if name in self._snapshot._together():
            return True
        if in_spark:
            return False
        with self._snapshot._client_factory() as client:
            table = client.get_tables([name]).get(name)
        return table is not None and table.is_transactional


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
