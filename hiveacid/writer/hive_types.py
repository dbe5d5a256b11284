"""Spark's types of columns as Hive's."""

from __future__ import annotations

import re
from contextlib import suppress

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
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
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from hiveacid.errors import UnwritableTableError
from hiveacid.metastore.models import TableName
from hiveacid.reader.types import TEXT_OF_LENGTH, spark_type

_PRIMITIVES: dict[type[DataType], str] = {
    BinaryType: "binary",
    BooleanType: "boolean",
    ByteType: "tinyint",
    DateType: "date",
    DoubleType: "double",
    FloatType: "float",
    IntegerType: "int",
    LongType: "bigint",
    ShortType: "smallint",
    StringType: "string",
    TimestampType: "timestamp",
}
_INSTEAD = {
    "timestamp_ntz": "timestamp",
    "void": "the type that the column shall have, such as string",
}
"""What to cast a type to; anything else to string."""

_FIELD_NAME = re.compile(r"[^`<>(),:;]+")
"""Names of struct fields that Hive's type strings can hold without quotes."""


def hive_type(table: TableName, field: StructField) -> str:
    """Return Hive's type of a column, such as `array<decimal(10,2)>`.

    Spark keeps CHAR and VARCHAR as strings, with their types in the column's metadata.

    Raises:
        UnwritableTableError: Hive has no such type.
    """
    given = field.dataType
    if TEXT_OF_LENGTH in field.metadata:
        with suppress(ValueError):
            given = spark_type(str(field.metadata[TEXT_OF_LENGTH]), with_lengths=True)
    return _Column(table, field.name).type(given)


class _Column:
    def __init__(self, table: TableName, name: str) -> None:
        self._where = f"{table} cannot be created: column {name}"

    def type(self, given: DataType) -> str:
        if isinstance(given, StructType):
            return f"struct<{','.join(self._field(it) for it in given)}>"
        if isinstance(given, ArrayType):
            return f"array<{self.type(given.elementType)}>"
        if isinstance(given, MapType):
            return f"map<{self.type(given.keyType)},{self.type(given.valueType)}>"
        if isinstance(given, DecimalType):
            return f"decimal({given.precision},{given.scale})"
        if isinstance(given, CharType | VarcharType):
            return f"{given.typeName()}({given.length})"
        name = _PRIMITIVES.get(type(given))
        if name is None:
            shown = given.simpleString()
            raise UnwritableTableError(
                f"{self._where} has the type {shown}, and Hive has no such type. Cast it to "
                f"{_INSTEAD.get(shown, 'string')}.",
                code="HIVEACID_NO_HIVE_TYPE",
            )
        return name

    def _field(self, field: StructField) -> str:
        if not _FIELD_NAME.fullmatch(field.name):
            raise UnwritableTableError(
                f"{self._where} has a field named {field.name!r}, and Hive's types cannot hold "
                "such a name. Rename it.",
                code="HIVEACID_NO_HIVE_TYPE",
            )
        return f"{field.name.lower()}:{self.type(field.dataType)}"
