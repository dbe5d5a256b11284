"""Refusals of statements that would change transactional tables, or whose names are ambiguous.

Spark would change the tables without Hive's locks. What would read them raw is refused by the gate
(`hiveacid.sql.gate`), unless an earlier refusal can say better what to do.
"""

from __future__ import annotations

from typing import NoReturn

from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError, InvalidSettingError, RawAcidReferenceError
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import SESSION_CATALOG, transactional_in
from hiveacid.sql.names import Names
from hiveacid.sql.paths import NamedPath, is_path, paths_in, refuse_acid_directory
from hiveacid.sql.reads import Scope
from hiveacid.sql.statement import Relation, Statement


def refuse_targets(session: SparkSession, statement: Statement, names: Names) -> None:
    """Refuse to change the rows or the files of transactional tables, or to drop them.

    Raises:
        AcidTargetError: naming the table.
        RawAcidReferenceError: naming a directory of a table.
    """
    schema = names.schema_in_spark(statement.changed_schema or ())
    if schema is not None:
        refuse_acid_in_schema(session, schema)
    if statement.plan is not None:
        for path in paths_in(statement.plan):
            refuse_acid_directory(session, path)
    for parts in sorted(statement.targets | statement.changes):
        if is_path(parts):
            refuse_acid_directory(session, NamedPath(parts[1], is_read=False))
        name = names.qualify(parts)
        if name is not None and names.is_acid(name):
            raise AcidTargetError(
                f"{name} is a transactional Hive table. Spark would change its files or its "
                "entry in the metastore without Hive's locks and write ids, and could lose "
                "the writes of others. So the statement was not run. Run it in Hive.",
                code="HIVEACID_WRITES_TRANSACTIONAL_TABLE",
            )


def refuse_opaque(statement: Statement, scope: Scope) -> None:
    """Refuse a command that hides which tables it changes, and every script.

    Queries are left to the gate (`hiveacid.sql.gate`), which sees what Spark has made of them.

    Raises:
        RawAcidReferenceError: naming the SQL that hides them.
    """
    if statement.opaque is not None:
        raise RawAcidReferenceError(
            f"{statement.opaque}{scope} hides which tables the statement reads or changes, and "
            "Spark does both wrong with transactional Hive tables. So the statement was not run. "
            "Write the statements and names out; dbt's Jinja can compute them.",
            code="HIVEACID_TABLES_HIDDEN",
        )


def refuse_in_catalog(name: TableName, kind: str, catalog: str) -> NoReturn:
    """Refuse the name of a transactional table or view whose database is also a Spark catalog.

    Raises:
        RawAcidReferenceError: always, naming the table or view (`kind`), and the catalog.
    """
    raise RawAcidReferenceError(
        f"{name} is a {kind} in the metastore of the ACID tables, and Spark "
        f"has a catalog `{catalog}` (`spark.sql.catalog.{catalog}`), in which it would "
        "look for the name. So the statement was not run. Give the catalog another name, "
        f"or write {SESSION_CATALOG}.{name}.",
        code="HIVEACID_NAME_IS_A_CATALOG",
    )


def refuse_clauses(relation: Relation, view: TableName) -> None:
    """Refuse options and time travel of a stored view over transactional tables.

    Raises:
        InvalidSettingError: naming the view.
    """
    if relation.options or relation.version or relation.timestamp:
        raise InvalidSettingError(
            f"{view} is a view over transactional Hive tables. A view has no options in `with "
            "(…)` and no earlier versions. Give them to the tables in the view's text.",
            code="HIVEACID_OPTIONS_ON_A_VIEW",
        )


def refuse_acid_in_schema(session: SparkSession, database: str) -> None:
    """Refuse to drop a database that has a transactional table.

    Raises:
        AcidTargetError: naming the first of its transactional tables.
    """
    table = min(transactional_in(session, database), default=None)
    if table is not None:
        raise AcidTargetError(
            about_target(database, table), code="HIVEACID_DROPS_TRANSACTIONAL_TABLE"
        )


def about_target(database: str, table: str) -> str:
    """Return the message for a transactional table that would be dropped or renamed."""
    return (
        f"{database}.{table} is a transactional Hive table. Spark would drop or rename it without "
        "Hive's locks, and its rows would be lost to Hive. Give the model, seed or snapshot of "
        "this name another `alias` or `schema`. To remove the table itself, drop it in Hive."
    )
