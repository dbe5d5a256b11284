"""Spark's catalogs: names of tables and functions, and the layout of Spark's own tables."""

from __future__ import annotations

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from hiveacid.formatting import quoted, text_literal
from hiveacid.jvm.errors import is_missing, is_unreachable, short_message, unless_missing
from hiveacid.jvm.java_types import CatalogTable
from hiveacid.jvm.py4j import each, java
from hiveacid.sql.catalog import identifier, session_catalog, table_metadata

CATALOG_ERRORS = (PySparkException, Py4JJavaError)
"""Errors that a look-up in Spark's catalog raises."""

_OF_SPARKS_CATALOG_ONLY = "SHOW TABLE EXTENDED is not supported for v2 tables"
"""Spark 3's message for a schema in another catalog than its own."""


def table_names(session: SparkSession, schema: str) -> set[str]:
    """Return the names of the tables and views in a schema; none if there is no such schema."""
    listed = unless_missing(lambda: session.sql(f"show tables in {schema}").collect())
    return {row.tableName for row in listed or () if not row.isTemporary}


def describe_tables(
    session: SparkSession, schema: str, names: Sequence[str]
) -> tuple[list[Row], dict[str, str]]:
    """Return the rows of SHOW TABLE EXTENDED for the tables that Spark can describe.

    The statement fails if one of the tables does not exist, or if Spark cannot describe it: a Hive
    materialized view, a table whose SerDe class is missing, a type that Spark does not know. So the
    names are bisected until each failing table is alone.

    Returns:
        The rows, and Spark's message for each existing table that cannot be described.

    Raises:
        PySparkException, Py4JJavaError: the catalog does not respond.
    """
    statement = f"show table extended in {schema} like {text_literal('|'.join(names))}"
    try:
        rows = session.sql(statement).collect()
        return [row for row in rows if not row.isTemporary], {}
    except CATALOG_ERRORS as error:
        if is_unreachable(error):
            raise
        if _OF_SPARKS_CATALOG_ONLY in str(error):
            parts = [_describe_table(session, schema, name) for name in names]
        elif len(names) == 1:
            return [], {} if is_missing(error) else {names[0]: short_message(error)}
        else:
            half = len(names) // 2
            halves = names[:half], names[half:]
            parts = [describe_tables(session, schema, some) for some in halves]
    return [row for rows, _ in parts for row in rows], {
        name: reason for _, reasons in parts for name, reason in reasons.items()
    }


def _describe_table(
    session: SparkSession, schema: str, name: str
) -> tuple[list[Row], dict[str, str]]:
    """Return the result of `describe_tables` for one table, from DESCRIBE EXTENDED."""
    try:
        described = session.sql(f"describe extended {schema}.{quoted(name)}").collect()
    except CATALOG_ERRORS as error:
        if is_unreachable(error):
            raise
        return [], {} if is_missing(error) else {name: short_message(error)}
    lines = [
        f"{it.col_name}: {it.data_type}" for it in described if not it.col_name.startswith("#")
    ]
    row = Row(namespace=schema, tableName=name, isTemporary=False, information="\n".join(lines))
    return [row], {}


def function_names(session: SparkSession, schema: str) -> set[str]:
    """Return the names of the user functions in a schema of Spark's own catalog."""
    statement = f"show user functions in {quoted(schema)}"
    listed = unless_missing(lambda: session.sql(statement).collect())
    return {row[0].rpartition(".")[2] for row in listed or ()}


def table_layout(
    session: SparkSession, database: str, table: str
) -> tuple[str, tuple[str, ...], tuple[str, ...], int]:
    """Return how a table is stored. Raises Spark's error if there is no such table.

    Returns:
        The format, the partition columns, the bucket columns and the number of buckets (0 without
        buckets).
    """
    metadata = session_catalog(session).getTableMetadata(identifier(session, database, table))
    stored = metadata.provider().get(), _partition_columns(metadata)
    if metadata.bucketSpec().isEmpty():
        return *stored, (), 0
    buckets = metadata.bucketSpec().get()
    return *stored, tuple(each(buckets.bucketColumnNames())), buckets.numBuckets()


def catalog_partition_columns(
    session: SparkSession, database: str, table: str
) -> tuple[str, ...] | None:
    """Return the partition columns of a table whose columns are in Spark's own catalog.

    None for a Delta or Hudi table, whose columns are in the table's own metadata, and for a table
    that is not in this catalog.
    """
    metadata = table_metadata(session, database, table)
    if metadata is None or metadata.provider().getOrElse(None) in ("delta", "hudi"):
        return None
    return _partition_columns(metadata)


def partition_names(session: SparkSession, database: str, table: str) -> list[str] | None:
    """Return the partitions of a table in Spark's catalog, in the form of directory names.

    None for an unpartitioned table, and for a table whose partitions are not in the catalog.
    """
    catalog, name = session_catalog(session), identifier(session, database, table)
    metadata = catalog.getTableMetadata(name)
    if not _partition_columns(metadata) or not metadata.tracksPartitionsInCatalog():
        return None
    nothing = java(session.sparkContext, "scala.Option").empty()
    # No name has a line break: Hive's names escape control characters.
    text = catalog.listPartitionNames(name, nothing).mkString("\n")
    return text.split("\n") if text else []


def created_at(session: SparkSession, database: str, table: str) -> float:
    """Return when a table was created, in seconds since the epoch; 0 if there is no such table."""
    metadata = table_metadata(session, database, table)
    return 0 if metadata is None else metadata.createTime() / 1000


def _partition_columns(metadata: CatalogTable) -> tuple[str, ...]:
    return tuple(each(metadata.partitionColumnNames()))
