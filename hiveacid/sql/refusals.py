"""Refusals of statements that would change transactional tables, or read them raw.

Spark would read the rows of the tables wrong, or change them without Hive's locks. These statements
hide the names of the tables, or name a table as the target of a change.
"""

from __future__ import annotations

from typing import NoReturn

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError, InvalidSettingError, RawAcidReferenceError
from hiveacid.formatting import quoted
from hiveacid.jvm.plans import plan_of
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import SESSION_CATALOG, read_by_spark, transactional_in
from hiveacid.sql.functions import called_in, is_named_by_expression, made_by, text_of_calls
from hiveacid.sql.names import Names
from hiveacid.sql.paths import NamedPath, is_path, paths_in, refuse_acid_directory
from hiveacid.sql.reads import Finder, Scope, tables_of
from hiveacid.sql.statement import Relation, Statement, parse


def refuse_targets(session: SparkSession, statement: Statement, names: Names) -> None:
    """Refuse to change the rows or the files of transactional tables, or to drop them.

    Raises:
        AcidTargetError: naming the table.
        RawAcidReferenceError: naming a directory of a table.
    """
    schema = statement.changed_schema or ()
    if len(schema) == 1 or schema[:1] == (SESSION_CATALOG,):
        refuse_acid_in_schema(session, schema[-1].lower())
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


def refuse_hidden(
    session: SparkSession, statement: Statement, scope: Scope, names: Names, finder: Finder
) -> None:
    """Refuse a statement that hides which tables it reads, or reads some in function bodies.

    Raises:
        RawAcidReferenceError: naming the SQL that hides them, or the function.
    """
    opaque, calls = statement.opaque, ""
    if opaque is None and statement.plan is not None:
        calls = text_of_calls(session.sparkContext, statement.plan)
    if is_named_by_expression(calls):
        opaque = "IDENTIFIER(…)"
    if opaque is not None:
        raise RawAcidReferenceError(
            f"{opaque}{scope} hides which tables the statement reads, and "
            "Spark reads transactional Hive tables wrong. So the statement was not run. Write "
            "the statements and names out; dbt's Jinja can compute them.",
            code="HIVEACID_TABLES_HIDDEN",
        )
    _refuse_functions(session, statement, calls, scope, names, finder)


def _refuse_functions(
    session: SparkSession,
    statement: Statement,
    calls: str,
    scope: Scope,
    names: Names,
    finder: Finder,
) -> None:
    """Refuse to call or to create a SQL function that reads transactional tables."""
    if statement.plan is None:
        return
    made = made_by(statement.plan)
    for function in called_in(session, calls) if made is None else (made,):
        if function.name in scope.path:
            continue
        body = parse(session, function.query)
        for relation in body.relations if function.is_temporary else ():
            if names.is_temporary(relation.parts):
                refuse_raw_view(session, relation)
        within = scope.within(function.name, function.database or scope.database)
        tables = sorted({str(read.table) for read in tables_of(finder.find(body, within))})
        if tables:
            raise RawAcidReferenceError(
                f"{function.name}{scope} reads {', '.join(tables)} in its body. A function "
                "reads tables without the snapshot, and Spark reads transactional Hive tables "
                "wrong. So the statement was not run. Write the query into the statement, or "
                "make a view of it.",
                code="HIVEACID_RAW_FUNCTION_BODY",
            )


def refuse_raw_view(session: SparkSession, relation: Relation) -> None:
    """Refuse a temporary view that shows transactional tables as Spark itself reads them.

    Raises:
        RawAcidReferenceError: naming the view and the tables.
    """
    view = ".".join(map(quoted, relation.parts))
    try:
        shown = plan_of(session.table(view))
    except PySparkException:
        return  # Running the statement raises the error.
    tables = read_by_spark(shown)
    if tables:
        raise RawAcidReferenceError(
            f"The temporary view {'.'.join(relation.parts)} reads {', '.join(tables)}, and was "
            "made without the snapshot. Spark reads transactional Hive tables wrong. So the "
            "statement was not run. Make the view with snapshot.sql('create temporary view "
            "…'), or of a DataFrame of the snapshot.",
            code="HIVEACID_RAW_TEMPORARY_VIEW",
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
