"""ACID sources of one dbt command: their tables, and their views in Spark.

A source renders to the name of a temporary view that does not exist yet. When a statement that
names the view is about to run, the view is made in its connection's session, from the snapshot.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import RawAcidReferenceError
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.spark.statements import NameParts
from hiveacid.api import Snapshot
from hiveacid.changes.plan import ChangePlan
from hiveacid.changes.state import SourceState
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Table, TableName
from hiveacid.reader.plan import ReadPlan
from hiveacid.snapshots.tables import PinnedTable

VIEW_PREFIX = "hiveacid__"


@dataclass(frozen=True)
class SourceView:
    """A source in Spark: the name of its temporary view, and what the view shows."""

    name: str
    table: TableName
    options: SourceOptions = SourceOptions()


def view_name(table: TableName, options: SourceOptions, changes_for: str = "") -> str:
    """Return the name of the view for a source: the same in every run, another for other options.

    The digits distinguish what the readable part does not: `a__b.c` and `a.b__c`. `changes_for` is
    the target for which the view shows changes.
    """
    identity = f"{table.database}\0{table.table}\0{options}"
    if options.static:
        # The same rows, but another source: one model may read both.
        identity += "\0static"
    if changes_for:
        identity += f"\0{changes_for}"
    digits = hashlib.sha256(identity.encode()).hexdigest()[:8]
    readable = re.sub(r"[^a-z0-9_]", "_", f"{table.database}__{table.table}")
    return f"{VIEW_PREFIX}{readable}__{digits}"


class SourceTables:
    """Metadata of the sources: the metastore is asked once, for all of them together.

    It takes no transaction and no lock. The snapshot reads the metadata again under its locks.
    """

    def __init__(
        self, client: MetastoreClient, foreseen: Callable[[], Iterable[TableName]]
    ) -> None:
        """`foreseen` names the sources that this command is going to ask for."""
        self._client = client
        self._foreseen = foreseen
        self._lock = threading.Lock()
        self._known: dict[TableName, Table | None] = {}

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


class SourceViews:
    """Views that sources have been rendered to, and how each is made from the snapshot."""

    def __init__(self, tables: SourceTables, snapshot: Callable[[], Snapshot]) -> None:
        """`snapshot` returns the snapshot that the calling thread reads."""
        self._tables = tables
        self._current_snapshot = snapshot
        self._lock = threading.Lock()
        self._views: dict[str, SourceView] = {}
        self._files_read: dict[str, tuple[ReadPlan, FilesRead]] = {}

    @property
    def _snapshot(self) -> Snapshot:
        return self._current_snapshot()

    def name_of(self, table: TableName, options: SourceOptions) -> str | None:
        """Return the name to read a source by; None for a table that Spark reads right itself."""
        if not self._tables.transactional([table]):
            return None
        view = SourceView(view_name(table, options), table, options)
        with self._lock:
            self._views[view.name] = view
        return view.name

    def changes_of(self, source: str, target: str) -> tuple[SourceView, SourceView]:
        """Return the view named `source`, and another one that shows its changes for a target.

        The caller makes the second view itself, not by `create`.
        """
        with self._lock:
            view = self._views[source]
            name = view_name(view.table, view.options, changes_for=target)
            changes = replace(view, name=name)
            self._views[name] = changes
        return view, changes

    def among(self, names: Iterable[NameParts]) -> list[SourceView]:
        """Return the views among the names of a statement.

        Raises:
            RawAcidReferenceError: a name of this form that no source was rendered to.
        """
        views = []
        for parts in sorted(names):
            if len(parts) == 1 and parts[0].lower().startswith(VIEW_PREFIX):
                view = self._views.get(parts[0].lower())
                if view is None:
                    raise RawAcidReferenceError(
                        f"{parts[0]} is not the name of a source of this run. Names of this form "
                        "come from {{ source(…) }} and must not be written by hand."
                    )
                views.append(view)
        return views

    def pin(self, views: Iterable[SourceView]) -> None:
        """Lock and look up the tables of some views in one call, with those that are foreseen."""
        self._snapshot.pin_together(view.table for view in views)

    def create(self, session: SparkSession, view: SourceView) -> FilesRead:
        """Make the temporary view in `session` from the snapshot; return the files that it reads.

        The first view pins all the ACID sources that the command is going to read.
        """
        choice = view.options.partitions
        plan = self._snapshot.plan_table(session, view.table, choice)
        self._snapshot.frame(session, plan).createOrReplaceTempView(view.name)
        return self._files_of(view, plan)

    def plan_changes(
        self,
        session: SparkSession,
        view: SourceView,
        since: SourceState | None,
        max_write_ids: int | None = None,
    ) -> ChangePlan:
        """Plan the changes of a source since a state; without one, every row is an insert."""
        return self._snapshot.plan_changes(
            session, view.table, since, view.options.partitions, max_write_ids=max_write_ids
        )

    def pinned(self, view: SourceView) -> PinnedTable:
        """Return the table in the snapshot, with the partitions that the view shows."""
        return self._snapshot.pinned(view.table, view.options.partitions)

    def _files_of(self, view: SourceView, plan: ReadPlan) -> FilesRead:
        """Return the files of a plan: one object for all who read by the same plan."""
        with self._lock:
            known = self._files_read.get(view.name)
            if known is None or known[0] is not plan:
                known = plan, FilesRead.of(plan.pinned, plan.files, plan.deletes)
                self._files_read[view.name] = known
            return known[1]
