"""ACID sources of one dbt command: their tables, and their rows in the run's snapshot."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from hiveacid.api import Snapshot
from hiveacid.changes.plan import ChangePlan
from hiveacid.changes.state import SourceState
from hiveacid.errors import InvalidSettingError, TableNotFoundError
from hiveacid.formatting import text_literal
from hiveacid.jvm.plans import plan_of
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import HiveSql, HiveView, Table, TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import ReadPlan
from hiveacid.snapshots.instants import AsOf, ReadKind
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.hive_views import tables_in
from hiveacid.sql.relations import ChangesRead
from hiveacid.sql.statement import TableFunction

ACID_CHANGES = "acid_changes"
"""The table function that `acid_changes(source(…))` renders to."""


@dataclass(frozen=True)
class Source:
    """A transactional table, and how it is read.

    `as_of` is the earlier instant that is read; None for the run's own. `read` is the kind of read.
    """

    table: TableName
    options: SourceOptions = SourceOptions()
    as_of: AsOf | None = None
    read: ReadKind = ReadKind.SNAPSHOT


@dataclass(frozen=True)
class ChangesOf:
    """What changed in a source since the last run of the model whose target is `target`."""

    source: Source
    target: str

    def render(self) -> str:
        """Return the changes as a relation in SQL, which only the adapter can read."""
        arguments = [str(self.source.table), self.target]
        options = self.source.options.as_clauses().options()
        if options:
            arguments.append(json.dumps(options))
        return f"{ACID_CHANGES}({', '.join(map(text_literal, arguments))})"

    @classmethod
    def of(cls, function: TableFunction) -> ChangesOf:
        """Read what `render` has written.

        Raises:
            DbtRuntimeError: somebody else has written the call.
        """
        try:
            table, target, *options = map(str, function.arguments)
            given = json.loads(options[0]) if options else {}
            source = Source(
                TableName.parse(table), SourceOptions.of_clauses(ReadClauses.of_options(given))
            )
        except (ValueError, InvalidSettingError) as error:
            raise not_of_a_model() from error
        return cls(source, target)


def not_of_a_model() -> DbtRuntimeError:
    """Return the error for changes that no model of this command has asked for."""
    return DbtRuntimeError(
        "The statement calls acid_changes(…) and is not the SQL of a model that reads it. Write "
        "{{ acid_changes(source('shop', 'orders')) }} in the SQL of an incremental model."
    )


class SourceTables:
    """Metadata of the sources: the metastore is asked once, for all of them together.

    It takes no transaction and no lock. The snapshot reads the metadata again under its locks.
    """

    def __init__(
        self,
        client: MetastoreClient,
        foreseen: Callable[[], Iterable[TableName]],
        hive_views: str | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            client: the metastore.
            foreseen: names the sources that this command is going to ask for.
            hive_views: the release of Hive that views are read as (`HiveSql`).
        """
        self._client = client
        self._hive_views = hive_views
        self._foreseen = foreseen
        self._lock = threading.Lock()
        self._known: dict[TableName, Table | None] = {}
        self._hive_sql: HiveSql | None = None

    def get(self, name: TableName) -> Table | None:
        """Return a table's metadata; None if the metastore has no such table.

        Raises:
            MetastoreError: the metastore could not be asked.
        """
        with self._lock:
            if name not in self._known:
                wanted = {name, *self._foreseen()} - self._known.keys()
                found = self._client.get_tables(wanted)
                self._known.update({name: found.get(name) for name in wanted})
            return self._known[name]

    def forget(self) -> None:
        """Ask the metastore again, for a table that may have changed since."""
        with self._lock:
            self._known.clear()

    def asked_for(self) -> dict[TableName, Table | None]:
        """Return all tables that were asked for, and the metastore's answers."""
        with self._lock:
            return dict(self._known)

    def transactional(self, names: Iterable[TableName]) -> set[TableName]:
        """Return those of `names` that are transactional tables."""
        tables = ((name, self.get(name)) for name in names)
        return {name for name, table in tables if table is not None and table.is_transactional}

    def behind(self, names: Iterable[TableName]) -> set[TableName]:
        """Return the transactional tables among `names`, and those behind views of Hive's."""
        found: set[TableName] = set()
        seen: set[TableName] = set()
        pending = list(names)
        while pending:
            name = pending.pop()
            if name in seen:
                continue
            seen.add(name)
            table = self.get(name)
            view = HiveView.of(table)
            if view is not None:
                pending += tables_in(view)
            elif table is not None and table.is_transactional:
                found.add(name)
        return found

    def read_in_snapshot(self, names: Iterable[TableName]) -> set[TableName]:
        """Return those of `names` that are transactional tables, or views of Hive's over some."""
        return {name for name in names if self.behind([name])}

    def hive_sql(self) -> HiveSql:
        """Return what the metastore knows of the SQL of its Hive."""
        with self._lock:
            if self._hive_sql is None:
                self._hive_sql = self._client.hive_sql(self._hive_views)
            return self._hive_sql


class AcidSources:
    """Rows of ACID sources in the run's snapshot, and what is read of them. Thread-safe."""

    def __init__(
        self,
        tables: SourceTables,
        snapshot: Callable[[], Snapshot],
        declared: Callable[[], Collection[TableName]],
        as_of: AsOf | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            tables: the metadata of tables.
            snapshot: returns the snapshot that the calling thread reads.
            declared: names the sources of the project.
            as_of: the instant that the run reads; None for the snapshot's own.
        """
        self._as_of = as_of
        self._tables = tables
        self._current_snapshot = snapshot
        self._declared = declared
        self._lock = threading.Lock()
        self._files_read: dict[Source, tuple[ReadPlan, FilesRead]] = {}

    @property
    def _snapshot(self) -> Snapshot:
        return self._current_snapshot()

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """Return whether the metastore has `name` as an ACID table: see `KnownTables.has`."""
        if in_spark and name not in self._declared():
            return False
        return bool(self._tables.transactional([name]))

    def hive_view(self, name: TableName, *, in_spark: bool) -> HiveView | None:
        """Return a view of Hive's: see `KnownTables.hive_view`."""
        if in_spark and name not in self._declared():
            return None
        return HiveView.of(self._tables.get(name))

    def hive_sql(self) -> HiveSql:
        """Return what is known of the SQL of the metastore's Hive: see `KnownTables.hive_sql`."""
        return self._tables.hive_sql()

    def pin(self, names: Iterable[TableName]) -> None:
        """Pin some tables, with all that the command is going to read."""
        self._snapshot.pin_together(names)

    def rows(self, session: SparkSession, source: Source) -> tuple[Any, FilesRead]:
        """Return Spark's analysed plan of a source's rows, and the files that it reads."""
        plan = self._snapshot.plan_table(
            session,
            source.table,
            source.options.partitions,
            as_of=source.as_of or self._as_of,
            read=source.read,
        )
        frame = self._snapshot.frame(session, plan)
        return plan_of(frame), self._files_of(source, plan)

    def feed(self, session: SparkSession, read: ChangesRead) -> tuple[Any, FilesRead]:
        """Return Spark's analysed plan of the changes between two write ids, and its table."""
        frame = self._snapshot.table_changes(read.table, read.since, read.until, spark=session)
        pinned = self._snapshot.pinned(read.table, PartitionChoice())
        return plan_of(frame), FilesRead.of(pinned, (), ())

    def columns(self, session: SparkSession, name: TableName) -> Any:
        """Return Spark's analysed plan of a table's columns, without rows. Takes no lock.

        Raises:
            TableNotFoundError: the table has been dropped.
        """
        return plan_of(self._snapshot.columns_of(session, self.metadata(name)))

    def metadata(self, name: TableName) -> Table:
        """Return what the metastore has of a table. Takes no lock.

        Raises:
            TableNotFoundError: the table has been dropped.
        """
        table = self._tables.get(name)
        if table is None:
            raise TableNotFoundError(
                f"The metastore has no table {name}. Check the names of the database and the "
                "table; it may just have been dropped."
            )
        return table

    def plan_changes(
        self,
        session: SparkSession,
        source: Source,
        since: SourceState | None,
        max_write_ids: int | None = None,
    ) -> ChangePlan:
        """Plan the changes of a source since a state; without one, every row is an insert.

        Raises:
            IncrementalError: the run reads an earlier instant.
        """
        if self._as_of is not None:
            raise IncrementalError(
                f"acid_changes of {source.table} cannot be read in a run with `as_of`, which shows "
                f"the sources as of {self._as_of}: the target's state would go back in time. Leave "
                "out `as_of`, or read table_changes(…) with two write ids."
            )
        return self._snapshot.plan_changes(
            session, source.table, since, source.options.partitions, max_write_ids=max_write_ids
        )

    def pinned(self, source: Source) -> PinnedTable:
        """Return the table in the snapshot, with the partitions that the source shows."""
        return self._snapshot.pinned(source.table, source.options.partitions)

    def is_acid(self, source: Source) -> bool:
        """Return whether the metastore has the source as a transactional table."""
        return bool(self._tables.transactional([source.table]))

    def behind_view(self, source: Source) -> list[TableName]:
        """Return the transactional tables behind a view of Hive's; empty for anything else."""
        return sorted(self._tables.behind([source.table]) - {source.table})

    def _files_of(self, source: Source, plan: ReadPlan) -> FilesRead:
        """Return the files of a plan: one object for all who read by the same plan."""
        with self._lock:
            known = self._files_read.get(source)
            if known is None or known[0] is not plan:
                known = plan, FilesRead.of(plan.pinned, plan.files, plan.deletes)
                self._files_read[source] = known
            return known[1]
