"""DESCRIBE and SHOW COLUMNS of transactional tables that Spark's own catalog does not have."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from hiveacid.jvm.plans import plan_of
from hiveacid.metastore.models import Table
from hiveacid.reader.columns import table_columns
from hiveacid.sql.statement import Statement
from hiveacid.sql.swap import SwappedStatement

_SCHEMAS = {
    "DescribeRelation": "col_name string, data_type string, comment string",
    "ShowColumns": "col_name string",
}


def describe_table(session: SparkSession, statement: Statement, table: Table) -> SwappedStatement:
    """Return a statement that shows the columns of a table as the reader shows them.

    It takes no lock. Partition columns come last, and once more under Spark's heading.

    Raises:
        UnreadableTableError: a column's type or name cannot be read.
    """
    columns = table_columns(table)
    comments = {it.name: it.comment for it in (*table.storage.columns, *table.partition_keys)}
    keys = [(it.name, it.dataType.simpleString(), comments[it.name]) for it in columns.partition]
    rows: list[tuple[Any, ...]] = [
        (it.name, it.dataType.simpleString(), comments[it.name]) for it in columns.data
    ]
    rows += keys
    if statement.kind == "ShowColumns":
        rows = [row[:1] for row in rows]
    elif keys:
        rows += [("# Partition Information", "", ""), ("# col_name", "data_type", "comment"), *keys]
    frame = session.createDataFrame(rows, _SCHEMAS[statement.kind])
    return SwappedStatement(statement, plan_of(frame))
