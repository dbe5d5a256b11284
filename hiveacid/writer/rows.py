"""Rows to write, in the columns and types of the table."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    ShortType,
    StructField,
    StructType,
    TimestampType,
)

from hiveacid.errors import UnwritableRowsError
from hiveacid.formatting import quoted
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
            _converted(columns.table, given[name], field).alias(field.name)
            for name, field in zip(names, wanted, strict=True)
        )
    )


def _converted(table: TableName, given: StructField, wanted: StructField) -> Column:
    column = F.col(quoted(given.name))
    if is_lossless(given.dataType, wanted.dataType):
        return column.cast(wanted.dataType)
    raise UnwritableRowsError(
        f"Column {given.name} of the rows for {table} has the type "
        f"{given.dataType.simpleString()}, and the table's column {wanted.dataType.simpleString()}."
        f" Convert it: cast({given.name} as {wanted.dataType.simpleString()}).",
        code="HIVEACID_WRITE_TYPE_DIFFERS",
    )


_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
"""Decimal digits of the integer types."""


def is_lossless(given: DataType, wanted: DataType) -> bool:
    """Whether a cast keeps every value of a type as it is.

    Fields of structs must have the same names in the same order: a cast goes by their positions.
    """
    if isinstance(given, StructType) and isinstance(wanted, StructType):
        return [it.name.lower() for it in given] == [it.name.lower() for it in wanted] and all(
            is_lossless(a.dataType, b.dataType) for a, b in zip(given, wanted, strict=True)
        )
    if isinstance(given, ArrayType) and isinstance(wanted, ArrayType):
        return is_lossless(given.elementType, wanted.elementType)
    if isinstance(given, MapType) and isinstance(wanted, MapType):
        # Two keys could become one by a conversion.
        return given.keyType == wanted.keyType and is_lossless(given.valueType, wanted.valueType)
    digits = _DIGITS.get(type(given))
    if isinstance(wanted, DecimalType) and isinstance(given, DecimalType):
        whole = wanted.precision - wanted.scale >= given.precision - given.scale
        return whole and wanted.scale >= given.scale
    if isinstance(wanted, DecimalType) and digits is not None:
        return wanted.precision - wanted.scale >= digits
    if digits is not None and type(wanted) in _DIGITS:
        return _DIGITS[type(wanted)] >= digits
    if isinstance(wanted, DoubleType):
        return isinstance(given, FloatType | DoubleType | NullType) or digits in (3, 5, 10)
    return given == wanted or isinstance(given, NullType)


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


def with_checked_dates(frame: DataFrame, fields: Sequence[StructField]) -> DataFrame:
    """Return the rows; a date or time before 1582-10-15 raises an error in the task.

    Hive 3 takes the days in ORC files for those of the Julian calendar.
    """
    first = F.lit("1582-10-15").cast("date")

    def checked(value: Column, of: DataType) -> Column:
        error = _error(
            value,
            "[HIVEACID_DATE_BEFORE_1582] ",
            "cannot be written: Hive 3 would show it by the Julian calendar.",
        )
        return F.when(value.cast("date") < first, error.cast(of)).otherwise(value)

    def column(field: StructField) -> Column:
        dates = change(F.col(quoted(field.name)), field.dataType, DateType, checked)
        return change(dates, field.dataType, TimestampType, checked).alias(field.name)

    return frame.select(*map(column, fields))


def _micros(time: Column) -> Column:
    """Return the microseconds since 1970."""
    return F.unix_micros(time)


def _error(value: Column, code: str, why: str) -> Column:
    """Return an expression that fails with an error about a time."""
    text = F.concat(F.lit(code), value.cast("string"), F.lit(f" {why}"))
    return F.raise_error(text).cast("timestamp")
