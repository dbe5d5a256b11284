"""Columns of a table as Spark expressions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyspark
from pyspark import SparkContext
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    CharType,
    DataType,
    DoubleType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.py4j import java
from hiveacid.metastore import models
from hiveacid.metastore.models import Partition, Table, TableName, partition_name
from hiveacid.reader.projection import ColumnExpr, Expression, as_column, named
from hiveacid.reader.timestamps import WallClock, change, has
from hiveacid.reader.types import is_value, spark_type

_SQL = "org.apache.spark.sql"
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The partition value that stands for NULL."""

_NOT_FILTERED = (FloatType, DoubleType, StringType, TimestampType)
"""The types by which ORC passes over rows that Spark's own filter would keep: it puts -0.0 below
0.0, takes a timestamp with microseconds or before 1582-10-15 for another one, and compares texts in
the order of UTF-16, which is not that of its statistics (seen)."""

RESERVED_PREFIX = "__hiveacid_"
"""How the names of the columns that the reader adds on the way begin."""


@dataclass(frozen=True)
class TableColumns:
    """Names and types: `data` are in the files, `partition` come from the metastore.

    `data_types` and `partition_types` are Hive's names of the types.
    """

    table: TableName
    data: StructType
    partition: StructType
    data_types: tuple[str, ...]
    partition_types: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """All columns in the order of the table."""
        return self.data.names + self.partition.names


def table_columns(table: Table) -> TableColumns:
    """The columns of a table.

    Raises:
        UnreadableTableError: a column's type or name cannot be read, or Hive hides the
            table's partitions.
    """
    for column in (*table.storage.columns, *table.partition_keys):
        if column.name.lower().startswith(RESERVED_PREFIX):
            raise UnreadableTableError(
                f"{table.name}: the name of column {column.name} begins with {RESERVED_PREFIX}, "
                "as the reader's own columns do. Rename it in Hive (ALTER TABLE … CHANGE COLUMN)."
            )
    for key in table.partition_keys:
        if key.name.startswith("_"):
            raise UnreadableTableError(
                f"{table.name} is partitioned by {key.name}. Hive hides directories whose names "
                "begin with an underscore, so it shows none of the rows. Create the table anew "
                "with another name for the column, and write the rows again."
            )
    return TableColumns(
        table.name,
        StructType([column_field(table.name, column) for column in table.storage.columns]),
        StructType([column_field(table.name, column) for column in table.partition_keys]),
        tuple(column.type for column in table.storage.columns),
        tuple(column.type for column in table.partition_keys),
    )


def column_field(table: TableName, column: models.Column) -> StructField:
    """A column with its Spark type. Raises UnreadableTableError if that cannot be read."""
    try:
        return StructField(column.name, spark_type(column.type))
    except ValueError as error:
        raise UnreadableTableError(
            f"{table}: column {column.name} ({column.type}) cannot be read: {error}. Let Hive copy "
            "the table with another type for it, or without it, and read the copy."
        ) from error


def partition_values(
    number: Column, partitions: Sequence[Partition], columns: TableColumns
) -> list[ColumnExpr]:
    """The partition columns of a row in partition `number` (counted in `partitions`).

    Raises:
        UnreadableTableError: a partition's value is none of its column's type.
    """
    selected: list[ColumnExpr] = []
    for i, field in enumerate(columns.partition.fields):
        hive_type = columns.partition_types[i]
        values = [kept_value(partition.values[i], hive_type) for partition in partitions]
        wrong = {v for v in set(values) if v is not None and not is_value(v, field.dataType)}
        if wrong:
            first = next(p for p, value in zip(partitions, values, strict=True) if value in wrong)
            name = partition_name(columns.partition.names, first.values)
            raise UnreadableTableError(
                f"{columns.table}: the value of partition {name} is no {hive_type}, which its "
                f"column {field.name} is now. Hive shows another one or NULL. Write its rows to a "
                "partition with a value of that type and drop it, or give the column its former "
                "type back (ALTER TABLE … PARTITION COLUMN)."
            )
        value = _value(number, values, field.dataType)
        selected.append((field.name, value))
    return selected


def kept_value(value: str, hive_type: str) -> str | None:
    """What Hive shows of a partition value: the metastore may have a longer one.

    It pads those of a `char`, and keeps those of a column that became a shorter one as they were.
    """
    if value == NULL_PARTITION:
        return None
    own = spark_type(hive_type, with_lengths=True)
    if isinstance(own, CharType):
        return value[: own.length].rstrip(" ")
    return value[: own.length] if isinstance(own, VarcharType) else value


def _value(number: Column, values: Sequence[str | None], data_type: DataType) -> Column:
    """The value of one partition column; the array is a constant once Spark has folded it."""
    json_values = json.dumps(values)
    strings = F.from_json(F.lit(json_values), "array<string>")
    return F.get(strings.cast(f"array<{data_type.simpleString()}>"), number)


def raw_column(field: StructField) -> Expression:
    """The column of an ORC file without ACID columns.

    Spark itself hands ORC the filters on it, also those on the fields of a struct, unless it has a
    type by which that would lose rows.
    """
    column = named(field.name)
    if not has(field.dataType, _NOT_FILTERED):
        return column
    # Filters on an expression are not pushed down, and Spark does not see through this one.
    return F.coalesce(as_column(column), as_column(column))


def orc_columns(
    columns: TableColumns,
    present: Sequence[Expression],
    clock: WallClock,
    converted: Sequence[int] = (),
) -> list[ColumnExpr]:
    """The table's data columns from those of an ORC file, which go by position, as in Hive.

    `present` are the file's own. The table may have more: they were added after the file was
    written, and are NULL. Those at the positions `converted` have another type in the file.
    """
    shown: list[ColumnExpr] = []
    for i, (field, hive_type) in enumerate(zip(columns.data, columns.data_types, strict=True)):
        if i >= len(present):
            value: Expression = F.lit(None).cast(field.dataType)
        else:
            value = present[i]
            if i in converted:
                value = _converted(as_column(value), hive_type)
            if clock.moves(field.dataType):
                value = clock.show(as_column(value), field.dataType)
        shown.append((field.name, value))
    return shown


def _converted(column: Column, hive_type: str) -> Column:
    """A column that ORC's library converts from the file's type to the table's.

    Filters on it are kept from the reader, which would compare the file's values with a literal of
    the table's type: it fails on an integer that became a string, and passes over rows where an
    integer that became a double is compared with 0.5.
    """
    if hive_type == "string":
        return F.concat(column, F.lit(""))
    if hive_type in ("float", "double") or hive_type.startswith("decimal"):
        return F.negate(F.negate(column))
    return within_length(column, hive_type)


def within_length(column: Column, hive_type: str) -> Column:
    """A column whose texts are as `char(n)` and `varchar(n)` keep them, however deep.

    The file may have longer ones. `char` values come without the blanks that pad them, as Hive
    compares them.
    """

    return change(column, spark_type(hive_type, with_lengths=True), (CharType, VarcharType), short)


def short(text: Column, of: DataType) -> Column:
    """A text as a `char(n)` or `varchar(n)` keeps it."""
    assert isinstance(of, CharType | VarcharType)
    short = F.substring(text, 1, of.length)
    return F.rtrim(short) if isinstance(of, CharType) else short


def try_cast(value: Column, data_type: DataType) -> Column:
    """A value of another type, NULL where there is none."""
    # Not by `hasattr`: a column of PySpark 3.5 has every attribute, as a field of its struct.
    if not pyspark.__version__.startswith("3."):
        return value.try_cast(data_type)
    # PySpark 3.5 lacks the method, Spark 3.5 has the expression.
    context = SparkContext._active_spark_context
    assert context is not None
    catalyst = f"{_SQL}.catalyst.expressions"
    cast = java(context, f"{catalyst}.Cast")(
        value._jc.expr(),  # type: ignore[operator]
        java(context, f"{_SQL}.types.DataType").fromJson(data_type.json()),
        java(context, "scala.Option").empty(),
        java(context, f"{catalyst}.EvalMode").TRY(),
    )
    return Column(java(context, f"{_SQL}.Column")(cast))
