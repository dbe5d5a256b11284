"""Statements that read transactional tables from a snapshot.

The relations of a statement are swapped in Spark's own plan of it, after the parser and before the
analyzer: each transactional table for the rows of the snapshot, under the table's full name. So
nothing in the text must be found or changed. Aliases, qualified columns, hints and samples work as
with any table, and Spark's errors point into the user's text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from hiveacid.errors import AcidTargetError, RawAcidReferenceError, UnreadableTableError
from hiveacid.jvm.errors import condition
from hiveacid.jvm.java_types import CatalogTable, LogicalPlan
from hiveacid.jvm.plans import dataframe_of, named, plan_of, with_fields
from hiveacid.jvm.py4j import each, java
from hiveacid.metastore.models import Table
from hiveacid.reader.columns import table_columns
from hiveacid.sql.catalog import (
    SESSION_CATALOG,
    catalog_manager,
    current_catalog,
    identifier,
    is_catalog,
    session_catalog,
)
from hiveacid.sql.gate import gate_open
from hiveacid.sql.reads import AcidRead, Read, ViewRead, tables_of
from hiveacid.sql.statement import METADATA_ONLY, Statement, TableFunction
from hiveacid.sql.stored_views import guarded

_CLONE = "CloneTableStatement"
"""Delta's CREATE TABLE … CLONE."""

_METADATA = "`_metadata`"
_STORE_PLAN = "spark.sql.legacy.storeAnalyzedPlanForView"

_DESCRIBED = {
    "DescribeRelation": "col_name string, data_type string, comment string",
    "ShowColumns": "col_name string",
}
"""Columns of the answers to the statements that describe a table."""

_STATISTICS = (
    "min",
    "max",
    "num_nulls",
    "distinct_count",
    "avg_col_len",
    "max_col_len",
    "histogram",
)
"""What DESCRIBE EXTENDED of a column shows; a view has none of them."""


@dataclass(frozen=True)
class SwappedStatement:
    """A statement whose transactional tables are swapped, as a plan that is ready to run.

    `tables` are the names of the tables, for errors.
    """

    statement: Statement
    plan: LogicalPlan
    tables: str = ""

    def run(self, session: SparkSession) -> DataFrame:
        """Run the statement, as `session.sql` runs a text: a command at once, a query lazily.

        Raises:
            UnreadableTableError: the statement names Spark's column `_metadata` of a table.
        """
        with metadata_column_refused(self.tables):
            return self._run(session)

    def _run(self, session: SparkSession) -> DataFrame:
        if self.statement.kind in METADATA_ONLY:
            with gate_open(session):
                return dataframe_of(session, self.plan)
        if self.statement.kind != "CacheTableAsSelect":
            return dataframe_of(session, self.plan)
        # Otherwise the temporary view that it creates would keep the text, which Spark would read.
        before = session.conf.get(_STORE_PLAN)
        session.conf.set(_STORE_PLAN, "true")
        try:
            return dataframe_of(session, self.plan)
        finally:
            session.conf.set(_STORE_PLAN, str(before))


@dataclass(frozen=True)
class ViewCommand(SwappedStatement):
    """A command about a guarded view, for which Spark's own would analyse the guard."""

    view: CatalogTable = field(kw_only=True)

    def _run(self, session: SparkSession) -> DataFrame:
        name, catalog, plan = self.view.identifier(), session_catalog(session), self.plan
        if self.statement.kind == "DescribeColumn":
            return self._describe(session)
        if self.statement.kind == "RefreshTable":
            catalog.refreshTable(name)
            return _nothing(session)
        catalog.refreshTable(name)
        *schema, view = (str(it) for it in each(plan.newName()))
        schema = schema[1:] if schema[:1] == [SESSION_CATALOG] else schema
        catalog.renameTable(name, identifier(session, ".".join(schema) or None, view))
        return _nothing(session)

    def _describe(self, session: SparkSession) -> DataFrame:
        schema = StructType.fromJson(json.loads(self.view.schema().json()))
        parts = [str(it) for it in each(self.plan.column().nameParts())]
        quoted = ".".join(f"`{it.replace('`', '``')}`" for it in parts)
        (column,) = session.createDataFrame([], schema).select(quoted).schema
        rows = [
            ("col_name", column.name),
            ("data_type", column.dataType.simpleString()),
            ("comment", column.metadata.get("comment", "NULL")),
        ]
        if self.plan.isExtended():
            rows += [(statistic, "NULL") for statistic in _STATISTICS]
        return session.createDataFrame(rows, "info_name string, info_value string")


def _nothing(session: SparkSession) -> DataFrame:
    """Return the answer to a command: no columns and no rows."""
    return session.createDataFrame([], StructType())


def swap(
    session: SparkSession,
    statement: Statement,
    reads: tuple[Read, ...],
    rows: Callable[[AcidRead], DataFrame],
    functions: Sequence[tuple[TableFunction, Callable[[], DataFrame]]] = (),
) -> SwappedStatement:
    """Return a statement that reads `rows` in place of its transactional tables.

    Args:
        session: the session that runs the statement.
        statement: the statement.
        reads: the reads of the statement, as `find_acid` returns them.
        rows: returns the rows of a table.
        functions: calls of our table functions, each with a function that returns the rows.

    Raises:
        RawAcidReferenceError: a view cannot be stored, or the statement takes a table's files.
        AcidTargetError: the statement changes the text of a stored view.
    """
    context = session.sparkContext
    tables = ", ".join(sorted({str(read.table) for read in tables_of(reads)}))
    if statement.kind == _CLONE and tables:
        raise RawAcidReferenceError(
            f"CLONE would copy the files of {tables} with deleted and uncommitted rows, and "
            "Spark would show them. So the statement was not run. Use CREATE TABLE … AS "
            "SELECT.",
            code="HIVEACID_CLONE_OF_TRANSACTIONAL_TABLE",
        )
    if statement.is_permanent_view:
        for function, _ in functions:
            _refuse_changes_in_view(function)
    with metadata_column_refused(tables):
        pairs = [(read.relation.node, _plan_of(session, read, rows)) for read in reads]
    pairs += [(function.node, plan_of(frame())) for function, frame in functions]
    if statement.kind == "AlterViewAs":
        raise AcidTargetError(
            f"ALTER VIEW … AS cannot store a view over transactional Hive tables ({tables}). Use "
            "CREATE OR REPLACE VIEW.",
            code="HIVEACID_ALTER_VIEW_OVER_TRANSACTIONAL_TABLE",
        )
    plan = statement.with_plans(context, pairs)
    if statement.is_permanent_view:
        _check_catalog(session, plan)
        plan = guarded(context, plan)
    elif statement.kind == "CreateViewCommand":
        # A temporary view with a text would read the text's tables again.
        none = java(context, "scala.Option").empty()
        plan = with_fields(context, plan, originalText=none)
    return SwappedStatement(statement, plan, tables)


@contextmanager
def metadata_column_refused(tables: str) -> Iterator[None]:
    """Explain the error of Spark that a transactional table has no column `_metadata`.

    Raises:
        UnreadableTableError: Spark's analysis in the block found no such column.
    """
    try:
        yield
    except AnalysisException as error:
        missing = (error.getMessageParameters() or {}).get("objectName", "")
        is_ours = tables and (condition(error) or "").startswith("UNRESOLVED_COLUMN")
        if not is_ours or _METADATA not in missing.lower().split("."):
            raise
        raise UnreadableTableError(
            f"The statement reads {missing.replace('`', '')}. A transactional Hive table "
            f"({tables}) does not have Spark's column `_metadata`: its rows may come from several "
            "scans. So the statement was not run. The function input_file_name() returns the file "
            "of a row, below joins and aggregates.",
            code="HIVEACID_METADATA_COLUMN",
        ) from error


def describe_table(session: SparkSession, statement: Statement, table: Table) -> SwappedStatement:
    """Return a statement that shows the columns of a table as the reader shows them.

    It takes no lock. Partition columns come last, and are repeated under Spark's heading.

    Raises:
        UnreadableTableError: a column's type or name cannot be read.
    """
    columns = table_columns(table)
    comments = {it.name: it.comment for it in (*table.storage.columns, *table.partition_keys)}
    keys = [(it.name, it.dataType.simpleString(), comments[it.name]) for it in columns.partition]
    rows: list[tuple[Any, ...]] = [
        (it.name, it.dataType.simpleString(), comments[it.name]) for it in columns.shown
    ]
    rows += keys
    if statement.kind == "ShowColumns":
        rows = [row[:1] for row in rows]
    elif keys:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), *keys]
    frame = session.createDataFrame(rows, _DESCRIBED[statement.kind])
    return SwappedStatement(statement, plan_of(frame))


def _refuse_changes_in_view(function: TableFunction) -> None:
    """Refuse a stored view that shows changes.

    Raises:
        RawAcidReferenceError: always.
    """
    raise RawAcidReferenceError(
        f"A stored view cannot call {function.name}(…): which changes it would show depends on who "
        "reads it. So the view was not made. Make a table, or call the function in the statement "
        "that reads the view.",
        code="HIVEACID_CHANGES_IN_STORED_VIEW",
    )


def _check_catalog(session: SparkSession, command: LogicalPlan) -> None:
    """Refuse to create a view in a catalog that is not Spark's own.

    Raises:
        RawAcidReferenceError: naming the view.
    """
    parts = [str(part) for part in each(command.child().nameParts())]
    manager = catalog_manager(session)
    is_named = len(parts) > 2 or (len(parts) > 1 and is_catalog(manager, parts[0]))
    catalog = parts[0] if is_named else current_catalog(manager)
    if catalog.lower() != SESSION_CATALOG:
        raise RawAcidReferenceError(
            f"{'.'.join(parts)} would be a view over transactional Hive tables in the catalog "
            f"{catalog}, where its text could not be guarded against other readers. Make the view "
            "in a schema of Spark's own catalog, or make a table.",
            code="HIVEACID_VIEW_IN_OTHER_CATALOG",
        )


def _plan_of(
    session: SparkSession, read: Read, rows: Callable[[AcidRead], DataFrame]
) -> LogicalPlan:
    context = session.sparkContext
    if isinstance(read, ViewRead):
        pairs = [(it.relation.node, _plan_of(session, it, rows)) for it in read.reads]
        return read.view.analyzed_with(session, read.statement.with_plans(context, pairs))
    table = read.table
    # In a case-sensitive session, columns are qualified by the table's name as written.
    case_sensitive = str(session.conf.get("spark.sql.caseSensitive")).lower() == "true"
    name = read.relation.parts[-1] if case_sensitive else table.table
    plan: LogicalPlan = named(context, plan_of(rows(read)), name, (SESSION_CATALOG, table.database))
    return plan
