"""Spark's catalogs: names of tables and functions, and how tables of its own catalog are stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Row, SparkSession

from hiveacid.formatting import quoted, text_literal
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.py4j import each, java
from hiveacid.sql.catalog import identifier, session_catalog, table_metadata


def table_names(session: SparkSession, schema: str) -> set[str]:
    """Return the names of the tables and views in a schema; none if there is no such schema."""
    listed = unless_missing(lambda: session.sql(f"show tables in {schema}").collect())
    return {row.tableName for row in listed or () if not row.isTemporary}


def describe_tables(session: SparkSession, schema: str, names: Sequence[str]) -> list[Row]:
    """Return the rows of SHOW TABLE EXTENDED for those of some tables that are there.

    The statement fails if one table is not there, so the others are looked up without it.
    """
    statement = f"show table extended in {schema} like {text_literal('|'.join(names))}"
    rows = unless_missing(lambda: session.sql(statement).collect())
    if rows is not None:
        return [row for row in rows if not row.isTemporary]
    if len(names) == 1:
        return []
    half = len(names) // 2
    first, second = names[:half], names[half:]
    return [*describe_tables(session, schema, first), *describe_tables(session, schema, second)]


def function_names(session: SparkSession, schema: str) -> set[str]:
    """Return the names of the users' functions in a schema of Spark's own catalog."""
    statement = f"show user functions in {quoted(schema)}"
    listed = unless_missing(lambda: session.sql(statement).collect())
    return {row[0].rpartition(".")[2] for row in listed or ()}


def table_layout(
    session: SparkSession, database: str, table: str
) -> tuple[str, tuple[str, ...], tuple[str, ...], int]:
    """Return how a table is stored. Raises Spark's error if there is no such table.

    Returns:
        The format, the partition columns, the columns of the buckets and the number of buckets (0
        without buckets).
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
    """Return the partition columns of a table whose columns Spark's own catalog keeps.

    None for a table of Delta or Hudi, which keep the columns themselves, and for a table that is
    not in this catalog.
    """
    metadata = table_metadata(session, database, table)
    if metadata is None or metadata.provider().getOrElse(None) in ("delta", "hudi"):
        return None
    return _partition_columns(metadata)


def partition_names(session: SparkSession, database: str, table: str) -> list[str] | None:
    """Return the partitions that Spark's catalog has of a table, as their directories are named.

    None for a table without partitions, and for a table whose partitions the catalog does not keep.
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


def _partition_columns(metadata: Any) -> tuple[str, ...]:
    return tuple(each(metadata.partitionColumnNames()))
