"""Plain tables behind Hive views: values of `char` are read without trailing blanks.

Spark pads values of `char` with blanks as it reads them, or leaves the blanks that the file has.
Hive computes and compares without trailing blanks, and transactional tables are read without them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hiveacid.errors import UnreadableTableError
from hiveacid.formatting import quoted
from hiveacid.jvm.java_types import CatalogTable, LogicalPlan
from hiveacid.jvm.plans import execution_of, named
from hiveacid.metastore.models import TableName
from hiveacid.reader.types import TEXT_OF_LENGTH
from hiveacid.sql.catalog import SESSION_CATALOG
from hiveacid.sql.statement import Statement, parse

HiveTypes = list[tuple[str, str]]
"""Columns and their Hive types."""


@dataclass(frozen=True)
class CharTable:
    """A plain table with `char`, read in a session that evaluates as Hive does.

    Attributes:
        name: the table.
        statement: the query that reads the table without the blanks.
        nested: the first column that has `char` in an array, a map or a struct, with its type; None
            without one.
    """

    name: TableName
    statement: Statement = field(repr=False)
    session: SparkSession = field(repr=False)
    nested: tuple[str, str] | None = None

    def check(self) -> None:
        """Refuse a table with `char` in a nested column.

        Raises:
            UnreadableTableError: naming the column.
        """
        if self.nested is not None:
            column, type_ = self.nested
            raise UnreadableTableError(
                f"A Hive view reads {self.name}, which is not transactional, and whose column "
                f"{column} is {type_}. Hive computes with char without the blanks at its end, "
                "and Spark with them. So the view was not read. Put the query of the view "
                "into a model or a statement, in Spark's SQL.",
                code="HIVEACID_HIVE_VIEW_CHAR",
            )

    def analyzed_with(self, session: SparkSession, query: LogicalPlan) -> LogicalPlan:
        """Return the analysed plan of a query of the table, under the table's name."""
        context = session.sparkContext
        plan = execution_of(context, self.session._jsparkSession, query).analyzed()
        name = (SESSION_CATALOG, self.name.database)
        return LogicalPlan(named(context, plan, self.name.table, name))


def open_char_table(
    session: SparkSession, name: TableName, metadata: CatalogTable
) -> CharTable | None:
    """Return a table of Spark's catalog that has values of `char`; None for any other."""
    types = _types_of_hive(metadata)
    query = _without_blanks(name, types)
    if query is None:
        return None
    return CharTable(name, parse(session, query), session, _nested_char(types))


def _nested_char(types: HiveTypes) -> tuple[str, str] | None:
    """Return the first column with `char` in an array, a map or a struct, and its type."""
    return next((it for it in types if re.search(r"[<:,]char\(", it[1])), None)


def _without_blanks(name: TableName, types: HiveTypes) -> str | None:
    """Return a query that reads a table with these columns; None for one without `char`."""
    if not any("char(" in type_.replace("varchar(", "") for _, type_ in types):
        return None
    columns = ", ".join(
        f"rtrim({quoted(column)}) AS {quoted(column)}"
        if type_.startswith("char(")
        else quoted(column)
        for column, type_ in types
    )
    return f"SELECT {columns} FROM {quoted(SESSION_CATALOG, name.database, name.table)}"


def _types_of_hive(metadata: CatalogTable) -> HiveTypes:
    """Return the columns of a `CatalogTable` and their Hive types."""
    schema = StructType.fromJson(json.loads(metadata.schema().json()))
    return [
        (it.name, str(it.metadata.get(TEXT_OF_LENGTH, it.dataType.simpleString()))) for it in schema
    ]
