"""Projection of a DataFrame to named expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hiveacid.formatting import quoted
from hiveacid.jvm.bulk import bulk_of
from hiveacid.jvm.py4j import scala_seq

Expression = str | Column
"""SQL text, or a column where SQL text cannot express it."""

ColumnExpr = tuple[str, Expression]
"""Name of a column, and its expression."""

_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_COMPUTED = "__hiveacid_computed_"


def project(frame: DataFrame, shown: Iterable[ColumnExpr]) -> DataFrame:
    """Select the expressions under their names, in the given order.

    SQL texts go to Java in one call, so that thousands of columns cost little.
    """
    texts: list[str] = []
    computed: list[Column] = []
    for name, expression in shown:
        if isinstance(expression, Column):
            own = f"{_COMPUTED}{len(computed)}"
            computed.append(expression.alias(own))
            expression = own
        texts.append(f"{expression} AS {quoted(name)}")
    if computed:
        frame = frame.select("*", *computed)
    spark = frame.sparkSession
    expressions = scala_seq(spark.sparkContext, bulk_of(spark).texts_list(texts))
    return DataFrame(frame._jdf.selectExpr(expressions), spark)


def named(*parts: str) -> Expression:
    """Return a reference to a column, or to a field of a column.

    With `spark.sql.parser.quotedRegexColumnNames` (as in Hive), Spark reads quoted names that are
    not plain identifiers as regular expressions.
    """
    text = quoted(*parts)
    return text if all(map(_PLAIN.fullmatch, parts)) else F.col(text)


def as_column(expression: Expression) -> Column:
    """Return the expression as a column."""
    return F.expr(expression) if isinstance(expression, str) else expression
