"""State of one node while it runs on its connection, and the node's statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any, NamedTuple, Protocol, TypeVar

from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.acid_sources import ChangesOf, Source
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from dbt.adapters.hiveacid.spark.session import Cursor, SessionHandle, set_while
from hiveacid.metastore.models import TableName
from hiveacid.sql.swap import SwappedStatement

T = TypeVar("T")
GLOBAL_TEMPORARY = "global_temp"
"""Spark's database of global temporary views."""


@dataclass(frozen=True)
class Stage:
    """A table in which a node's target is being built.

    With the model's `location_root` the table is external, and each build gets its own directory
    (`targets.staging.build_location`). `location` is the directory of a table of other rows than
    the target's.
    """

    relation: HiveAcidRelation
    target: HiveAcidRelation
    invocation_id: str
    location_root: str | None = None
    location: str | None = None


class RowMaker(Protocol):
    """Maker of the rows that `acid_changes` shows in a statement."""

    def rows(self, session: SparkSession) -> tuple[DataFrame, FilesRead]:
        """Return the rows, lazily, and the files that they are read from."""


RowMakers = Mapping[ChangesOf, RowMaker]
"""Makers of rows, by the changes that the rows show."""


class AcidNames(NamedTuple):
    """ACID sources that are read: whole tables, and their changes."""

    sources: frozenset[Source] = frozenset()
    changes: frozenset[ChangesOf] = frozenset()

    def joined(self, other: AcidNames) -> AcidNames:
        """Return these and `other` together."""
        return AcidNames(self.sources | other.sources, self.changes | other.changes)


class NodeContext:
    """State of the node that runs on a connection. It is the handle of dbt's connection.

    dbt opens a connection for each node, so the state ends with the node.

    Attributes:
        spark: the Spark session of the connection.
        name: the connection's name: a node's unique id, or dbt's name for anything else (`master`
            for hooks).
        named: the relations that the current statement names.
        swapped: the current statement with its ACID tables swapped; None if it reads none.
        reads: the files of ACID tables that the current statement reads, also through temporary
            views of the session.
        has_read: the files that all statements of the node have read.
        temporary_views: the files that each temporary view of the session reads.
        temporary_sources: the ACID sources that each temporary view is defined over.
        stages: the tables in which the node's target is being built, by their roles.
        write_lock: the lock on writing the node's target, while this thread holds it.
        changes: the changes that the node's model is built from, once the materialization has
            begun.
        default_options: the options of tables that a statement names without options.
        is_full_load: whether an incremental run has become a full load.
        set_by_user: the settings of the session that statements of the node have set.
        writer_settings: settings of the session while the current statement runs.
    """

    def __init__(self, spark: SessionHandle) -> None:
        self.spark = spark
        self.name = ""
        self.named: frozenset[tuple[str, ...]] = frozenset()
        self.swapped: SwappedStatement | None = None
        self.reads: frozenset[FilesRead] = frozenset()
        self.has_read: frozenset[FilesRead] = frozenset()
        self.temporary_views: dict[str, frozenset[FilesRead]] = {}
        self.temporary_sources: dict[str, AcidNames] = {}
        self.stages: dict[str, Stage] = {}
        self.write_lock: Lock | None = None
        self.changes: ChangesOf | None = None
        self.default_options: dict[TableName, SourceOptions] = {}
        self.is_full_load = False
        self.set_by_user: frozenset[str] = frozenset()
        self.writer_settings: Mapping[str, str] = {}

    @property
    def session(self) -> SparkSession:
        """The Spark session of the connection."""
        return self.spark.session

    def cursor(self) -> NodeCursor:
        """Return a cursor for one statement."""
        return NodeCursor(self)

    def cancel(self) -> None:
        """Stop the running statement and refuse further ones. Does not wait."""
        self.spark.cancel()

    def raise_if_cancelled(self) -> None:
        """Raise a DbtRuntimeError if the connection is cancelled."""
        self.spark.raise_if_cancelled()

    def stop_statement(self) -> None:
        """Stop the Spark jobs of the running statement, if there is one. Does not wait."""
        self.spark.stop_statement()

    def uninterrupted(self) -> AbstractContextManager[None]:
        """Let the block's statements, which belong together, finish even if dbt cancels."""
        return self.spark.uninterrupted()

    def close(self) -> None:
        """Do nothing: the session is freed with the last reference to it."""

    def rollback(self) -> None:
        """Do nothing: Spark has no transactions."""

    def run_sql(self, sql: str) -> DataFrame:
        """Run the statement that was prepared last, or another one that reads no ACID table."""
        with set_while(self.session, self.writer_settings):
            if self.swapped is not None:
                return self.swapped.run(self.session)
            return self.session.sql(sql)

    @contextmanager
    def reading(self, table: TableName, options: SourceOptions | None) -> Iterator[None]:
        """Read a table with these options in statements of the block that give none."""
        before = self.default_options
        if options is not None:
            self.default_options = {**before, table: options}
        try:
            yield
        finally:
            self.default_options = before

    def sources_behind(self, names: Iterable[tuple[str, ...]]) -> AcidNames:
        """Return the ACID sources behind the temporary views among `names`."""
        found = AcidNames()
        for parts in names:
            if len(parts) > 1 and parts[0].lower() != GLOBAL_TEMPORARY:
                continue
            found = found.joined(self.temporary_sources.get(parts[-1].lower(), AcidNames()))
        return found

    def make_temporary_view(
        self, target: HiveAcidRelation, role: str, frame: DataFrame
    ) -> HiveAcidRelation:
        """Create a temporary view of `frame`, which the current statement reads, and return it."""
        name = f"{target.identifier}__dbt_{role}"
        frame.createOrReplaceTempView(f"`{name}`")
        self.temporary_views[name.lower()] = self.reads
        relation = target.incorporate(path={"identifier": name}, type="view")
        return relation.include(database=False, schema=False)


class NodeCursor(Cursor):
    """Cursor for a statement of a node; `has_read` are the files that the node has read so far."""

    def __init__(self, node: NodeContext) -> None:
        super().__init__(
            node.spark,
            node.name,
            reads_acid=bool(node.reads),
            swapped=node.swapped,
            settings=node.writer_settings,
        )
        self.has_read = node.has_read


class Statements:
    """Statements of the node that runs on the calling thread."""

    def __init__(
        self,
        node: Callable[[], NodeContext],
        errors: Callable[[str], AbstractContextManager[None]],
    ) -> None:
        """Create the statements.

        Args:
            node: returns the node of the calling thread.
            errors: called with a statement; turns Spark's errors in the block into dbt's.
        """
        self._node = node
        self.errors = errors

    @property
    def node(self) -> NodeContext:
        """The node that runs on this thread."""
        return self._node()

    @property
    def session(self) -> SparkSession:
        """The Spark session of that node."""
        return self._node().session

    def run(self, sql: str, function: Callable[[], T]) -> T:
        """Run Python code like a statement; `sql` is the statement, or describes the code.

        Spark's jobs belong to the node, Ctrl-C stops them, and errors become dbt's.
        """
        with self.errors(sql):
            return self._node().cursor().run(function)

    def query(self, sql: str) -> Iterable[Any]:
        """Run a statement and return its rows."""
        return self.run(sql, lambda: self.session.sql(sql).collect())
