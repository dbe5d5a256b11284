"""Hive views, read with Spark as Hive shows them.

The package exports three names: `HiveViews` opens the views that a statement reads,
`OpenedHiveView` is one of them, and `tables_in` returns the tables behind a view.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from types import ModuleType
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.errors import InvalidSettingError
from hiveacid.metastore.models import HiveSql, HiveView, TableName
from hiveacid.sql.catalog import catalog_manager, is_catalog
from hiveacid.sql.hive_views.char_tables import CharTable, open_char_table
from hiveacid.sql.hive_views.opened import OpenedHiveView
from hiveacid.sql.hive_views.refusals import refuse_of_trino, without_sqlglot
from hiveacid.sql.hive_views.session import session_of_hive
from hiveacid.sql.statement import parse

__all__ = ["HiveViews", "OpenedHiveView", "tables_in"]


class HiveViews:
    """Hive views that a statement reads, and the plain tables behind them."""

    def __init__(self, session: SparkSession, hive: Callable[[], HiveSql]) -> None:
        """Open nothing yet.

        Args:
            session: the session that runs the statement.
            hive: returns the version and the SQL settings of the metastore's Hive.
        """
        self._spark = session
        self._hive = hive

    def open(self, view: HiveView) -> OpenedHiveView:
        """Return a view with its query translated to Spark SQL.

        `OpenedHiveView.check` refuses a query that cannot be read exactly. Call it once a
        transactional table is known to be behind the view: other views are left to Spark.

        Raises:
            UnreadableTableError: Trino made the view, or sqlglot is not installed.
        """
        refuse_of_trino(view)
        translation = _sqlglot_for(view).translate(view, self._hive(), self._is_catalog)
        statement = parse(self._session, translation.sql or view.text)
        return OpenedHiveView(translation, statement, self._session)

    def open_char_table(self, name: TableName, metadata: Any) -> CharTable | None:
        """Return a plain table behind a view that has values of `char`; None for any other.

        `metadata` is its `CatalogTable` in Spark's catalog.
        """
        return open_char_table(self._session, name, metadata)

    def _is_catalog(self, name: str) -> bool:
        """Return whether Spark has a catalog of a name, loaded or not."""
        try:
            return is_catalog(catalog_manager(self._spark), name)
        except InvalidSettingError:
            return True

    @cached_property
    def _session(self) -> SparkSession:
        return session_of_hive(self._spark)


def tables_in(view: HiveView) -> frozenset[TableName]:
    """Return the tables and views that a view names; none if its text cannot be parsed.

    Raises:
        UnreadableTableError: sqlglot is not installed.
    """
    found: frozenset[TableName] = _sqlglot_for(view).tables_in(view)
    return found


def _sqlglot_for(view: HiveView) -> ModuleType:
    """Import the module that parses views, late: sqlglot takes a quarter of a second to import.

    Raises:
        UnreadableTableError: sqlglot is not installed.
    """
    try:
        from hiveacid.sql.hive_views import translate
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "sqlglot":
            raise
        raise without_sqlglot(view) from error
    return translate
