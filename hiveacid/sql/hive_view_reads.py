"""Tables that a statement reads through Hive views. The views are translated to Spark SQL.

Spark cannot see a view that only the snapshot's metastore has, and evaluates the text of other
Hive views by its own rules. So the text of a view over transactional tables is translated.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hiveacid.jvm.java_types import CatalogTable
from hiveacid.metastore.models import Column, HiveSql, HiveView, TableName
from hiveacid.sql.catalog import SESSION_CATALOG
from hiveacid.sql.hive_views import HiveViews, tables_in
from hiveacid.sql.reads import Finder, Scope, ViewRead, tables_of
from hiveacid.sql.refusals import refuse_clauses
from hiveacid.sql.statement import Relation

_NOT_MADE_BY_SPARK = "2.2 or prior"
"""Version that Spark reports as the creator of tables and views that Hive made."""


class HiveViewReads:
    """Hive views that one statement reads, and plain tables behind Hive views."""

    def __init__(
        self,
        session: SparkSession,
        finder: Finder,
        hive_sql: Callable[[], HiveSql],
    ) -> None:
        """Translate nothing yet.

        Args:
            session: the session of the statement.
            finder: finds what the text of a view reads.
            hive_sql: returns the version and the SQL settings of the metastore's Hive.
        """
        self._finder = finder
        self._hive_views = HiveViews(session, hive_sql)

    def follow(self, relation: Relation, view: HiveView, scope: Scope) -> ViewRead | None:
        """Resolve a Hive view; None leaves a view over no transactional table to Spark.

        Raises:
            UnreadableTableError: the view cannot be read exactly as in Hive.
        """
        if str(view.name) in scope.path:
            return None  # Spark reports a view that reads itself.
        opened = self._hive_views.open(view)
        if opened.statement.plan is None:
            names, within = tables_in(view), scope.within(str(view.name), None)
            below = [Relation((SESSION_CATALOG, it.database, it.table)) for it in sorted(names)]
            if not names or any(self._finder.look_up(it, within) for it in below):
                opened.refuse()
            return None  # Spark reports the error in its text.
        within = scope.within(str(view.name), view.name.database)
        reads = self._finder.find(opened.statement, replace(within, is_in_hive_view=True))
        found = ViewRead(relation, opened, opened.statement, reads)
        if scope.is_in_hive_view:
            return found
        if not any(True for _ in tables_of(reads)):
            return None
        refuse_clauses(relation, view.name)
        _check(found)
        return found

    def open_char_table(
        self, relation: Relation, name: TableName, metadata: CatalogTable
    ) -> ViewRead | None:
        """Return a plain table behind a Hive view that has values of `char`."""
        table = self._hive_views.open_char_table(name, metadata)
        return None if table is None else ViewRead(relation, table, table.statement, ())


def view_made_by_hive(name: TableName, metadata: CatalogTable) -> HiveView | None:
    """Return a view of Spark's catalog that Hive has made; None if Spark has made it."""
    if not str(metadata.createVersion()).startswith(_NOT_MADE_BY_SPARK):
        return None
    schema = StructType.fromJson(json.loads(metadata.schema().json()))
    columns = tuple(Column(it.name, it.dataType.simpleString()) for it in schema)
    return HiveView(name, str(metadata.viewText().get()), columns)


def _check(read: ViewRead) -> None:
    """Refuse a Hive view that Spark would evaluate differently, also one behind a view."""
    check = getattr(read.view, "check", None)
    if check is not None:
        check()
    for inner in read.reads:
        if isinstance(inner, ViewRead):
            _check(inner)
