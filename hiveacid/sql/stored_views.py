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

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hiveacid.jvm.plans import with_child, with_fields
from hiveacid.jvm.py4j import active, each, java
from hiveacid.sql.catalog import session_catalog

GUARD = "hiveacid_snapshot"
"""The function that the guard calls. It exists nowhere, also not in sessions of this library: a
read that does not go through `snapshot.sql` would show wrong rows."""

_PROPERTY = "hiveacid.view.text"
_PART = 3900
"""Letters that a property holds: some metastores' databases keep 4,000."""


@dataclass(frozen=True)
class StoredView:
    """A stored view as Spark's catalog has it.

    Attributes:
        text: the query that the view shows.
        query: Spark's plan of the text, parsed under the settings that the view was made with.
        database: the database in which one-part names of the text are looked up; None without one.
        relation: Spark's plan of the view, around `query`: with the view's name, and with the
            stored columns and types.
    """

    text: str
    query: Any = field(repr=False)
    database: str | None
    relation: Any = field(repr=False)

    def showing(self, context: SparkContext, query: Any) -> Any:
        """Return the plan of the view with another plan of its query."""
        view = self.relation.child()
        columns = with_child(context, view.child(), query)
        return with_child(context, self.relation, with_child(context, view, columns))


def open_view(session: SparkSession, metadata: Any) -> StoredView:
    """Return a stored view by its `CatalogTable`.

    Spark itself makes the plan of the view: with the settings, the columns and the types that it
    stores with the view, and after Hive's rules for a view of Hive's.
    """
    context = session.sparkContext
    kept = guarded_text(metadata)
    if kept is not None:
        some = java(context, "scala.Option").apply(kept)
        metadata = with_fields(context, metadata, viewText=some)
    options = java(context, "org.apache.spark.sql.util.CaseInsensitiveStringMap").empty()
    with active(session):
        relation = session_catalog(session).getRelation(metadata, options)
    namespace = list(each(metadata.viewCatalogAndNamespace()))
    return StoredView(
        str(metadata.viewText().get()),
        relation.child().child().child(),
        str(namespace[-1]) if namespace else None,
        relation,
    )


def guarded_text(metadata: Any) -> str | None:
    """Return the query of a view that is stored behind the guard; None for another view."""
    properties = metadata.properties()
    parts: list[str] = []
    while True:
        part = properties.get(f"{_PROPERTY}.{len(parts)}")
        if not part.isDefined():
            return "".join(parts) if parts else None
        parts.append(str(part.get()))


def guarded(context: SparkContext, command: Any) -> Any:
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
    # A comment may end the text. Hive wants a name for the query.
    return (
        f"select * from (\n{text}\n) as guarded where {GUARD}("
        "'This view reads transactional Hive tables. Read it with dbt-hiveacid, or with "
        "snapshot.sql of hiveacid.')"
    )
