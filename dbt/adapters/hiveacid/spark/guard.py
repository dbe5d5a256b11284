"""Guard that keeps transactional tables from Spark's plain readers and writers.

Spark treats the directory of a Hive ACID table as plain files: it shows no rows, or rows that are
deleted, without an error. So every relation that a statement names is looked up in Spark's catalog
first, and views are followed to the tables behind them.
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.py4j import each
from hiveacid.sql.catalog import is_transactional, session_catalog, table_metadata

_SESSION_CATALOG = "spark_catalog"


def refuse_acid_target(session: SparkSession, database: str, table: str) -> None:
    """Refuse to drop or rename a table that is transactional.

    A model with the name of a transactional table would replace the table, and its rows would be
    lost; Spark asks for none of Hive's locks.

    Raises:
        AcidTargetError: naming the table.
    """
    if _has_transactional(session, database, table):
        raise AcidTargetError(_about_target(database, table))


def refuse_acid_in_schema(session: SparkSession, database: str) -> None:
    """Refuse to drop a database that has a transactional table.

    Raises:
        AcidTargetError: naming the first of its transactional tables.
    """
    table = min(_transactional_in(session, database), default=None)
    if table is not None:
        raise AcidTargetError(_about_target(database, table))


def is_plain_table(session: SparkSession, database: str, table: str) -> bool:
    """Return whether Spark's own catalog has a plain table or a view of this name."""
    found = table_metadata(session, database, table)
    return found is not None and not is_transactional(found)


def _has_transactional(session: SparkSession, database: str, table: str) -> bool:
    found = table_metadata(session, database, table)
    return found is not None and is_transactional(found)


def _transactional_in(session: SparkSession, database: str) -> list[str]:
    catalog = session_catalog(session)
    names = unless_missing(lambda: catalog.listTables(database, "*", False))
    tables = () if names is None else each(catalog.getTablesByName(names))
    return [table.identifier().table() for table in tables if is_transactional(table)]


def _about_target(database: str, table: str) -> str:
    return (
        f"{database}.{table} is a transactional Hive table. Spark would drop or rename it without "
        "Hive's locks, and its rows would be lost to Hive. Give the model, seed or snapshot of "
        "this name another `alias` or `schema`. To remove the table itself, drop it in Hive."
    )
