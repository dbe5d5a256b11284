"""Text and types of Spark SQL: literals, casts, and timestamps in the session's time zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timezone

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from hiveacid.formatting import quoted, text_literal
from hiveacid.jvm.py4j import java
from hiveacid.reader.types import with_leaves


def text_of_bytes(digits: str) -> str:
    """Return SQL for the string whose bytes are given in hex digits.

    The SQL does not depend on settings of Spark's parser
    (`spark.sql.parser.escapedStringLiterals`).
    """
    return f"cast(X'{digits}' as string)"


def as_shown(frame: DataFrame) -> DataFrame:
    """Return the same rows with timestamps that are collected in the session's time zone."""
    fields = frame.schema.fields
    types = [with_leaves(field.dataType, _without_zone) for field in fields]
    if all(type_ == field.dataType for type_, field in zip(types, fields, strict=True)):
        return frame
    # By position: a query may have several columns of one name.
    places = [f"c{i}" for i in range(len(fields))]
    shown = [col(place).cast(type_) for place, type_ in zip(places, types, strict=True)]
    return frame.toDF(*places).select(*shown).toDF(*frame.columns)


def in_utc(session: SparkSession, shown: datetime) -> datetime:
    """Return the instant of a local time in the session's time zone."""
    (row,) = session.sql(f"select unix_micros(timestamp_ltz'{shown.isoformat(' ')}')").collect()
    seconds, micros = divmod(row[0], 1_000_000)
    return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=micros)


def _without_zone(type_: DataType) -> DataType:
    return TimestampNTZType() if isinstance(type_, TimestampType) else type_


@dataclass(frozen=True)
class TypeChange:
    """Column whose type differs between new rows (`given`) and their table (`stored`).

    `is_allowed`: an INSERT accepts the column (`spark.sql.storeAssignmentPolicy: ANSI`).
    `is_checked`: the INSERT fails for values that do not fit.
    """

    name: str
    given: str
    stored: str
    is_allowed: bool
    is_checked: bool

    def __str__(self) -> str:
        """Return `code (string, in the table int)`."""
        return f"{self.name} ({self.given}, in the table {self.stored})"


def type_changes(session: SparkSession, given: StructType, stored: StructType) -> list[TypeChange]:
    """Return the common columns whose types differ. CHAR and VARCHAR are treated as STRING."""
    by_name = {field.name.lower(): field.dataType for field in given.fields}
    differing = [
        (field.name, type_, field.dataType)
        for field in stored.fields
        if (type_ := by_name.get(field.name.lower())) is not None
        and type_.simpleString() != field.dataType.simpleString()
    ]
    found = []
    for name, type_, stored_type in differing:
        rules = java(session.sparkContext, "org.apache.spark.sql.catalyst.expressions.Cast")
        pair = [session._jsparkSession.parseDataType(t.json()) for t in (type_, stored_type)]
        is_safe = rules.canUpCast(*pair)
        # Inside of nested types, values that do not fit would become NULL.
        is_atomic = not any("<" in t.simpleString() for t in (type_, stored_type))
        is_allowed = is_safe or (is_atomic and rules.canANSIStoreAssign(*pair))
        # Spark casts struct fields by position: reordered fields would swap values.
        is_allowed = is_allowed and _has_fields_of(type_, stored_type)
        found.append(
            TypeChange(
                name,
                type_.simpleString(),
                stored_type.simpleString(),
                is_allowed=is_allowed,
                is_checked=is_allowed and not is_safe,
            )
        )
    return found


def sql_type(type_: DataType) -> str:
    """Return the full SQL of a type. DESCRIBE truncates long structs and omits quotes."""
    if isinstance(type_, StructType):
        fields = ", ".join(f"{quoted(field.name)}: {sql_type(field.dataType)}" for field in type_)
        return f"struct<{fields}>"
    if isinstance(type_, ArrayType):
        return f"array<{sql_type(type_.elementType)}>"
    if isinstance(type_, MapType):
        return f"map<{sql_type(type_.keyType)}, {sql_type(type_.valueType)}>"
    return type_.simpleString()


def _has_fields_of(given: DataType, stored: DataType) -> bool:
    """Return whether the structs in two types have the same field names, ignoring case."""
    if isinstance(given, StructType) and isinstance(stored, StructType):
        return len(given) == len(stored) and all(
            one.name.lower() == other.name.lower() and _has_fields_of(one.dataType, other.dataType)
            for one, other in zip(given, stored, strict=True)
        )
    if isinstance(given, ArrayType) and isinstance(stored, ArrayType):
        return _has_fields_of(given.elementType, stored.elementType)
    if isinstance(given, MapType) and isinstance(stored, MapType):
        return _has_fields_of(given.keyType, stored.keyType) and _has_fields_of(
            given.valueType, stored.valueType
        )
    return True


def checked_cast(value: str, type_: str, before: str, after: str) -> str:
    """Return SQL that casts a value, and fails if the value does not fit.

    The error message is `before`, the value and `after`. Sessions are not in ANSI mode, where a
    plain cast would turn the value into NULL or into another number.
    """
    return (
        f"case when {value} is null or try_cast({value} as {type_}) is not null "
        f"then try_cast({value} as {type_}) "
        f"else raise_error(concat({text_literal(before)}, {value}, {text_literal(after)})) end"
    )
