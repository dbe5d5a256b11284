"""Transactional tables among the relations of a statement, also behind stored views.

Spark treats the directory of a Hive ACID table as plain files: it shows no rows, or rows that are
deleted, without an error. So every relation that a statement names is looked up in Spark's catalog
before the statement runs, and stored views are followed to the tables behind them.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from hiveacid.errors import InvalidSettingError
from hiveacid.jvm.java_types import CatalogTable
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import SESSION_CATALOG
from hiveacid.sql.clauses import refuse_ignored
from hiveacid.sql.hive_view_reads import HiveViewReads, view_made_by_hive
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.names import Names
from hiveacid.sql.paths import NamedPath, is_path, refuse_acid_directory
from hiveacid.sql.reads import STATEMENT, AcidRead, ChangesRead, Read, Scope, ViewRead
from hiveacid.sql.refusals import (
    refuse_clauses,
    refuse_in_catalog,
    refuse_opaque,
    refuse_targets,
)
from hiveacid.sql.statement import (
    ANALYSES_VIEW,
    DESCRIBES,
    Relation,
    Statement,
    TableFunction,
    of_plan,
)
from hiveacid.sql.stored_views import guarded_text, open_view

TABLE_CHANGES = "table_changes"
"""The table function that shows the changes between two write ids."""


def find_acid(session: SparkSession, statement: Statement, known: KnownTables) -> tuple[Read, ...]:
    """Return the transactional tables that a statement reads, and the stored views over them.

    Temporary views and SQL functions are not followed: the gate (`hiveacid.sql.gate`) refuses the
    statement if one of them reads a transactional table without the snapshot.

    Raises:
        RawAcidReferenceError: the statement hides which tables it changes, or a name means two
            tables.
        AcidTargetError: the statement would change rows or files of a transactional table.
    """
    search = RelationResolver(session, known)
    refuse_targets(session, statement, search.names)
    return search.find(statement, STATEMENT)


def find_changes(
    session: SparkSession, statement: Statement, known: KnownTables
) -> tuple[ChangesRead, ...]:
    """Return the calls of `table_changes` on transactional tables.

    A call with the name of another table is left to Delta, which has a function of this name.

    Raises:
        InvalidSettingError: the write ids of a call are not whole numbers.
    """
    calls = [it for it in statement.functions if it.name == TABLE_CHANGES and it.arguments]
    if not calls:
        return ()
    names = Names(session, known)
    found = [(call, names.acid_table(str(call.arguments[0]))) for call in calls]
    return tuple(_changes_read(call, table) for call, table in found if table is not None)


def _changes_read(call: TableFunction, table: TableName) -> ChangesRead:
    try:
        since, *rest = (None if it is None else int(it) for it in call.arguments[1:])
        (until,) = rest or (None,)
        if since is not None:
            return ChangesRead(call, table, since, until)
    except ValueError:
        pass
    raise InvalidSettingError(
        f"table_changes('{table}', …) needs the write id after which the changes begin, and "
        f"may have the last write id: table_changes('{table}', 2, 5). They must be whole "
        f"numbers, not {', '.join(map(str, call.arguments[1:])) or 'left out'}.",
        code="HIVEACID_INVALID_TABLE_CHANGES",
    )


def described_elsewhere(
    session: SparkSession, statement: Statement, known: KnownTables
) -> TableName | None:
    """Return the transactional table of a DESCRIBE or SHOW COLUMNS that Spark's catalog lacks."""
    if statement.kind not in DESCRIBES or len(statement.mentions) != 1:
        return None
    (parts,) = statement.mentions
    return Names(session, known).acid_table_elsewhere(parts)


def guarded_view(
    session: SparkSession, statement: Statement, known: KnownTables
) -> CatalogTable | None:
    """Return the guarded view of a command for which Spark would analyse the guard."""
    if statement.kind not in ANALYSES_VIEW or len(statement.mentions) != 1:
        return None
    if statement.kind == "RenameTable" and not statement.plan.isView():
        return None  # ALTER TABLE, which Spark refuses for a view without analysing it.
    (parts,) = statement.mentions
    names = Names(session, known)
    name = names.qualify(parts)
    metadata = None if name is None else names.table(name)
    return None if metadata is None or guarded_text(metadata) is None else metadata


class RelationResolver:
    """Resolver of the relations in a statement and in the views that it reads."""

    def __init__(self, session: SparkSession, known: KnownTables) -> None:
        self._session = session
        self._known = known
        self.names = Names(session, known)
        self._hive_views = HiveViewReads(session, self, known.hive_sql)

    def find(self, statement: Statement, scope: Scope) -> tuple[Read, ...]:
        """Return the reads of a statement in a scope."""
        refuse_opaque(statement, scope)
        for relation in statement.ignored:
            refuse_ignored(relation, "defined by a `with` clause")
        self.names.look_up_together(statement.relations, scope)
        found = (self.look_up(relation, scope) for relation in statement.relations)
        return tuple(read for read in found if read is not None)

    def look_up(self, relation: Relation, scope: Scope) -> Read | None:
        """Return what one relation reads; None if no transactional table is behind it."""
        name = self.names.qualify(relation.parts, scope)
        if name is None:
            self._refuse_outside(relation, scope)
            return None
        metadata = self.names.table(name)
        if metadata is not None and metadata.viewText().isDefined():
            return self._follow(relation, name, metadata, scope)
        if self.names.is_acid(name):
            return AcidRead(relation, name, scope.path)
        if metadata is not None:
            if scope.is_in_hive_view:
                return self._hive_views.open_char_table(relation, name, metadata)
        elif is_path(relation.parts):
            refuse_acid_directory(self._session, NamedPath(relation.parts[1], is_read=True))
        else:
            view = self._known.hive_view(name, in_spark=False)
            if view is not None:
                return self._hive_views.follow(relation, view, scope)
        return None

    def _follow(
        self, relation: Relation, name: TableName, metadata: CatalogTable, scope: Scope
    ) -> ViewRead | None:
        """Resolve a view of Spark's catalog, made by Spark or by Hive."""
        made_by_hive = view_made_by_hive(name, metadata)
        if made_by_hive is not None:
            return self._hive_views.follow(relation, made_by_hive, scope)
        if str(name) in scope.path:
            return None  # Spark reports a view that reads itself.
        view = open_view(self._session, metadata)
        statement = of_plan(self._session, view.text, view.query)
        catalog = view.namespace[0] if view.namespace else SESSION_CATALOG
        within = scope.within(str(name), view.database or name.database, catalog)
        is_ours = guarded_text(metadata) is not None
        reads = self.find(statement, replace(within, knows_declared=is_ours))
        if reads:
            refuse_clauses(relation, name)
        return ViewRead(relation, view, statement, reads) if reads else None

    def _refuse_outside(self, relation: Relation, scope: Scope) -> None:
        """Refuse clauses of a temporary view, and a name that is also a transactional table's."""
        if self.names.is_temporary(relation.parts):
            refuse_ignored(relation, "a temporary view")
        elif self.names.is_in_catalog(relation.parts):
            name = TableName(*(part.lower() for part in relation.parts))
            if self._known.has(name, in_spark=True):
                refuse_in_catalog(name, "transactional table", relation.parts[0])
            view = self._known.hive_view(name, in_spark=True)
            if view is not None and self._hive_views.follow(relation, view, scope) is not None:
                kind = "Hive view over transactional tables"
                refuse_in_catalog(name, kind, relation.parts[0])
