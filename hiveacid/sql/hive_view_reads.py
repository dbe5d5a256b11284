"""What a statement reads through Hive's own views: this is where they are translated.

Spark has no view of the metastore's that its own catalog lacks, and shows another one after its
own rules. So the text of a view over transactional tables is translated to Spark's SQL.
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
"""What Spark takes for the version that made a table or a view, where Hive made it."""


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
            hive_sql: returns what the metastore knows of the SQL of its Hive.
        """
        self._finder = finder
        self._hive_views = HiveViews(session, hive_sql)

    def follow(self, relation: Relation, view: HiveView, scope: Scope) -> ViewRead | None:
        """Follow a Hive view. One over no transactional table is left to Spark.

        Raises:
            UnreadableTableError: Spark cannot show what Hive shows of the view.
        """
        if str(view.name) in scope.path:
            return None  # Spark has an error for a view that reads itself.
        opened = self._hive_views.open(view)
        if opened.statement.plan is None:
            names, within = tables_in(view), scope.within(str(view.name), None)
            below = [Relation((SESSION_CATALOG, it.database, it.table)) for it in sorted(names)]
            if not names or any(self._finder.look_up(it, within) for it in below):
                opened.refuse()
            return None  # Spark has an error for its text.
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
    """Refuse a Hive view that Spark would show with other rows, or one behind it."""
    check = getattr(read.view, "check", None)
    if check is not None:
        check()
    for inner in read.reads:
        if isinstance(inner, ViewRead):
            _check(inner)
