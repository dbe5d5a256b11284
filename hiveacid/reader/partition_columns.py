"""Columns of partitions that differ from the table's columns, and their conversion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    MapType,
    StringType,
    StructType,
    TimestampType,
    VarcharType,
)

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.reader.columns import TableColumns, column_field, short, try_cast
from hiveacid.reader.projection import ColumnExpr, Expression, as_column
from hiveacid.reader.types import INTEGER_BITS, UnionType, has_length, spark_type, with_leaves

_NESTED = (ArrayType, MapType, StructType)
_LENGTHS = (CharType, VarcharType)
_TEXTS = (StringType, *_LENGTHS)


def partition_columns(columns: TableColumns, storage: StorageDescriptor) -> TableColumns:
    """Return the columns of one partition.

    A partition keeps the columns that it was created with, unless a change of the table has
    CASCADE. Hive reads formats without a schema in the file by the partition's columns, and
    converts the values to the table's types.

    Raises:
        UnreadableTableError: a column's type cannot be read.
    """
    types = tuple(column.type for column in storage.columns)
    fields = [column_field(columns.table, column) for column in storage.columns]
    return replace(columns, data=StructType(fields), data_types=types)


def parquet_partition_columns(columns: TableColumns, storage: StorageDescriptor) -> TableColumns:
    """Return the columns that Hive reads from the Parquet files of one partition.

    Hive uses the *table's* names and types, but shows only as many columns as the partition has.
    The length of texts, and the precision and scale of decimals, are limited by the partition's
    types (`ProjectionPusher`, `ParquetHiveSerDe`).
    """
    count = len(storage.columns)
    types = []
    for field, hive_type, own in zip(
        columns.data, columns.data_types, storage.columns, strict=False
    ):
        is_text = has_length(own.type) and field.dataType == StringType()
        is_decimal = own.type.startswith("decimal") and isinstance(field.dataType, DecimalType)
        types.append(own.type if is_text or is_decimal else hive_type)
    return replace(columns, data=StructType(columns.data.fields[:count]), data_types=tuple(types))


def as_in_table(
    data: Sequence[ColumnExpr], own: TableColumns, columns: TableColumns, partition: str
) -> list[ColumnExpr]:
    """Convert a partition's data columns to the table's, by position (`partition_columns`).

    `partition` is the name of a partition that has the columns `own`.

    Raises:
        UnreadableTableError: a column cannot be converted to the table's type as Hive does it.
    """
    if own == columns:
        return list(data)
    shown: list[ColumnExpr] = []
    for i, (field, hive_type) in enumerate(zip(columns.data, columns.data_types, strict=True)):
        if i >= len(data):
            value: Expression = F.lit(None).cast(field.dataType)
        elif own.data_types[i] == hive_type:
            value = data[i][1]
        else:
            types = [spark_type(name, with_lengths=True) for name in (own.data_types[i], hive_type)]
            try:
                value = _as_type(as_column(data[i][1]), *types)
            except ValueError as error:
                raise UnreadableTableError(
                    f"{columns.table}: partition {partition} has column {field.name} as "
                    f"{own.data_types[i]}, and the table as {hive_type}: {error}. Give the "
                    "partition the table's column (ALTER TABLE … PARTITION (…) CHANGE COLUMN), or "
                    "let Hive write its rows again.",
                    code="HIVEACID_PARTITION_COLUMN_DIFFERS",
                ) from error
        shown.append((field.name, value))
    return shown


def _as_type(column: Column, old: DataType, new: DataType) -> Column:
    """Convert a value to another type as Hive's `ObjectInspectorConverters` do, at any depth.

    The fields of structs are matched by position. Missing fields are NULL.

    Raises:
        ValueError: Hive fails on the conversion, or its result has no equivalent in Spark; the
            message says which.
    """
    if old == new:
        return column
    if isinstance(old, UnionType) or isinstance(new, UnionType):
        raise ValueError("Hive converts the members of a uniontype one by one")
    if isinstance(old, StructType) and isinstance(new, StructType):
        fields = []
        for i, field in enumerate(new):
            if i < len(old):
                value = _as_type(column.getField(old[i].name), old[i].dataType, field.dataType)
            else:
                value = F.lit(None).cast(_without_lengths(field.dataType))
            fields.append(value.alias(field.name))
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        pair = old.elementType, new.elementType
        return F.transform(column, lambda element: _as_type(element, *pair))
    if isinstance(old, MapType) and isinstance(new, MapType):
        keys, values = (old.keyType, new.keyType), (old.valueType, new.valueType)
        column = F.transform_values(column, lambda _, value: _as_type(value, *values))
        return F.transform_keys(column, lambda key, _: _as_type(key, *keys))
    if isinstance(old, _NESTED) or isinstance(new, _NESTED):
        raise ValueError("Hive converts no array, map or struct to another kind of value")
    if isinstance(old, TimestampType) and isinstance(new, _TEXTS):
        raise ValueError("Hive's text has nanoseconds, which Spark's timestamps do not have")
    if isinstance(old, IntegralType) and isinstance(new, IntegralType):
        if INTEGER_BITS[type(new)] < INTEGER_BITS[type(old)]:
            column = _low_bits(column, INTEGER_BITS[type(new)])
    elif not _is_cast_alike(old, new):
        raise ValueError("Hive converts such values differently from Spark")
    if isinstance(new, FloatType):
        # Hive rounds twice (`PrimitiveObjectInspectorUtils.getFloat`).
        column = try_cast(column, DoubleType())
    value = try_cast(column, _without_lengths(new))
    if isinstance(old, BooleanType) and isinstance(new, _TEXTS):
        value = F.upper(value)
    return short(value, new) if isinstance(new, _LENGTHS) else value


def _is_cast_alike(old: DataType, new: DataType) -> bool:
    """Return whether Spark's `try_cast` equals Hive's converters (tried with Hive's classes).

    They differ for fractions that become integers, and for texts that become numbers, booleans or
    times. Bytes become a `char` through UTF-8, in which some bytes are invalid.
    """
    if isinstance(new, _TEXTS):
        return not (isinstance(old, BinaryType) and isinstance(new, _LENGTHS))
    if isinstance(old, BooleanType):
        return isinstance(new, IntegerType)
    if isinstance(old, IntegralType):
        return isinstance(new, (FloatType, DoubleType, DecimalType))
    if isinstance(old, DecimalType):
        return isinstance(new, (DecimalType, DoubleType, FloatType, LongType))
    return isinstance(old, FloatType) and isinstance(new, DoubleType)


def _low_bits(column: Column, bits: int) -> Column:
    """Return the lowest bits of an integer, as Java casts it.

    Spark's `cast` does the same only without ANSI mode.
    """
    above = 64 - bits
    return F.shiftright(F.shiftleft(column.cast(LongType()), above), above)


def _without_lengths(data_type: DataType) -> DataType:
    return with_leaves(data_type, lambda t: StringType() if isinstance(t, _LENGTHS) else t)
