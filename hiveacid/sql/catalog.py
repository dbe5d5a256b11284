"""Names in Spark's own catalog."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.errors import InvalidSettingError
from hiveacid.jvm.errors import JAVA_ERRORS, JavaError, short_message, unless_missing
from hiveacid.jvm.java_types import CatalogTable
from hiveacid.jvm.py4j import each, java, scala_seq_of

SESSION_CATALOG = "spark_catalog"
"""The name of Spark's own catalog."""


def table_metadata(session: SparkSession, database: str, table: str) -> CatalogTable | None:
    """Return the `CatalogTable` of a table in Spark's own catalog; None if it is not there.

    None also stands for a name that is not a table (`` parquet.`/path` ``). Spark raises its own
    error for both when it runs the statement.

    The metastore is asked once. `SessionCatalog.getTableMetadata` asks three times: whether the
    database exists, whether the table exists, and for the table.
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
    """Return the `CatalogTable` of each table in Spark's own catalog, by its lower-case name.

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
    """Return the store behind Spark's own catalog (`ExternalCatalog`)."""
    return session._jsparkSession.sharedState().externalCatalog()


def catalog_manager(session: SparkSession) -> Any:
    """Return Spark's `CatalogManager`."""
    return session._jsparkSession.sessionState().catalogManager()


def is_catalog(manager: Any, name: str) -> bool:
    """Return whether Spark has a catalog of a name. Spark loads the catalog to answer.

    Raises:
        InvalidSettingError: Spark has settings of the catalog, and cannot load it.
    """
    try:
        return bool(manager.isCatalogRegistered(name))
    except JAVA_ERRORS as error:
        raise _not_loaded(name, f"spark.sql.catalog.{name}", error) from error


def current_catalog(manager: Any) -> str:
    """Return the name of the current catalog. Spark loads the catalog to answer.

    Raises:
        InvalidSettingError: Spark cannot load its default catalog.
    """
    try:
        return str(manager.currentCatalog().name())
    except JAVA_ERRORS as error:
        raise _not_loaded("the default one", "spark.sql.defaultCatalog", error) from error


def _not_loaded(name: str, setting: str, error: JavaError) -> InvalidSettingError:
    return InvalidSettingError(
        f"Spark cannot load the catalog {name}, in which the statement looks for a table, so the "
        f"statement was not run. Correct or remove the setting `{setting}`. Before the name of a "
        f"database of the metastore, write {SESSION_CATALOG}. Spark's error: "
        f"{short_message(error)}",
        code="HIVEACID_CATALOG_NOT_LOADED",
    )


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
