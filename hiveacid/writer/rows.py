"""Rows to write, in the columns and types of the table."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField, TimestampType

from hiveacid.errors import UnwritableRowsError
from hiveacid.formatting import quoted
from hiveacid.jvm.py4j import java
from hiveacid.metastore.models import TableName
from hiveacid.reader.columns import TableColumns
from hiveacid.reader.timestamps import change

_JVM_ZONE = "java_method('java.time.ZoneId', 'systemDefault')"
"""Time zone of the JVM that evaluates the expression: the one that writes the file."""


def fit(frame: DataFrame, columns: TableColumns) -> DataFrame:
    """Return a DataFrame with the columns of the table, in its order and with its types.

    Columns are matched by name, in any case. A value may be converted only where no value can be
    lost, as int to bigint.

    Raises:
        UnwritableRowsError: a column is missing, superfluous or of another type.
    """
    given = {field.name.lower(): field for field in frame.schema}
    wanted = [*columns.data, *columns.partition]
    names = [field.name.lower() for field in wanted]
    if len(given) < len(frame.columns) or set(given) != set(names):
        raise UnwritableRowsError(
            f"The rows for {columns.table} have the columns {', '.join(frame.columns)}, and the "
            f"table has {', '.join(names)}. Select the table's columns, each once.",
            code="HIVEACID_WRITE_COLUMNS_DIFFER",
        )
    return frame.select(
        *(
            _converted(frame, columns.table, given[name], field).alias(field.name)
            for name, field in zip(names, wanted, strict=True)
        )
    )


def _converted(
    frame: DataFrame, table: TableName, given: StructField, wanted: StructField
) -> Column:
    column = F.col(quoted(given.name))
    if _can_be_converted(frame, given.dataType, wanted.dataType):
        return column.cast(wanted.dataType)
    raise UnwritableRowsError(
        f"Column {given.name} of the rows for {table} has the type "
        f"{given.dataType.simpleString()}, and the table's column {wanted.dataType.simpleString()}."
        f" Convert it: cast({given.name} as {wanted.dataType.simpleString()}).",
        code="HIVEACID_WRITE_TYPE_DIFFERS",
    )


def _can_be_converted(frame: DataFrame, given: DataType, wanted: DataType) -> bool:
    """Whether Spark converts every value without loss (`Cast.canUpCast`)."""
    context = frame.sparkSession.sparkContext
    types = java(context, "org.apache.spark.sql.types.DataType")
    cast = java(context, "org.apache.spark.sql.catalyst.expressions.Cast")
    return bool(cast.canUpCast(types.fromJson(given.json()), types.fromJson(wanted.json())))


def on_hives_clock(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """Return the rows with timestamps that Hive shows as the session shows them.

    An ORC file holds the wall clock of the JVM that writes it, and Hive shows that wall clock. A
    time that this clock skips raises an error in the task.
    """
    zone = frame.sparkSession.conf.get("spark.sql.session.timeZone")

    def shown(value: Column, _: DataType) -> Column:
        jvm = F.expr(_JVM_ZONE)
        wall = F.from_utc_timestamp(value, F.lit(zone))
        moved = F.to_utc_timestamp(wall, jvm)
        skipped = _error(
            value,
            "[HIVEACID_TIME_NOT_IN_ZONE] ",
            "cannot be written: the clock of Java's time zone skips it. Start Spark's Java with "
            f"-Duser.timezone={zone}.",
        )
        shifted = _error(
            value,
            "[HIVEACID_TIME_BEFORE_1970] ",
            "cannot be written: ORC's writer moves fractions of the last second before 1970 by a "
            "second. Truncate it to seconds.",
        )
        in_last_second = (_micros(wall).between(-999_999, -1)) | (
            _micros(moved).between(-999_999, -1)
        )
        return (
            F.when(value.isNull(), value)
            .when(in_last_second, shifted)
            .when(jvm == F.lit(zone), value)
            .when(F.from_utc_timestamp(moved, jvm) == wall, moved)
            .otherwise(skipped)
        )

    return frame.select(
        *(
            change(F.col(quoted(field.name)), field.dataType, TimestampType, shown).alias(
                field.name
            )
            for field in fields
        )
    )


def _micros(time: Column) -> Column:
    """Return the microseconds since 1970."""
    return F.unix_micros(time)


def _error(value: Column, code: str, why: str) -> Column:
    """Return an expression that fails with an error about a time."""
    text = F.concat(F.lit(code), value.cast("string"), F.lit(f" {why}"))
    return F.raise_error(text).cast("timestamp")
