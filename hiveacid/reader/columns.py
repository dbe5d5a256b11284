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
    StructField,
    StructType,
    VarcharType,
)

from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.py4j import java
from hiveacid.metastore import models
from hiveacid.metastore.models import Partition, Table, TableName, partition_name
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.timestamps import change, has
from hiveacid.reader.types import (
    UnionType,
    is_shown_as_null,
    is_value,
    spark_type,
    with_lower_names,
)
from hiveacid.spark_versions import version_of

_SQL = "org.apache.spark.sql"
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""Partition value that stands for NULL."""

_SERDE2 = "org.apache.hadoop.hive.serde2"
_LOWER_NAMES = frozenset(
    {
        f"{_SERDE2}.JsonSerDe",
        f"{_SERDE2}.avro.AvroSerDe",
        f"{_SERDE2}.columnar.ColumnarSerDe",
        f"{_SERDE2}.columnar.LazyBinaryColumnarSerDe",
        f"{_SERDE2}.lazy.LazySimpleSerDe",
        f"{_SERDE2}.lazybinary.LazyBinarySerDe",
    }
)
"""SerDes that show the names of struct fields in lower case. ORC and Parquet keep the case."""

RESERVED_PREFIX = "__hiveacid_"
"""Prefix of the internal columns that the reader adds."""


@dataclass(frozen=True)
class TableColumns:
    """Names and types of a table's columns.

    The columns of `data` are in the files, the values of `partition` come from the metastore.
    `data_types` and `partition_types` are Hive's names of the types. With `lower_names`, Hive shows
    the names of struct fields in lower case, and files have them as in `data`.
    """

    table: TableName
    data: StructType
    partition: StructType
    data_types: tuple[str, ...]
    partition_types: tuple[str, ...]
    lower_names: bool = False

    @property
    def names(self) -> list[str]:
        """Names of all columns, in the order of the table."""
        return self.data.names + self.partition.names

    @property
    def shown(self) -> StructType:
        """The columns of `data` with the names of struct fields that Hive shows."""
        if not self.lower_names:
            return self.data
        return StructType(
            [StructField(it.name, with_lower_names(it.dataType), it.nullable) for it in self.data]
        )


def table_columns(table: Table) -> TableColumns:
    """Return the columns of a table.

    Raises:
        UnreadableTableError: a column's type or name cannot be read, or Hive hides the
            table's partitions.
    """
    for column in (*table.storage.columns, *table.partition_keys):
        if column.name.lower().startswith(RESERVED_PREFIX):
            raise UnreadableTableError(
                f"Column {column.name} of {table.name} begins with {RESERVED_PREFIX}, which "
                "is reserved for the reader's own columns. Rename it in Hive (ALTER TABLE … "
                "CHANGE COLUMN).",
                code="HIVEACID_RESERVED_COLUMN_NAME",
            )
    for key in table.partition_keys:
        if key.name.startswith("_"):
            raise UnreadableTableError(
                f"{table.name} is partitioned by {key.name}. Hive hides directories whose names "
                "begin with an underscore, so it shows none of the rows. Create the table again "
                "with another name for the column, and write the rows again.",
                code="HIVEACID_HIDDEN_PARTITION_COLUMN",
            )
    return TableColumns(
        table.name,
        StructType([column_field(table.name, column) for column in table.storage.columns]),
        StructType([column_field(table.name, column) for column in table.partition_keys]),
        tuple(column.type for column in table.storage.columns),
        tuple(column.type for column in table.partition_keys),
        table.storage.serde in _LOWER_NAMES,
    )


def column_field(table: TableName, column: models.Column) -> StructField:
    """Return a column with its Spark type. Raises UnreadableTableError without such a type."""
    try:
        return StructField(column.name, spark_type(column.type))
    except ValueError as error:
        if "timestamp with local time zone" in column.type.lower():
            raise UnreadableTableError(
                f"{table}: column {column.name} ({column.type}) cannot be read: {error}. Hive "
                "4 writes such a column to ORC, and then cannot read any column of the table. "
                "Write the table again with another type for the column.",
                code="HIVEACID_UNSUPPORTED_COLUMN_TYPE",
            ) from error
        raise UnreadableTableError(
            f"{table}: column {column.name} ({column.type}) cannot be read: {error}. Let Hive copy "
            "the table with another type for it, or without it, and read the copy.",
            code="HIVEACID_UNSUPPORTED_COLUMN_TYPE",
        ) from error


def refuse_unions(columns: TableColumns, why: str) -> None:
    """Refuse a table with a `uniontype` at any depth of its columns, and say `why`.

    Raises:
        UnreadableTableError: naming the column.
    """
    for field, hive_type in zip(columns.data, columns.data_types, strict=True):
        if has(field.dataType, UnionType):
            raise UnreadableTableError(
                f"{columns.table}: column {field.name} ({hive_type}) cannot be read: {why}. Let "
                "Hive copy the table to one stored as Avro or text, or without the column.",
                code="HIVEACID_UNSUPPORTED_COLUMN_TYPE",
            )


def refuse_unions_in_orc(columns: TableColumns) -> None:
    """Refuse an ORC table with a `uniontype`.

    Spark's reader parses the types of all columns of a file (`OrcUtils.toCatalystSchema`). ORC
    converts a union to no other type, and Spark has no column vector for a union.

    Raises:
        UnreadableTableError: naming the column.
    """
    refuse_unions(
        columns,
        "Spark's ORC reader does not support uniontype, and fails on every column of a file "
        "with one. Hive shows it",
    )


def partition_values(
    number: Column, partitions: Sequence[Partition], columns: TableColumns
) -> list[ColumnExpr]:
    """Return the partition columns of a row in partition `number` (counted in `partitions`).

    Raises:
        UnreadableTableError: a partition's value is not of its column's type.
    """
    selected: list[ColumnExpr] = []
    for i, field in enumerate(columns.partition.fields):
        hive_type = columns.partition_types[i]
        values = [
            None if value is None or is_shown_as_null(value, field.dataType) else value
            for value in (kept_value(p.values[i], hive_type) for p in partitions)
        ]
        wrong = {v for v in set(values) if v is not None and not is_value(v, field.dataType)}
        if wrong:
            first = next(p for p, value in zip(partitions, values, strict=True) if value in wrong)
            name = partition_name(columns.partition.names, first.values)
            raise UnreadableTableError(
                f"{columns.table}: partition {name} cannot be read: its value is not a valid "
                f"{hive_type}, the present type of column {field.name}. Hive shows another "
                "value or NULL. Give the column its previous type (ALTER TABLE … PARTITION "
                "COLUMN), or write the rows to a partition with a valid value and drop this "
                "one.",
                code="HIVEACID_INVALID_PARTITION_VALUE",
            )
        value = _value(number, values, field.dataType)
        selected.append((field.name, value))
    return selected


def kept_value(value: str, hive_type: str) -> str | None:
    """Return a partition value as Hive shows it: the metastore may hold a longer text.

    The metastore pads `char` values, and does not cut stored values when a column's type becomes
    shorter.
    """
    if value == NULL_PARTITION:
        return None
    own = spark_type(hive_type, with_lengths=True)
    if isinstance(own, CharType):
        return value[: own.length].rstrip(" ")
    return value[: own.length] if isinstance(own, VarcharType) else value


def _value(number: Column, values: Sequence[str | None], data_type: DataType) -> Column:
    """Return the value of one partition column. Spark folds the array to a constant."""
    json_values = json.dumps(values)
    strings = F.from_json(F.lit(json_values), "array<string>")
    return F.get(strings.cast(f"array<{data_type.simpleString()}>"), number)


def within_length(column: Column, hive_type: str) -> Column:
    """Cut a column's texts to the length of their `char(n)` or `varchar(n)`, at any depth.

    A file may hold longer texts. `char` values come without their padding, as Hive compares them.
    """

    return change(column, spark_type(hive_type, with_lengths=True), (CharType, VarcharType), short)


def short(text: Column, of: DataType) -> Column:
    """Cut a text to the length of a `char(n)` or `varchar(n)`; a `char` loses its padding."""
    assert isinstance(of, CharType | VarcharType)
    short = F.substring(text, 1, of.length)
    return F.rtrim(short) if isinstance(of, CharType) else short


def try_cast(value: Column, data_type: DataType) -> Column:
    """Cast a value to another type: NULL where the type has no such value."""
    # Not by `hasattr`: a column of PySpark 3.5 has every attribute, as a field of its struct.
    if version_of(pyspark.__version__).has_try_cast:
        return value.try_cast(data_type)
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
