"""Projection of a DataFrame to expressions under given names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hiveacid.formatting import quoted
from hiveacid.jvm.bulk import bulk_of
from hiveacid.jvm.py4j import scala_seq

Expression = str | Column
"""Text of SQL, where a text is enough, or a column."""

ColumnExpr = tuple[str, Expression]
"""Name of a column, and the expression that it shows."""

_PLAIN = re.compile(r"[A-Za-z0-9_]+")
_COMPUTED = "__hiveacid_computed_"


def project(frame: DataFrame, shown: Iterable[ColumnExpr]) -> DataFrame:
    """Select the expressions under their names, in the given order.

    Texts go to Java in one call, so that thousands of columns cost little.
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
    """Return the column of a name, or the field of a column.

    With `spark.sql.parser.quotedRegexColumnNames` (as in Hive), a session treats quoted names that
    are not plain as patterns.
    """
    text = quoted(*parts)
    return text if all(map(_PLAIN.fullmatch, parts)) else F.col(text)


def as_column(expression: Expression) -> Column:
    """Return the expression as a column."""
    return F.expr(expression) if isinstance(expression, str) else expression
