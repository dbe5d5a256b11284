"""The ACID sources of one dbt invocation: which tables they are, and their views in Spark.

A source renders to the name of a temporary view that does not exist yet. When a statement that
names it is about to run, the view is made in that connection's session from the run's snapshot.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import urlparse

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import RawAcidReferenceError
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.spark.statements import NameParts
from hiveacid.formatting import first_few
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Table, TableName
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import ReadPlan
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.reader.verification import Verification
from hiveacid.reader.verify import verify
from hiveacid.snapshots.tables import PinnedTable

logger = AdapterLogger("HiveAcid")
VIEW_PREFIX = "hiveacid__"
_SHOWN = 3
"""So many directories are named in a warning."""

Pin = Callable[[Iterable[TableName]], Mapping[TableName, PinnedTable]]
"""`RunSnapshot.pin`: the tables as the run sees them."""


@dataclass(frozen=True)
class SourceView:
    """A source as Spark knows it: the temporary view's name and what it shows."""

    name: str
    table: TableName
    options: SourceOptions = SourceOptions()


def view_name(table: TableName, options: SourceOptions, changes_for: str = "") -> str:
    """The name of the view for a source: the same in every run, another for other options.

    The digits keep apart what the readable part does not: `a__b.c` and `a.b__c`. `changes_for` is
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
    """What the metastore says of the sources: asked once, for all of them together.

    Metadata only: no transaction, no lock. The snapshot reads the metadata again under its locks.
    """

    def __init__(
        self, client: MetastoreClient, foreseen: Callable[[], Iterable[TableName]]
    ) -> None:
        """`foreseen` names the sources that this invocation is going to ask for."""
        self._client = client
        self._foreseen = foreseen
        self._lock = threading.Lock()
        self._known: dict[TableName, Table | None] = {}

    def get(self, name: TableName) -> Table | None:
        """The table's metadata, None if the metastore has no such table.

        Raises:
            MetastoreError: the metastore could not be asked.
        """
        with self._lock:
            if name not in self._known:
                wanted = {name, *self._foreseen()} - self._known.keys()
                found = self._client.get_tables(wanted)
                self._known.update({name: found.get(name) for name in wanted})
            return self._known[name]

    def asked_for(self) -> dict[TableName, Table | None]:
        """All that has been asked, and what the metastore answered."""
        with self._lock:
            return dict(self._known)

    def transactional(self, names: Iterable[TableName]) -> set[TableName]:
        """Those of `names` that are transactional tables."""
        tables = ((name, self.get(name)) for name in names)
        return {name for name, table in tables if table is not None and table.is_transactional}


class SourceViews:
    """The views that sources have been rendered to, and how each is made."""

    def __init__(
        self,
        tables: SourceTables,
        pin: Pin,
        check_alive: Callable[[], None],
        foreseen: Callable[[], Iterable[TableName]],
        footers: OrcFooters,
    ) -> None:
        """`check_alive` is the snapshot's."""
        self._tables = tables
        self._pin = pin
        self._check_alive = check_alive
        self._foreseen = foreseen
        self.footers = footers
        self._lock = threading.Lock()
        self._views: dict[str, SourceView] = {}
        self._plans: dict[tuple[int, str], _Planned] = {}
        self._warned: set[tuple[TableName, str]] = set()
        #: Tables with rows that Hive is going to lose, and the directories that say so.
        self._to_be_lost: dict[TableName, tuple[str, ...]] = {}

    def name_of(self, table: TableName, options: SourceOptions) -> str | None:
        """The name to read a source by; None for one that Spark reads right itself."""
        if not self._tables.transactional([table]):
            return None
        view = SourceView(view_name(table, options), table, options)
        with self._lock:
            self._views[view.name] = view
        return view.name

    def changes_of(self, source: str, target: str) -> tuple[SourceView, SourceView]:
        """The view named `source`, and one that shows its changes for a target.

        The second is made by whoever asked for it, not by `create`.
        """
        with self._lock:
            view = self._views[source]
            name = view_name(view.table, view.options, changes_for=target)
            changes = replace(view, name=name)
            self._views[name] = changes
        return view, changes

    def among(self, names: Iterable[NameParts]) -> list[SourceView]:
        """The views among the names of a statement.

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
                        "come from {{ source(…) }} and are not to be written by hand."
                    )
                views.append(view)
        return views

    def create(self, session: SparkSession, view: SourceView) -> FilesRead:
        """Make the temporary view in `session` from the run's snapshot; what it reads.

        The first view pins all the ACID sources that the invocation is going to read.
        """
        plan, reading = self._plan(session, view)
        to_dataframe(session, plan).createOrReplaceTempView(view.name)
        return reading

    def pinned(self, view: SourceView) -> PinnedTable:
        """The table in the run's snapshot, with the partitions that the view shows."""
        return view.options.partitions.of_table(self._pinned(view))

    def _plan(self, session: SparkSession, view: SourceView) -> tuple[ReadPlan, FilesRead]:
        """How the view's rows are read.

        Planned once a run, whichever thread comes first; the others wait for it.
        """
        key = (self._pinned(view).transaction_id, view.name)
        with self._lock:
            planned = self._plans.setdefault(key, _Planned())
        with planned.lock:
            if planned.plan is None:
                plan = plan_read(session, self.pinned(view), self.footers)
                self.has_listed(view)
                planned.plan = plan, FilesRead.of(plan.pinned, plan.files, plan.deletes)
                self.warn_of_nanoseconds(plan)
                self.warn_of_losses(view.table, plan.to_be_lost)
                self.warn_of_missing(view.table, plan.missing)
            return planned.plan

    def has_listed(self, view: SourceView) -> None:
        """Check what can be said of a source once its files have been listed.

        A listing of after the transaction's loss lacks what Hive's cleaner has removed, and nobody
        else asks, for a statement of a hook; a file that goes later is an error of its own.

        Raises:
            TransactionLostError: the listing may lack files.
        """
        self._check_alive()
        unknown = view.options.partitions.unknown_in(self._pinned(view))
        if unknown and self._is_first_warning(view.table, f"unknown partitions {view.name}"):
            logger.warning(
                f"{view.table} has no partition {', '.join(unknown)}, which the option "
                "`partitions` of the source names."
            )

    def warn_of_nanoseconds(self, plan: ReadPlan) -> None:
        """Warn, once for each table, of timestamps in a plan's files that Spark cannot hold."""
        name = plan.pinned.table.name
        if plan.nanoseconds and self._is_first_warning(name, "nanoseconds"):
            columns = ", ".join(f"{c} (in {file.path})" for c, file in plan.nanoseconds.items())
            logger.warning(
                f"{name} has timestamps with nanoseconds, which Spark cuts to microseconds: "
                f"{columns}. Values that differ only there become equal. If that matters, let Hive "
                "keep them as text, in a column of type string."
            )

    def warn_of_losses(self, name: TableName, to_be_lost: Sequence[str]) -> None:
        """Warn, once for each table, of rows that Hive is going to lose, and keep it in mind.

        Args:
            name: the table.
            to_be_lost: see `ReadPlan`.
        """
        if to_be_lost and self._is_first_warning(name, "to be lost"):
            with self._lock:
                self._to_be_lost[name] = tuple(to_be_lost)
            logger.warning(
                f"{name} has rows that Hive is going to lose: a compaction has left "
                f"{first_few(to_be_lost, _SHOWN)} without any file. What it was to take in is "
                "still there, and is read, but Hive's cleaner will remove it. Copy the table in "
                "Hive before that (CREATE TABLE … AS SELECT)."
            )

    def warn_of_missing(self, name: TableName, missing: Sequence[str]) -> None:
        """Warn, once for each table, of partitions that may be elsewhere than Spark looks.

        Args:
            name: the table.
            missing: see `ReadPlan`.
        """
        if missing and self._is_first_warning(name, "missing"):
            logger.warning(
                f"{name} has partitions without a directory: {first_few(missing, _SHOWN)}. They "
                "are read as empty, as Hive does. If Hive shows rows of them, Spark does not see "
                "the file system that they are on; else drop them, or make the directories again."
            )

    def tables_to_lose(self, message: str) -> list[str]:
        """The tables with rows that Hive is going to lose, of which a message names a file."""
        with self._lock:
            lost = sorted(self._to_be_lost.items())
        return [
            str(name)
            for name, directories in lost
            if any(urlparse(d.rpartition("/")[0]).path + "/" in message for d in directories)
        ]

    def _is_first_warning(self, table: TableName, of: str) -> bool:
        with self._lock:
            is_first = (table, of) not in self._warned
            self._warned.add((table, of))
        return is_first

    def verify(self, session: SparkSession, name: TableName) -> Verification:
        """Check a transactional table in the run's snapshot, whether it is a source or not."""
        pinned = self._pin([name])[name]
        return verify(session, pinned, self.footers)

    def _pinned(self, view: SourceView) -> PinnedTable:
        names = {view.table, *self._tables.transactional(self._foreseen())}
        return self._pin(names)[view.table]


@dataclass
class _Planned:
    """The plan of one view, once there is one. Other views do not wait for its lock."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    plan: tuple[ReadPlan, FilesRead] | None = None
