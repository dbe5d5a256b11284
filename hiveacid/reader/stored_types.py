"""Type conversions of Parquet and Avro columns whose type in the file differs from the table's.

Spark's readers convert few types, and its Parquet reader misreads the bits of some numbers without
an error: 300 is 44 in a tinyint column, 12.00 is 1200 in an int column. So a column is read with
the file's type, and converted as Hive's readers convert it (`ETypeConverter`, Avro's schema
resolution).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import starmap

import pyspark
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
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
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.reader.columns import TableColumns, try_cast
from hiveacid.reader.file_headers import UnsignedType
from hiveacid.reader.types import UnionType, differ_in_case
from hiveacid.spark_versions import version_of

StoredTypes = tuple[tuple[int, DataType], ...]
"""Columns to convert: their positions and their types in the file."""

_UP_TO_32_BITS = (ByteType, ShortType, IntegerType)
_INTEGERS = (*_UP_TO_32_BITS, LongType)
_FLOATING = (FloatType, DoubleType)
_WIDENED: dict[type[DataType], tuple[type[DataType], ...]] = {
    LongType: _UP_TO_32_BITS,
    DoubleType: (*_UP_TO_32_BITS, FloatType),
}
_AVRO_READS: dict[type[DataType], tuple[type[DataType], ...]] = {
    IntegerType: (LongType, DoubleType, DateType),
    LongType: (TimestampType,),
    FloatType: (DoubleType,),
    DateType: (IntegerType, LongType, DoubleType),
    TimestampType: (LongType,),
}
"""Other types with which Spark's Avro reader reads a file's type, as Hive reads it."""

_SPARK_WIDENS = version_of(pyspark.__version__).readers_widen
"""Whether Spark's readers widen integers and floats. The readers of Spark 3.5 do not: there a file
is read with its own types, and the values are cast."""


def stored_types(
    columns: TableColumns,
    format: str,
    file: ListedFile,
    types: StructType,
) -> StoredTypes:
    """Return the columns to convert in a file with these `types`.

    Raises:
        UnreadableTableError: Spark would show other nested values in a column than Hive.
    """
    in_file = {field.name.lower(): field.dataType for field in types}
    if format == "avro":
        _check_case(columns, file, types)
    found = []
    for i, (field, hive_type) in enumerate(zip(columns.data, columns.data_types, strict=True)):
        stored = in_file.get(field.name.lower(), field.dataType)
        is_read = format != "avro" or avro_reads(stored, field.dataType)
        if is_converted(format, stored, field.dataType) or not is_read:
            found.append((i, stored))
        elif format == "parquet" and _differs_inside(stored, field.dataType):
            raise UnreadableTableError(
                f"{columns.table}: {file.path} has {stored.simpleString()} for column "
                f"{field.name}, which is {hive_type} now. For such a file Hive and Spark show "
                "different values (in Hive, NULL for a number that does not fit and for a "
                "struct with no field in the file, and a double with the precision of a float "
                "for an int). Run a major compaction in Hive.",
                code="HIVEACID_STORED_TYPE_DIFFERS",
            )
        elif not _SPARK_WIDENS:
            narrow = _not_widened(stored, field.dataType)
            if narrow != field.dataType:
                found.append((i, narrow))
    return tuple(found)


def _check_case(columns: TableColumns, file: ListedFile, types: StructType) -> None:
    """Refuse names in another case than the table's: Hive does not find them in Avro."""
    wanted = dict(zip(columns.data.names, columns.data_types, strict=True))
    for field in types:
        file_type, hive_type = field.dataType.simpleString(), wanted.get(field.name.lower())
        if hive_type is not None and (
            field.name != field.name.lower() or differ_in_case(hive_type, file_type)
        ):
            raise UnreadableTableError(
                f"{columns.table}: names in {file.path} differ in case from the table's in "
                f"column {field.name.lower()} ({field.name} {file_type}, in the table "
                f"{hive_type}). Hive shows NULL for such names, and Spark shows the values. "
                "Write the file again with the table's names.",
                code="HIVEACID_COLUMN_NAME_CASE_DIFFERS",
            )


def is_converted(format: str, stored: DataType, wanted: DataType) -> bool:
    """Return whether values must be converted here (see `converted`).

    Spark's reader converts the others: it widens integers and floats as Hive does (but see
    `_SPARK_WIDENS`), and fails on everything else. It also fails on a timestamp that became a
    string: the timestamp may have nanoseconds. For Avro, `avro_reads` lists what Spark converts.
    """
    if stored == wanted:
        return False
    if format == "avro":
        if isinstance(wanted, FloatType):
            return isinstance(stored, _INTEGERS)
        if isinstance(stored, DecimalType) and isinstance(wanted, DecimalType):
            return not _holds(wanted, stored)
        texts = (isinstance(stored, BinaryType) and isinstance(wanted, StringType)) or (
            isinstance(stored, StringType) and isinstance(wanted, BinaryType)
        )
        to_double = isinstance(stored, LongType) and isinstance(wanted, DoubleType)
        return texts or to_double or isinstance(stored, NullType)
    if isinstance(stored, (*_INTEGERS, DecimalType)):
        others = (*_FLOATING, DecimalType, StringType)
        return isinstance(wanted, others) or _may_not_fit(stored, wanted)
    return isinstance(stored, _FLOATING) and isinstance(wanted, StringType)


def avro_reads(stored: DataType, wanted: DataType) -> bool:
    """Return whether Spark's Avro reader reads a type of a file as Hive reads it."""
    return all(starmap(_avro_reads, _pairs(stored, wanted)))


def _avro_reads(stored: DataType, wanted: DataType) -> bool:
    if isinstance(stored, DecimalType) and isinstance(wanted, DecimalType):
        return _holds(wanted, stored)
    # The reader's integers have 32 bits.
    stored, wanted = (
        IntegerType() if isinstance(it, _UP_TO_32_BITS) else it for it in (stored, wanted)
    )
    return type(stored) is type(wanted) or type(wanted) in _AVRO_READS.get(type(stored), ())


def _pairs(stored: DataType, wanted: DataType) -> Iterator[tuple[DataType, DataType]]:
    """Yield the types at any depth that a file and the table have at the same position.

    The fields of structs go by their names. Yield two structs without a common field as a pair.
    Unions are skipped: Avro's reader matches their members.
    """
    if isinstance(wanted, UnionType):
        return
    if isinstance(stored, StructType) and isinstance(wanted, StructType):
        in_file = {field.name.lower(): field.dataType for field in stored}
        common = [field for field in wanted if field.name.lower() in in_file]
        if not common:
            yield stored, wanted
        for field in common:
            yield from _pairs(in_file[field.name.lower()], field.dataType)
    elif isinstance(stored, ArrayType) and isinstance(wanted, ArrayType):
        yield from _pairs(stored.elementType, wanted.elementType)
    elif isinstance(stored, MapType) and isinstance(wanted, MapType):
        yield from _pairs(stored.keyType, wanted.keyType)
        yield from _pairs(stored.valueType, wanted.valueType)
    else:
        yield stored, wanted


def _holds(wanted: DecimalType, stored: DecimalType) -> bool:
    """Return whether a decimal type has room for all values of another."""
    whole = wanted.precision - wanted.scale >= stored.precision - stored.scale
    return whole and wanted.scale >= stored.scale


def converted(format: str, column: Column, stored: DataType, wanted: DataType) -> Column:
    """Convert a column as Hive's reader of the format does: NULL for a number out of range."""
    if isinstance(wanted, _FLOATING) and isinstance(stored, _INTEGERS):
        # `ETypeConverter` converts an integer of up to 32 bits to double through float; Avro not.
        is_short = format == "parquet" and isinstance(stored, _UP_TO_32_BITS)
        through = FloatType() if is_short else wanted
        # The negations: Spark drops a cast to float before a cast to double, also in the query.
        return F.negate(F.negate(column.cast(through))).cast(wanted)
    if isinstance(wanted, StringType) and isinstance(stored, DecimalType) and stored.scale:
        # A plain cast returns `0E-18`, unless spark.sql.ansi.enabled is true.
        return F.regexp_replace(try_cast(column, wanted), r"\.?0+\z", "")
    if isinstance(wanted, _INTEGERS) and isinstance(stored, DecimalType) and stored.scale:
        return F.when(column % 1 == 0, try_cast(column, wanted))
    if isinstance(wanted, StringType) and isinstance(stored, BinaryType):
        # Bytes that are not UTF-8 become U+FFFD, as in Java's strings. A plain cast keeps them.
        if hasattr(F, "make_valid_utf8"):
            return F.make_valid_utf8(column.cast(wanted))
        return F.decode(column, "UTF-8")  # PySpark 3.5
    return try_cast(column, wanted)


def with_stored(data: StructType, stored: StoredTypes) -> StructType:
    """Return the read schema: the file's types where values are converted, else the table's."""
    own = dict(stored)
    return StructType(
        [StructField(field.name, own.get(i, field.dataType)) for i, field in enumerate(data)]
    )


def as_wanted(
    format: str, columns: Sequence[Column], data: StructType, stored: StoredTypes
) -> list[Column]:
    """Convert the columns of a scan with the schema of `with_stored`."""
    own = dict(stored)
    return [
        converted(format, column, own[i], field.dataType) if i in own else column
        for i, (column, field) in enumerate(zip(columns, data, strict=True))
    ]


def _differs_inside(stored: DataType, wanted: DataType) -> bool:
    """Return whether Hive shows other nested values in a Parquet column than Spark.

    In arrays, maps and structs, Hive converts integers to double through float, and shows NULL for
    numbers out of range. For a struct without a field that the file has, Hive shows NULL, and for
    an array of such structs, too.
    """
    return any(
        isinstance(old, UnsignedType)
        or (isinstance(old, StructType) and isinstance(new, StructType))
        or _may_not_fit(old, new)
        or (isinstance(old, _UP_TO_32_BITS) and isinstance(new, DoubleType))
        or (isinstance(old, DecimalType) and isinstance(new, StringType))
        for old, new in _pairs(stored, wanted)
    )


def _may_not_fit(stored: DataType, wanted: DataType) -> bool:
    """Return whether some numbers of the stored type are out of the wanted integer type's range."""
    if not isinstance(wanted, _INTEGERS):
        return False
    if isinstance(stored, _INTEGERS):
        return _INTEGERS.index(type(stored)) > _INTEGERS.index(type(wanted))
    return isinstance(stored, DecimalType)


def _not_widened(stored: DataType, wanted: DataType) -> DataType:
    """Return the wanted type, with the file's integers and floats where they are narrower."""
    if isinstance(wanted, UnionType):
        return wanted
    if isinstance(stored, StructType) and isinstance(wanted, StructType):
        in_file = {field.name.lower(): field.dataType for field in stored}
        return StructType(
            [
                StructField(
                    field.name,
                    _not_widened(in_file.get(field.name.lower(), field.dataType), field.dataType),
                )
                for field in wanted
            ]
        )
    if isinstance(stored, ArrayType) and isinstance(wanted, ArrayType):
        return ArrayType(_not_widened(stored.elementType, wanted.elementType))
    if isinstance(stored, MapType) and isinstance(wanted, MapType):
        return MapType(
            _not_widened(stored.keyType, wanted.keyType),
            _not_widened(stored.valueType, wanted.valueType),
        )
    return stored if isinstance(stored, _WIDENED.get(type(wanted), ())) else wanted
