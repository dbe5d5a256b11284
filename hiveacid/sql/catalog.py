"""Names in Spark's own catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.java_types import CatalogTable, LogicalPlan
from hiveacid.jvm.plans import leaves
from hiveacid.jvm.py4j import each, java, scala_seq_of

SESSION_CATALOG = "spark_catalog"
"""The name of Spark's own catalog."""


def table_metadata(session: SparkSession, database: str, table: str) -> CatalogTable | None:
    """Return Spark's `CatalogTable`.

    None for a table that Spark's own catalog does not have, and for what is no table there
    (`` parquet.`/path` ``): Spark has an error of its own for it when it runs a statement.

    The metastore is asked once. `SessionCatalog.getTableMetadata` asks three times: whether there
    is the database, whether there is the table, and for the table.
    """
    if session.conf.get("spark.sql.caseSensitive") != "true":
        database, table = database.lower(), table.lower()
    found: CatalogTable | None = unless_missing(
        lambda: external_catalog(session).getTable(database, table)
    )
    return found


def tables_metadata(
    session: SparkSession, database: str, tables: Iterable[str]
) -> dict[str, CatalogTable]:
    """Return Spark's `CatalogTable` of those of some tables that its own catalog has.

    The metastore is asked once.

    Raises:
        PySparkException, Py4JJavaError: Spark cannot describe one of the tables.
    """
    wanted = (identifier(session, database, table) for table in tables)
    names, catalog = scala_seq_of(session.sparkContext, wanted), session_catalog(session)
    found = unless_missing(lambda: catalog.getTablesByName(names))
    return {
        str(it.identifier().table()).lower(): it for it in (() if found is None else each(found))
    }


def session_catalog(session: SparkSession) -> Any:
    """Return Spark's own catalog (`SessionCatalog`)."""
    return session._jsparkSession.sessionState().catalog()


def external_catalog(session: SparkSession) -> Any:
    """Return what Spark's own catalog keeps its tables in (`ExternalCatalog`)."""
    return session._jsparkSession.sharedState().externalCatalog()


def identifier(session: SparkSession, database: str | None, table: str) -> Any:
    """Return a table's name as Spark's own catalog takes it (`TableIdentifier`)."""
    context = session.sparkContext
    return java(context, "org.apache.spark.sql.catalyst.TableIdentifier")(
        table, java(context, "scala.Option").apply(database)
    )


def is_transactional(metadata: CatalogTable) -> bool:
    """Return whether a `CatalogTable` is a transactional Hive table."""
    transactional = metadata.properties().get("transactional")
    return bool(transactional.isDefined() and transactional.get().lower() == "true")


def transactional_in(session: SparkSession, database: str) -> list[str]:
    """Return the names of the transactional tables in a database; none if it does not exist."""
    catalog = session_catalog(session)
    names = unless_missing(lambda: catalog.listTables(database, "*", False))
    tables = () if names is None else each(catalog.getTablesByName(names))
    return [str(table.identifier().table()) for table in tables if is_transactional(table)]


def read_by_spark(plan: LogicalPlan) -> list[str]:
    """Return the names of the transactional tables whose files Spark reads, by an analysed plan."""
    found = set()
    for leaf in leaves(plan):
        kind = leaf.nodeName()
        if kind == "HiveTableRelation":
            metadata = leaf.tableMeta()
        elif kind == "LogicalRelation" and leaf.catalogTable().isDefined():
            metadata = leaf.catalogTable().get()
        else:
            continue
        if is_transactional(metadata):
            found.add(str(metadata.identifier().unquotedString()))
    return sorted(found)
