"""Opened Hive views: the translated query, and the Spark plan that shows the view's rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.jvm.plans import named
from hiveacid.metastore.models import HiveSql, HiveView
from hiveacid.sql.catalog import SESSION_CATALOG
from hiveacid.sql.hive_views.casts import with_hives_casts
from hiveacid.sql.hive_views.columns import as_declared
from hiveacid.sql.hive_views.constant_columns import mark_view
from hiveacid.sql.hive_views.refusals import DiffersError, refusal, warn_of_release
from hiveacid.sql.statement import Statement


@dataclass(frozen=True)
class Translation:
    """The query of a Hive view, translated to Spark SQL.

    Attributes:
        view: the view.
        hive: the version and the SQL settings of the view's Hive.
        sql: the query; None if sqlglot cannot parse the view's text.
        problem: the part of the text that may show other rows in Spark, and the reason; None
            without one.
        type_dependent: kinds of Spark's expressions in the query that differ from Hive for some
            types.
    """

    view: HiveView
    hive: HiveSql
    sql: str | None
    problem: tuple[str, str] | None = None
    type_dependent: frozenset[str] = field(default=frozenset(), repr=False)

    def check(self) -> None:
        """Refuse a query that may show other rows than the view in Hive.

        Raises:
            UnreadableTableError: naming the part of the text.
        """
        if self.problem is not None:
            raise refusal(self.view, *self.problem)


@dataclass(frozen=True)
class OpenedHiveView:
    """A Hive view, in a Spark session that evaluates as Hive does.

    Attributes:
        statement: the query of the view; without a plan if Spark cannot parse it.
    """

    translation: Translation
    statement: Statement = field(repr=False)
    session: SparkSession = field(repr=False)

    def check(self) -> None:
        """Refuse a query that may show other rows, and warn of a Hive that was not tried.

        Raises:
            UnreadableTableError: naming the part of the text.
        """
        self.translation.check()
        hive = self.translation.hive
        if hive.is_guessed:
            warn_of_release(hive.version, str(hive.release))

    def refuse(self) -> None:
        """Refuse a view whose translation Spark cannot parse.

        Raises:
            UnreadableTableError: always, with the part of the view's text.
        """
        problem = self.translation.problem or ("The text", "Spark cannot parse its translation")
        raise refusal(self.translation.view, *problem)

    def analyzed_with(self, session: SparkSession, query: Any) -> Any:
        """Return the analysed plan of the view, with `query` as the plan of its query.

        Raises:
            UnreadableTableError: Spark cannot evaluate a part of the query as Hive does.
        """
        translation, view = self.translation, self.translation.view
        try:
            plan = with_hives_casts(
                self.session,
                query,
                view,
                translation.type_dependent,
                is_hive_3=translation.hive.is_hive_3,
            )
            shown = as_declared(self.session, plan, view.columns)
        except DiffersError as error:
            raise refusal(view, *error.args) from error
        name = (SESSION_CATALOG, view.name.database)
        context = session.sparkContext
        return mark_view(context, named(context, shown, view.name.table, name))
