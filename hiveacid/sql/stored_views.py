"""Stored views over transactional tables.

Spark stores the text of a view, and reads the tables that the text names. So a stored view over a
transactional table must never be read by Spark alone: it would show Spark's wrong rows. What is
stored is a guard around the text, which calls a function that exists nowhere: whoever reads the
view without this library gets an error that names the function. The text itself is kept in
properties of the view. A statement of this library reads the view by that text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

from hiveacid.jvm.java_types import CatalogTable, JavaSession, LogicalPlan
from hiveacid.jvm.plans import execution_of, with_child, with_fields
from hiveacid.jvm.py4j import active, each, java, string_array
from hiveacid.spark_versions import version_of
from hiveacid.sql.catalog import session_catalog

GUARD = "hiveacid_snapshot"
"""The function that the guard calls. It exists nowhere, not even in sessions of this library: a
read that does not go through `snapshot.sql` would show wrong rows."""

_PLANS = "org.apache.spark.sql.catalyst.plans.logical"
_PROPERTY = "hiveacid.view.text"
_PART = 3900
"""Characters per property: the databases of some metastores hold 4,000."""


@dataclass(frozen=True)
class StoredView:
    """A stored view as Spark's catalog has it.

    Attributes:
        text: the query that the view shows.
        query: Spark's plan of the text, parsed under the settings that the view was made with.
        database: the database in which one-part names of the text are looked up; None without one.
        relation: Spark's plan of the view, around `query`: with the view's name, and with the
            stored columns and types.
        namespace: the catalog and the namespace in which the view was made.
        settings: Spark's `SQLConf` with the settings that are stored with the view.
        evolves: whether the view shows the columns of its query as they are (WITH SCHEMA
            EVOLUTION), so that `relation` casts nothing.
    """

    text: str
    query: LogicalPlan = field(repr=False)
    database: str | None
    relation: LogicalPlan = field(repr=False)
    namespace: tuple[str, ...] = field(repr=False)
    settings: Any = field(repr=False)
    evolves: bool = False

    def analyzed_with(self, session: SparkSession, query: LogicalPlan) -> LogicalPlan:
        """Return the analysed plan of the view with another plan of its query.

        Spark analyses a view that it looks up itself under the settings that are stored with the
        view, and in the view's own namespace. Inside of a statement's plan it would be analysed
        under those of the session: a cast would take the session's time zone.
        """
        context = session.sparkContext
        view = self.relation.child()
        columns = query if self.evolves else with_child(context, view.child(), query)
        plan = with_child(context, self.relation, with_child(context, view, columns))
        return execution_of(context, self._session(session), plan).analyzed()

    def _session(self, session: SparkSession) -> JavaSession:
        """Return a new Java session with the settings and the namespace of the view."""
        context = session.sparkContext
        other = session._jsparkSession.newSession()
        settings = other.sessionState().conf().settings()
        settings.clear()
        settings.putAll(self.settings.settings())
        if self.namespace:
            catalog, *names = self.namespace
            manager = other.sessionState().catalogManager()
            manager.setCurrentCatalog(catalog)
            manager.setCurrentNamespace(string_array(context, names))
        return other


def open_view(session: SparkSession, metadata: CatalogTable) -> StoredView:
    """Return a stored view, from its `CatalogTable`.

    Spark itself makes the plan of the view, with the settings, columns and types that it stores
    with the view. For a Hive view it follows Hive's rules.
    """
    context = session.sparkContext
    kept, opened = guarded_text(metadata), metadata
    if kept is not None:
        some = java(context, "scala.Option").apply(kept)
        opened = with_fields(context, metadata, viewText=some)
    options = java(context, "org.apache.spark.sql.util.CaseInsensitiveStringMap").empty()
    with active(session):
        relation = session_catalog(session).getRelation(opened, options)
    if kept is not None:
        # Spark stores the columns of an evolving view again, with the text that the plan has.
        view = with_fields(context, relation.child(), desc=metadata)
        relation = with_child(context, relation, view)
    namespace = tuple(map(str, each(metadata.viewCatalogAndNamespace())))
    evolves = _evolves(session, metadata)
    shown = relation.child().child()
    return StoredView(
        str(opened.viewText().get()),
        shown if evolves else shown.child(),
        namespace[-1] if namespace else None,
        relation,
        namespace,
        _settings(session, metadata),
        evolves,
    )


def _settings(session: SparkSession, metadata: CatalogTable) -> Any:
    """Return the settings under which Spark reads a view, from its `CatalogTable`."""
    view, configs = java(session.sparkContext, f"{_PLANS}.View"), metadata.viewSQLConfigs()
    with active(session):
        try:
            return view.effectiveSQLConf(configs, False, metadata.createVersion())
        except Py4JError:  # before Spark 4.1
            return view.effectiveSQLConf(configs, False)


def _evolves(session: SparkSession, metadata: CatalogTable) -> bool:
    if not version_of(session.version).has_view_schema_modes:
        return False
    return str(metadata.viewSchemaMode().getClass().getSimpleName()) == "SchemaEvolution$"


def guarded_text(metadata: CatalogTable) -> str | None:
    """Return the query of a view that is stored behind the guard; None for another view.

    ALTER VIEW … AS keeps the properties and stores another text, without the guard.
    """
    properties = metadata.properties()
    parts: list[str] = []
    while (part := properties.get(f"{_PROPERTY}.{len(parts)}")).isDefined():
        parts.append(str(part.get()))
    text, stored = "".join(parts), metadata.viewText()
    return text if stored.isDefined() and str(stored.get()).startswith(_opened(text)) else None


def guarded(context: SparkContext, command: LogicalPlan) -> LogicalPlan:
    """Return a CREATE VIEW command (Spark's `CreateView`) that stores its text behind the guard.

    Spark's own command stores the view, so it has the columns, the settings and the namespace that
    Spark gives every view.
    """
    text = str(command.originalText().get()).strip().removesuffix(";")
    properties = command.properties()
    for number, start in enumerate(range(0, len(text), _PART)):
        properties = properties.updated(f"{_PROPERTY}.{number}", text[start : start + _PART])
    some = java(context, "scala.Option").apply(_guard(text))
    return with_fields(context, command, originalText=some, properties=properties)


def _guard(text: str) -> str:
    return (
        f"{_opened(text)}"
        "'This view reads transactional Hive tables. Read it with dbt-hiveacid, or with "
        "snapshot.sql of hiveacid.')"
    )


def _opened(text: str) -> str:
    """Return the guard around a text, up to what the guard says."""
    # A comment may end the text. Hive wants a name for the query.
    return f"select * from (\n{text}\n) as guarded where {GUARD}("
