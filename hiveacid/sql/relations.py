"""Transactional tables among the relations of a statement, also behind stored views.

Spark treats the directory of a Hive ACID table as plain files: it shows no rows, or rows that are
deleted, without an error. So every relation that a statement names is looked up in Spark's catalog
before the statement runs, and stored views are followed to the tables behind them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError, RawAcidReferenceError
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import (
    identifier,
    is_transactional,
    session_catalog,
    table_metadata,
    transactional_in,
)
from hiveacid.sql.statement import NameParts, Relation, Statement, of_plan
from hiveacid.sql.stored_views import StoredView, open_view

SESSION_CATALOG = "spark_catalog"


class KnownTables(Protocol):
    """Transactional tables that are known without Spark's catalog."""

    def has(self, name: TableName, *, in_spark: bool) -> bool:
        """Return whether the metastore of the snapshot has `name` as a transactional table.

        `in_spark` tells whether Spark's catalog has another table of this name.
        """


@dataclass(frozen=True)
class AcidRead:
    """A transactional table that a statement reads. `path` has the views on the way to it."""

    relation: Relation
    table: TableName
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class ViewRead:
    """A stored view that a statement reads, and the transactional tables behind the view."""

    relation: Relation
    view: StoredView = field(repr=False)
    statement: Statement = field(repr=False)
    reads: tuple[Read, ...]


Read = AcidRead | ViewRead


def tables_of(reads: Iterable[Read]) -> Iterator[AcidRead]:
    """Yield the tables of some reads: also those behind views."""
    for read in reads:
        if isinstance(read, AcidRead):
            yield read
        else:
            yield from tables_of(read.reads)


def find_acid(session: SparkSession, statement: Statement, known: KnownTables) -> tuple[Read, ...]:
    """Return the transactional tables that a statement reads, and the stored views over them.

    Temporary views are not followed: the statement that made the view was looked at itself.

    Raises:
        RawAcidReferenceError: the statement hides which tables it reads, or a name is that of two
            tables.
        AcidTargetError: the statement would change rows or files of a transactional table.
    """
    search = _Search(session, known)
    search.refuse_targets(statement)
    return search.find(statement, default_database=None, path=())


class _Search:
    """Search through a statement and the views that it reads."""

    def __init__(self, session: SparkSession, known: KnownTables) -> None:
        self._session = session
        self._known = known
        self._catalog = session_catalog(session)
        self._manager = session._jsparkSession.sessionState().catalogManager()
        self._metadata: dict[tuple[str, str], Any] = {}

    def find(
        self, statement: Statement, default_database: str | None, path: tuple[str, ...]
    ) -> tuple[Read, ...]:
        """Return what a statement reads; `path` has the views that led to it."""
        if statement.opaque is not None:
            raise RawAcidReferenceError(
                f"{statement.opaque}{through(path)} hides which tables the statement reads, and "
                "Spark reads transactional Hive tables wrong. So the statement was not run. Write "
                "the statements and names out; dbt's Jinja can compute them."
            )
        found = (
            self._look_up(relation, default_database, path) for relation in statement.relations
        )
        return tuple(read for read in found if read is not None)

    def refuse_targets(self, statement: Statement) -> None:
        """Refuse to change the rows or the files of transactional tables, or to drop them."""
        schema = statement.dropped_schema or ()
        if len(schema) == 1 or schema[:1] == (SESSION_CATALOG,):
            table = min(transactional_in(self._session, schema[-1].lower()), default=None)
            if table is not None:
                raise AcidTargetError(about_target(schema[-1].lower(), table))
        for parts in sorted(statement.targets | statement.of_files):
            name = self._qualify(parts, None)
            if name is not None and self._is_acid(name):
                raise AcidTargetError(
                    f"{name} is a transactional Hive table. Spark would change its "
                    "files without Hive's locks and write ids, and what others have written since "
                    "the snapshot may be lost. Run the statement in Hive."
                )

    def _look_up(
        self, relation: Relation, default_database: str | None, path: tuple[str, ...]
    ) -> Read | None:
        name = self._qualify(relation.parts, default_database)
        if name is None:
            return None
        metadata = self._table(name)
        if metadata is not None and metadata.viewText().isDefined():
            return self._follow(relation, name, metadata, path)
        return AcidRead(relation, name, path) if self._is_acid(name, metadata) else None

    def _is_acid(self, name: TableName, metadata: Any = None) -> bool:
        metadata = metadata or self._table(name)
        if metadata is None:
            return self._known.has(name, in_spark=False)
        if is_transactional(metadata):
            return True
        if self._known.has(name, in_spark=True):
            raise RawAcidReferenceError(
                f"{name} is a transactional table in the metastore of the ACID tables, and another "
                "table in Spark's catalog. So the statement was not run: it would be unclear which "
                "of the two it reads. Rename one of them, or point Spark at the same metastore "
                "(`spark.hadoop.hive.metastore.uris`)."
            )
        return False

    def _follow(
        self, relation: Relation, name: TableName, metadata: Any, path: tuple[str, ...]
    ) -> ViewRead | None:
        if str(name) in path:
            return None  # Spark has an error for a view that reads itself.
        view = open_view(self._session, metadata)
        statement = of_plan(self._session, view.text, view.query)
        database = view.database or name.database
        reads = self.find(statement, database, (*path, str(name)))
        return ViewRead(relation, view, statement, reads) if reads else None

    def _table(self, name: TableName) -> Any:
        key = (name.database, name.table)
        if key not in self._metadata:
            self._metadata[key] = table_metadata(self._session, *key)
        return self._metadata[key]

    def _qualify(self, parts: NameParts, default_database: str | None) -> TableName | None:
        """Return the table of Spark's own catalog that a name means; None for other catalogs."""
        if len(parts) > 2 and parts[0].lower() == SESSION_CATALOG:
            parts = parts[1:]
        elif len(parts) > 2 or self._is_catalog(parts):
            return None
        if len(parts) == 2:
            return TableName(parts[0].lower(), parts[1].lower())
        if default_database is None:
            if self._manager.currentCatalog().name() != SESSION_CATALOG:
                return None
            if self._catalog.isTempView(identifier(self._session, None, parts[0])):
                return None
            default_database = self._catalog.getCurrentDatabase()
        return TableName(default_database.lower(), parts[0].lower())

    def _is_catalog(self, parts: NameParts) -> bool:
        return len(parts) == 2 and self._manager.isCatalogRegistered(parts[0])


def about_target(database: str, table: str) -> str:
    """Return the message for a transactional table that would be dropped or renamed."""
    return (
        f"{database}.{table} is a transactional Hive table. Spark would drop or rename it without "
        "Hive's locks, and its rows would be lost to Hive. Give the model, seed or snapshot of "
        "this name another `alias` or `schema`. To remove the table itself, drop it in Hive."
    )


def through(path: tuple[str, ...]) -> str:
    """Return a remark on the views that lead to a table; empty without any."""
    return f" (through the view {' > '.join(path)})" if path else ""
