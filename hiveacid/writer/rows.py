"""Rows to write, in the columns and types of the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
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
    VarcharType,
)

from hiveacid.errors import UnwritableRowsError
from hiveacid.formatting import quoted
from hiveacid.metastore.models import TableName
from hiveacid.reader.columns import TableColumns
from hiveacid.reader.timestamps import change
from hiveacid.reader.types import spark_type

_JVM_ZONE = "java_method('java.time.ZoneId', 'systemDefault')"
"""Time zone of the JVM that evaluates the expression: the one that writes the file."""


def fit(frame: DataFrame, columns: TableColumns) -> DataFrame:
    """Return a DataFrame with the columns of the table, in its order and with its types.

    Columns are matched by name, in any case. A value may be converted only where no value can be
    lost, as int to bigint. A value of CHAR has no blanks at its end, and a value that is too long
    for CHAR or VARCHAR is an error in the task.

    Raises:
        UnwritableRowsError: a column is missing, superfluous or of another type.
    """
    given = {field.name.lower(): field for field in frame.schema}
    wanted = [*columns.data, *columns.partition]
    types = [*columns.data_types, *columns.partition_types]
    names = [field.name.lower() for field in wanted]
    if len(given) < len(frame.columns) or set(given) != set(names):
        raise UnwritableRowsError(
            f"The rows for {columns.table} have the columns {', '.join(frame.columns)}, and the "
            f"table has {', '.join(names)}. Select the table's columns, each once.",
            code="HIVEACID_WRITE_COLUMNS_DIFFER",
        )
    return frame.select(
        *(
            _fitting(
                columns.table, field, type_, _converted(columns.table, given[name], field)
            ).alias(field.name)
            for name, field, type_ in zip(names, wanted, types, strict=True)
        )
    )


def fit_source(frame: DataFrame, columns: TableColumns, *, complete: bool) -> DataFrame:
    """Return the rows of a MERGE's source with the types of the table's columns.

    A CHAR has no blanks at its end, as the table's own: else equal keys would not match.

    Columns that the table does not have stay: conditions may use them.

    Args:
        frame: the rows.
        columns: the columns of the table.
        complete: whether all columns of the table are needed.

    Raises:
        UnwritableRowsError: a column is missing, given twice or of another type.
    """
    wanted = {field.name.lower(): field for field in [*columns.data, *columns.partition]}
    types = dict(zip(wanted, [*columns.data_types, *columns.partition_types], strict=True))
    given = [name.lower() for name in frame.columns]
    if len(set(given)) < len(given) or (complete and not wanted.keys() <= set(given)):
        raise UnwritableRowsError(
            f"The rows to merge into {columns.table} have the columns {', '.join(frame.columns)}, "
            f"and the table has {', '.join(wanted)}. Select the table's columns, each once.",
            code="HIVEACID_WRITE_COLUMNS_DIFFER",
        )
    return frame.select(
        *(
            _fitting(
                columns.table,
                own,
                types[field.name.lower()],
                _converted(columns.table, field, own),
            ).alias(own.name)
            if (own := wanted.get(field.name.lower()))
            else F.col(quoted(field.name))
            for field in frame.schema
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


def _fitting(table: TableName, field: StructField, hive_type: str, value: Column) -> Column:
    """Return values of CHAR without blanks at their ends; those that are too long are errors."""

    def fitting(text: Column, of: DataType) -> Column:
        assert isinstance(of, CharType | VarcharType)
        kept = F.rtrim(text) if isinstance(of, CharType) else text
        too_long = F.concat(
            F.lit("[HIVEACID_VALUE_TOO_LONG] "),
            kept,
            F.lit(
                f" is too long for {of.typeName()}({of.length}): column {field.name} of {table}. "
                "Cut it with left(), or widen the column in Hive (ALTER TABLE … CHANGE)."
            ),
        )
        error = F.raise_error(too_long).cast("string")
        return F.when(F.length(kept) > of.length, error).otherwise(kept)

    return change(value, spark_type(hive_type, True), (CharType, VarcharType), fitting)


def named_as_hive(frame: DataFrame, columns: TableColumns) -> DataFrame:
    """Return rows whose values of partition columns make the directories that Hive makes.

    Hive pads CHAR there. It takes NULL for true in a BOOLEAN, so that is an error in the task.
    """
    types = dict(zip(columns.partition.names, columns.partition_types, strict=True))

    def named(name: str) -> Column:
        value, hive_type = F.col(quoted(name)), types.get(name, "")
        if hive_type.startswith("char("):
            value = F.rpad(value, int(hive_type[5:-1]), " ")
        elif hive_type == "boolean":
            null = (
                f"[HIVEACID_NULL_BOOLEAN_PARTITION] The partition column {name} of {columns.table} "
                "is NULL in a row, and Hive would show true. Replace NULL by a value."
            )
            value = F.coalesce(value, F.raise_error(F.lit(null)).cast("boolean"))
        return value.alias(name)

    return frame.select(*map(named, frame.columns))


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

    return _with_times(frame, fields, shown)


def _with_times(
    frame: DataFrame, fields: Sequence[StructField], how: Callable[[Column, DataType], Column]
) -> DataFrame:
    """Change the timestamps in some columns, at any depth; the other columns stay."""
    types = {field.name: field.dataType for field in fields}
    return frame.select(
        *(
            change(F.col(quoted(name)), types[name], TimestampType, how).alias(name)
            if name in types
            else F.col(quoted(name))
            for name in frame.columns
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
