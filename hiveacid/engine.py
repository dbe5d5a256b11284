"""Engine of a snapshot: it pins tables, plans reads of them, and makes DataFrames.

`Snapshot` in `hiveacid.api` is what a user of the library calls. A host that manages snapshots for
others, as the dbt adapter does, uses the engine directly.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from hiveacid.changes.change_feed import as_change_feed, check_feed_names, plan_between
from hiveacid.changes.commit_times import commit_times, find_point
from hiveacid.changes.history import History, look_back
from hiveacid.changes.plan import ChangePlan, plan_before_images, plan_changes
from hiveacid.changes.rows import deleted_rows, inserted_rows, no_changes
from hiveacid.changes.state import SourceState
from hiveacid.errors import HistoryLostError, MetastoreError, UnreadableTableError
from hiveacid.formatting import pluralize
from hiveacid.jvm.filesystem import list_locations
from hiveacid.jvm.plans import dataframe_of, named, plan_of
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Table, TableName
from hiveacid.reader.ansi_mode import casts_as_hive
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
from hiveacid.reader.repl_load import find_compactions_of_other_metastore
from hiveacid.reader.verify import verify
from hiveacid.reader.verify_result import Verification
from hiveacid.snapshots.read_options import AsOf, ReadKind
from hiveacid.snapshots.run_snapshot import NO_HOOKS, RunSnapshot, SnapshotHooks
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.catalog import SESSION_CATALOG

_PlanKey = tuple[int, TableName, PartitionChoice, AsOf | None, str | None, ReadKind]
logger = logging.getLogger("hiveacid")


class SnapshotEngine(RunSnapshot):
    """Tables at one moment, planned and read with Spark. All threads may share it.

    A table that is not among the initial ones is locked late: it is read as of the same moment, or
    refused if DDL has changed it since.
    """

    def __init__(
        self,
        client_factory: Callable[[], MetastoreClient],
        settings: SnapshotSettings,
        agent_info: str,
        hooks: SnapshotHooks = NO_HOOKS,
        *,
        footers: OrcFooters,
        spark: SparkSession | None = None,
    ) -> None:
        """Open nothing yet; see `RunSnapshot` for the arguments not named here.

        Args:
            footers: cache of ORC footers.
            spark: the session that lists tables that are locked late; None: the active one.
        """
        super().__init__(
            client_factory, settings, agent_info, hooks, unexplained=self._unexplained_write_ids
        )
        self.footers = footers
        self._spark = spark
        self._found_foreign: dict[
            tuple[TableName, frozenset[tuple[str, int]]], list[tuple[str, int]]
        ] = {}
        self._warnings = ReadWarnings()
        self._plans_lock = threading.Lock()
        self._plans: dict[_PlanKey, _Planned] = {}

    @property
    def rows_hive_will_drop(self) -> Mapping[TableName, tuple[str, ...]]:
        """Tables read so far with rows that Hive will lose, and the directories that show it."""
        return self._warnings.rows_hive_will_drop

    def pin_with_initial(self, names: Iterable[TableName]) -> dict[TableName, PinnedTable]:
        """Pin tables together with the initial ones, in one call; without names pin nothing.

        Raises:
            HiveAcidError: as for `pin`.
        """
        wanted = set(names)
        return self.pin(wanted | set(self._hooks.initial_tables())) if wanted else {}

    def pinned(self, name: TableName, choice: PartitionChoice) -> PinnedTable:
        """Return a table with the chosen partitions, pinned with the initial tables."""
        return choice.of_table(self._whole(name))

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
                self._warn(whole, plan, plan)
                self._warn_of_foreign(name, plan.uncommitted_compactions)
            return planned.plan

    def frame(self, spark: SparkSession, plan: ReadPlan) -> DataFrame:
        """Return the rows of a plan that `plan_table` has made, lazily."""
        with casts_as_hive(spark):
            return to_dataframe(spark, plan)

    def plan_changes(
        self,
        spark: SparkSession,
        name: TableName,
        since: SourceState | int | None,
        choice: PartitionChoice,
        *,
        until: int | None = None,
        max_write_ids: int | None = None,
    ) -> ChangePlan:
        """Plan the read of what changed in a table since a state or a write id.

        Args:
            spark: the session that reads.
            name: the table.
            since: a state, or a write id, whose own changes are not included; None: every row is an
                insert.
            choice: the partitions.
            until: the last write id whose changes are included; None: the newest.
            max_write_ids: include at most this many of the new write ids, the lowest ones.

        Raises:
            InvalidSettingError: the snapshot has no such write id, or `until` is before `since`.
            InstantLostError: the table as of one of the write ids can no longer be determined.
            UnreadableTableError: the table cannot be read exactly; the message says why.
        """
        whole, options = self._whole(name), str(choice)
        if until is None and not isinstance(since, int):
            plan = plan_changes(
                spark,
                choice.of_table(whole),
                since,
                self.footers,
                options=options,
                max_write_ids=max_write_ids,
            )
        else:
            with self._history(spark, name, choice) as history:
                plan = plan_between(
                    spark,
                    history,
                    since,
                    until,
                    self.footers,
                    options=options,
                    max_write_ids=max_write_ids,
                )
        self._check_changes(whole, choice, plan)
        return plan

    def change_feed(
        self,
        spark: SparkSession,
        name: TableName,
        since: int,
        until: int | None,
        choice: PartitionChoice,
    ) -> DataFrame:
        """Return the changes between two write ids in the form of Delta's change data feed.

        Raises:
            HistoryLostError: a part of the changes is lost.
            HiveAcidError: as for `plan_changes`.
        """
        with self._history(spark, name, choice) as history:
            check_feed_names(history.pinned.table)
            plan = plan_between(spark, history, since, until, self.footers, options=str(choice))
            times = commit_times(history, plan.new_write_ids)
        self._check_changes(self._whole(name), choice, plan)
        rows = changed_rows(spark, plan)
        with casts_as_hive(spark):
            return as_change_feed(rows, times)

    def columns_of(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return a DataFrame with the columns of a table and no row. Takes no lock."""
        with casts_as_hive(spark):
            return no_rows(spark, table_columns(table))

    def change_columns_of(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return a DataFrame with the columns of a table's changes and no row. Takes no lock."""
        with casts_as_hive(spark):
            return no_changes(spark, table_columns(table))

    def feed_columns_of(self, spark: SparkSession, table: Table) -> DataFrame:
        """Return a DataFrame with the columns of `change_feed` and no row. Takes no lock.

        Its columns have the table's name, so that a plan shows which table they are of.
        """
        with casts_as_hive(spark):
            feed = as_change_feed(no_changes(spark, table_columns(table)), {})
        qualifier = (SESSION_CATALOG, table.name.database)
        plan = named(spark.sparkContext, plan_of(feed), table.name.table, qualifier)
        return dataframe_of(spark, plan)

    def verify(self, spark: SparkSession, name: TableName) -> Verification:
        """Check the files of a table, and that the reader shows their rows. Takes a shuffle.

        Raises:
            UnreadableTableError: the table cannot be read exactly; the message says why.
        """
        pinned = self.pin([name])[name]
        with casts_as_hive(spark):
            return verify(spark, pinned, self.footers)

    def _plan_kind(
        self,
        spark: SparkSession,
        name: TableName,
        choice: PartitionChoice,
        as_of: AsOf | None,
        read: ReadKind,
    ) -> ReadPlan:
        """Plan a read as of an earlier instant, a read-optimized read, or both at once."""
        pinned = self.pinned(name, choice)
        check_readable(pinned.table)
        if as_of is None:
            listings = list_locations(spark, [s.location for s in pinned.storages])
        else:
            with self._history(spark, name, choice) as history:
                instant = history.at_point(find_point(spark, history, as_of))
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
        """Open a table's history, on its own connection since other threads may pin meanwhile."""
        whole = self._whole(name)
        check_readable(whole.table)
        with self._client_factory() as client:
            server = self.server or client.server_info()
            yield look_back(spark, choice.of_table(whole), whole, client, server)

    def _whole(self, name: TableName) -> PinnedTable:
        return self.pin_with_initial([name])[name]

    def _check_changes(self, whole: PinnedTable, choice: PartitionChoice, plan: ChangePlan) -> None:
        self._check_listed(whole, choice)
        self._warn(whole, plan, plan.added, plan.grown)
        uncommitted_compactions = [
            it for location in plan.locations for it in location.uncommitted_compactions
        ]
        foreign = self._foreign(whole.table.name, uncommitted_compactions)
        if foreign:
            raise UnreadableTableError(
                f"{about_foreign(whole.table.name, foreign)} They will appear without a "
                "write, so changes cannot be followed. Read the whole table until then, and "
                "take a new snapshot afterwards.",
                code="HIVEACID_COMPACTION_OF_OTHER_METASTORE",
            )

    def _check_listed(self, whole: PinnedTable, choice: PartitionChoice) -> None:
        """Check the transaction after a table's files were listed; warn of unknown partitions.

        Files listed after the transaction was lost lack what Hive's cleaner has removed, and the
        reader may never check again. A file that is removed later raises an error of its own.
        """
        self.check_alive()
        self._warnings.warn_of_unknown(whole, choice)

    def _warn(self, whole: PinnedTable, plan: ReadPlan | ChangePlan, *reads: ReadPlan) -> None:
        """Warn of what a plan, which consists of `reads`, shows differently from Hive."""
        name = whole.table.name
        for read in reads:
            self._warnings.warn_of_nanoseconds(read)
        self._warnings.warn_of_losses(name, plan.rows_hive_will_drop)
        self._warnings.warn_of_missing(name, plan.missing)
        self._warnings.warn_of_ignored_directories(name, plan.ignored_directories)
        self._warnings.warn_of_ignored_files(name, plan.ignored_files)
        self._warnings.warn_of_unseen(whole)

    def _warn_of_foreign(self, name: TableName, uncommitted: Sequence[tuple[str, int]]) -> None:
        """Warn of compactions that another metastore ran.

        If the metastore cannot be asked, a warning is enough: the rows are Hive's all the same.
        """
        try:
            self._warnings.warn_of_foreign(name, self._foreign(name, uncommitted))
        except MetastoreError as error:
            self._warnings.warn_of_unknown_compactions(name, error)

    def _foreign(
        self, name: TableName, uncommitted: Sequence[tuple[str, int]]
    ) -> list[tuple[str, int]]:
        if not uncommitted:
            return []
        key = (name, frozenset(uncommitted))
        if key not in self._found_foreign:
            with self._client_factory() as client:
                server = self.server or client.server_info()
                self._found_foreign[key] = find_compactions_of_other_metastore(
                    client, server, name, uncommitted
                )
        return self._found_foreign[key]

    def _unexplained_write_ids(
        self, pinned: PinnedTable, write_ids: frozenset[int]
    ) -> frozenset[int]:
        spark = self._spark or SparkSession.active()
        return write_ids_without_directory(spark, pinned, write_ids)


def changed_rows(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    """Return the inserted and the deleted rows of a plan, lazily.

    Raises:
        HistoryLostError: a part of the changes is lost.
        UnreadableTableError: a file cannot be read exactly.
    """
    if plan.losses:
        raise HistoryLostError(
            f"The changes of {plan.pinned.table.name} since the state can no longer be "
            f"determined: {'; '.join(map(str, plan.losses))}. Call `changes` without `since`, "
            "replace your copy with its rows, and store its state."
        )
    with casts_as_hive(spark):
        images = plan_before_images(spark, plan)
        deleted = deleted_rows(spark, plan, images)
        return inserted_rows(spark, plan).unionByName(deleted)


def open_footers(directory: str | Path | None) -> OrcFooters:
    """Return a cache of ORC footers in a directory; None: in memory, as long as the object lives.

    The directory is created with the first cached footers.
    """
    return OrcFooters(None if directory is None else FooterCache(Path(directory).expanduser()))


@dataclass
class _Planned:
    """Plan of one read, once it is made. Other reads do not wait for its lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    plan: ReadPlan | None = None
