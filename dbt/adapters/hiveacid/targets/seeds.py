"""Rows of a seed, as one DataFrame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal

import agate
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr
from pyspark.sql.types import StringType, StructField, StructType

from dbt.adapters.hiveacid.spark.sql import checked_cast


def seed_rows(
    session: SparkSession,
    name: str,
    table: agate.Table,
    column_types: Mapping[str, str],
    default_type: Callable[[agate.Table, int], str | None],
) -> DataFrame:
    """Return the rows of a seed, with each column cast to its type.

    The columns are named `c0`, `c1`, …: a seed's column names may differ in case only, and then the
    target must be the one to refuse them. Reading a row fails if a value does not fit its column's
    type.

    Args:
        session: the session of the DataFrame.
        name: the seed's name, for the error.
        table: the seed as dbt has read it.
        column_types: the seed's `column_types`.
        default_type: returns the type of any other column, by its position in the table.
    """
    names = [f"c{place}" for place in range(len(table.column_names))]
    schema = StructType([StructField(column, StringType()) for column in names])
    rows = [[_text(value) for value in row] for row in table.rows]
    # One file; Spark would write one for each core.
    frame = session.createDataFrame(rows, schema).coalesce(1)
    casts = []
    for place, column in enumerate(table.column_names):
        type_ = column_types.get(column) or default_type(table, place) or "string"
        before = (
            f"[HIVEACID_INVALID_SEED_VALUE] Column {column} of seed {name} is {type_}, and "
            "has the value "
        )
        after = (
            ", which does not fit. Correct the value, or give the column another type in the "
            "seed's `column_types`."
        )
        casts.append(expr(checked_cast(names[place], type_, before, after)).alias(names[place]))
    return frame.select(*casts)


def _text(value: object) -> str | None:
    """Return a value as a string that Spark can cast."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat(sep=" ")
    if isinstance(value, Decimal):
        # Spark casts neither 1E+3 nor 1.0 to an integer.
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    return str(value)
