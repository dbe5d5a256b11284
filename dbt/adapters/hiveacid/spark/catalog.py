"""Names of tables and functions in Spark's catalogs."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Row, SparkSession

from dbt.adapters.hiveacid.spark.sql import text_literal
from hiveacid.formatting import quoted
from hiveacid.jvm.errors import unless_missing


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
