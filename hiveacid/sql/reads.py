"""Records of what a statement reads: transactional tables, views over them, and their changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol

from pyspark.sql import SparkSession

from hiveacid.jvm.java_types import LogicalPlan
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import SESSION_CATALOG
from hiveacid.sql.statement import Relation, Statement, TableFunction


@dataclass(frozen=True)
class AcidRead:
    """A transactional table that a statement reads. `path` has the views on the way to it."""

    relation: Relation
    table: TableName
    path: tuple[str, ...] = ()


class OpenedView(Protocol):
    """A stored view whose query can be replaced by another plan of the query."""

    def analyzed_with(self, session: SparkSession, query: LogicalPlan) -> LogicalPlan:
        """Return the analysed plan of the view, with `query` as the plan of its query."""


@dataclass(frozen=True)
class ViewRead:
    """A stored view that a statement reads, and the transactional tables behind the view."""

    relation: Relation
    view: OpenedView = field(repr=False)
    statement: Statement = field(repr=False)
    reads: tuple[Read, ...]


Read = AcidRead | ViewRead


@dataclass(frozen=True)
class ChangesRead:
    """A call of `table_changes('db.table', since, until)` on a transactional table.

    `since` is a write id whose own changes are not shown; `until` is the last one whose changes
    are, None for the newest.
    """

    function: TableFunction
    table: TableName
    since: int
    until: int | None


@dataclass(frozen=True)
class Scope:
    """Place of a name: in a statement itself, or in a view that the statement reads.

    Attributes:
        database: the database in which one-part names are looked up; None for the session's own.
        catalog: the catalog in which names without a catalog are looked up; None for the session's
            own.
        path: the views that lead to the place.
        is_in_hive_view: whether one of them is a Hive view.
        knows_declared: whether a name may mean a table that the host has declared. In a view that
            Spark alone has made it means what it meant to Spark.
    """

    database: str | None = None
    catalog: str | None = None
    path: tuple[str, ...] = ()
    is_in_hive_view: bool = False
    knows_declared: bool = True

    def within(self, name: str, database: str | None, catalog: str = SESSION_CATALOG) -> Scope:
        """Return the scope inside a view that is named in this scope."""
        return replace(self, database=database, catalog=catalog, path=(*self.path, name))

    def __str__(self) -> str:
        """Return a remark on the views that lead here; empty without any."""
        return f" (through the view {' > '.join(self.path)})" if self.path else ""


STATEMENT = Scope()
"""The scope of a statement itself."""


class Finder(Protocol):
    """Search for the tables that statements read. Views call it for their own texts."""

    def find(self, statement: Statement, scope: Scope) -> tuple[Read, ...]:
        """Return the reads of a statement in a scope."""

    def look_up(self, relation: Relation, scope: Scope) -> Read | None:
        """Return what one relation reads; None if no transactional table is behind it."""


def tables_of(reads: Iterable[Read]) -> Iterator[AcidRead]:
    """Yield the tables of reads, also tables behind views."""
    for read in reads:
        if isinstance(read, AcidRead):
            yield read
        else:
            yield from tables_of(read.reads)
