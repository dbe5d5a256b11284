"""Columns of a Hive view, with the names and types that the metastore has."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import DataType, DecimalType, NullType

from hiveacid.jvm.java_types import LogicalPlan
from hiveacid.jvm.plans import dataframe_of, plan_of
from hiveacid.jvm.py4j import active
from hiveacid.metastore.models import Column
from hiveacid.reader.timestamps import has
from hiveacid.reader.types import INTEGER_BITS, UnionType, spark_type
from hiveacid.sql.hive_views.refusals import DiffersError


def as_declared(session: SparkSession, plan: LogicalPlan, columns: Iterable[Column]) -> LogicalPlan:
    """Return a plan with the declared names of a view's columns.

    The types are those of the query, as in Hive: if a column of a table became wider after the view
    was made, Hive shows the wider values, though the metastore has the previous type.

    Raises:
        DiffersError: with a column whose type shows that Hive evaluates it differently.
    """
    declared = list(columns)
    frame = dataframe_of(session, plan)
    found = [field.dataType for field in frame.schema]
    if len(found) != len(declared):
        raise DiffersError(
            "The columns", f"Hive has {len(declared)} of them, and Spark finds {len(found)}"
        )
    with active(session):
        numbered = frame.toDF(*[f"_{n}" for n in range(len(found))])
        shown = []
        for n, (column, type_) in enumerate(zip(declared, found, strict=True)):
            wanted = _type_of(column)
            value = sql_functions.col(f"_{n}")
            if _is_cast(type_, wanted):
                value = value.cast(wanted)
            elif not _is_same(type_, wanted) and not _is_wider(type_, wanted):
                raise DiffersError(
                    f"The column {column.name}",
                    f"it is {column.type} in Hive, and {type_.simpleString()} in Spark",
                )
            shown.append(value.alias(column.name))
        return LogicalPlan(plan_of(numbered.select(*shown)))


def _type_of(column: Column) -> DataType:
    if column.type == "void":
        return NullType()
    reason = f"Spark has no type for {column.type}"
    try:
        found = spark_type(column.type)
    except ValueError as error:
        raise DiffersError(f"The column {column.name}", reason) from error
    if has(found, UnionType):
        raise DiffersError(f"The column {column.name}", reason)
    return found


def _is_same(found: DataType, wanted: DataType) -> bool:
    return found.simpleString().lower() == wanted.simpleString().lower()


def _is_cast(found: DataType, wanted: DataType) -> bool:
    """Return whether a column must be cast to its declared type. The cast changes no value."""
    if isinstance(found, DecimalType) and isinstance(wanted, DecimalType):
        return found.scale == wanted.scale and found.precision < wanted.precision
    return isinstance(found, NullType)


def _is_wider(found: DataType, wanted: DataType) -> bool:
    if type(found) in INTEGER_BITS and type(wanted) in INTEGER_BITS:
        return INTEGER_BITS[type(found)] > INTEGER_BITS[type(wanted)]
    if isinstance(found, DecimalType) and isinstance(wanted, DecimalType):
        whole = wanted.precision - wanted.scale
        return found.scale >= wanted.scale and found.precision - found.scale >= whole
    return False
