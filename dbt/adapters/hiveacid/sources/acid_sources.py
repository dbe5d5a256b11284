"""ACID sources of one dbt command: their tables, and their rows in the run's snapshot."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.errors import AdapterError, IncrementalError
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from hiveacid.changes.plan import ChangePlan
from hiveacid.changes.state import SourceState
from hiveacid.engine import SnapshotEngine
from hiveacid.errors import InvalidSettingError
from hiveacid.formatting import text_literal
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.reader.plan import ReadPlan
from hiveacid.snapshots.read_options import AsOf, ReadKind
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.sql.clauses import ReadClauses
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.reads import ChangesRead
from hiveacid.sql.statement import TableFunction

ACID_CHANGES = "acid_changes"
"""The table function that `acid_changes(source(…))` renders to."""


@dataclass(frozen=True)
class Source:
    """A transactional table, and how it is read.

    `as_of` is the instant to read the table at; None for the run's own. `read` is the kind of read.
    """

    table: TableName
    options: SourceOptions = SourceOptions()
    as_of: AsOf | None = None
    read: ReadKind = ReadKind.SNAPSHOT


@dataclass(frozen=True)
class ChangesOf:
    """Changes of a source since the last run of the model whose target is `target`."""

    source: Source
    target: str

    def render(self) -> str:
        """Return SQL for the changes: a table function that only this adapter can read."""
        arguments = [str(self.source.table), self.target]
        options = self.source.options.as_clauses().options()
        if options:
            arguments.append(json.dumps(options))
        return f"{ACID_CHANGES}({', '.join(map(text_literal, arguments))})"

    @classmethod
    def of(cls, function: TableFunction) -> ChangesOf:
        """Parse a call that `render` has written.

        Raises:
            AdapterError: the arguments are not as `render` writes them.
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


def not_of_a_model() -> AdapterError:
    """Return the error for `acid_changes` outside of a model that reads it."""
    return AdapterError(
        "The statement calls acid_changes(…), but is not part of a model that reads it. Write "
        "{{ acid_changes(source('shop', 'orders')) }} in the SQL of an incremental model.",
        code="HIVEACID_CHANGES_OUTSIDE_INCREMENTAL_MODEL",
    )


class AcidSources:
    """Rows of ACID sources in the run's snapshot, and the files they come from. Thread-safe."""

    def __init__(
        self,
        known: KnownTables,
        snapshot: Callable[[], SnapshotEngine],
        as_of: AsOf | None = None,
        is_static: Callable[[TableName], bool] = lambda table: False,
        of_target: Callable[[TableName], SnapshotEngine | None] = lambda table: None,
    ) -> None:
        """Create the sources; look nothing up yet.

        Args:
            known: the tables that the metastore has.
            snapshot: returns the snapshot that the calling thread reads.
            as_of: the instant that the run reads; None for the snapshot's own.
            is_static: returns whether a table is declared as a source that hardly changes.
            of_target: returns the snapshot of a target that the run writes; None for other tables.
        """
        self.known = known
        self.is_static = is_static
        self._as_of = as_of
        self._current_snapshot = snapshot
        self._of_target = of_target
        self._lock = threading.Lock()
        self._files_read: dict[Source, tuple[ReadPlan, FilesRead]] = {}

    @property
    def _snapshot(self) -> SnapshotEngine:
        return self._current_snapshot()

    def pin(self, names: Iterable[TableName]) -> None:
        """Pin some tables, together with all tables that the command is going to read."""
        others = set()
        for name in names:
            of_target = self._of_target(name)
            if of_target is None:
                others.add(name)
            else:
                of_target.pin([name])
        self._snapshot.pin_with_initial(others)

    def _snapshot_of(self, name: TableName) -> SnapshotEngine:
        return self._of_target(name) or self._snapshot

    def rows(self, session: SparkSession, source: Source) -> tuple[DataFrame, FilesRead]:
        """Return a source's rows, lazily, and the files that they are read from."""
        of_target = self._of_target(source.table)
        snapshot = of_target or self._snapshot
        plan = snapshot.plan_table(
            session,
            source.table,
            source.options.partitions,
            # The run's own rows are of now.
            as_of=source.as_of or (self._as_of if of_target is None else None),
            read=source.read,
        )
        return snapshot.frame(session, plan), self._files_of(source, plan)

    def feed(self, session: SparkSession, read: ChangesRead) -> tuple[DataFrame, FilesRead]:
        """Return the changes between two write ids, lazily, and their table."""
        everything = PartitionChoice()
        snapshot = self._snapshot_of(read.table)
        frame = snapshot.change_feed(session, read.table, read.since, read.until, everything)
        pinned = snapshot.pinned(read.table, everything)
        return frame, FilesRead.of_changes(pinned, read.since, read.until)

    def columns(self, session: SparkSession, name: TableName) -> DataFrame:
        """Return the columns of a table, without rows. Takes no lock.

        Raises:
            TableNotFoundError: the table has been dropped.
        """
        return self._snapshot.columns_of(session, self.known.metadata(name))

    def change_columns(self, session: SparkSession, name: TableName) -> DataFrame:
        """Return the columns of the changes of a table, without rows. Takes no lock.

        Raises:
            TableNotFoundError: the table has been dropped.
        """
        return self._snapshot.change_columns_of(session, self.known.metadata(name))

    def feed_columns(self, session: SparkSession, name: TableName) -> DataFrame:
        """Return the columns of `feed` for a table, without rows. Takes no lock.

        Raises:
            TableNotFoundError: the table has been dropped.
        """
        return self._snapshot.feed_columns_of(session, self.known.metadata(name))

    def plan_changes(
        self,
        session: SparkSession,
        source: Source,
        since: SourceState | None,
        max_write_ids: int | None = None,
    ) -> ChangePlan:
        """Plan the changes of a source since a state; without a state, every row is an insert.

        Raises:
            IncrementalError: the run reads an earlier instant (`as_of`).
        """
        if self._as_of is not None:
            raise IncrementalError(
                f"acid_changes of {source.table} cannot be read in a run with `as_of`, which shows "
                f"the sources as of {self._as_of}: the target's state would go back in time. Leave "
                "out `as_of`, or read table_changes(…) with two write ids.",
                code="HIVEACID_CHANGES_WITH_AS_OF",
            )
        return self._snapshot_of(source.table).plan_changes(
            session, source.table, since, source.options.partitions, max_write_ids=max_write_ids
        )

    def pinned(self, source: Source) -> PinnedTable:
        """Return the pinned table, with the partitions that the source selects."""
        return self._snapshot_of(source.table).pinned(source.table, source.options.partitions)

    def is_acid(self, source: Source) -> bool:
        """Return whether the metastore has the source as a transactional table."""
        return bool(self.known.transactional([source.table]))

    def behind_view(self, source: Source) -> list[TableName]:
        """Return the transactional tables behind a Hive view; empty for anything else."""
        return sorted(self.known.behind([source.table]) - {source.table})

    def _files_of(self, source: Source, plan: ReadPlan) -> FilesRead:
        """Return the files of a plan; all readers with the same plan share one object."""
        with self._lock:
            known = self._files_read.get(source)
            if known is None or known[0] is not plan:
                known = plan, FilesRead.of(plan.pinned, plan.files, plan.deletes)
                self._files_read[source] = known
            return known[1]
