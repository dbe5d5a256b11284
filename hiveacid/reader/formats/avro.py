"""Avro files as Hive's `AvroSerDe` reads them, with Spark's module spark-avro."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from pyspark.errors import AnalysisException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    IntegerType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.formatting import quoted
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.reader.columns import TableColumns, try_cast, within_length
from hiveacid.reader.file_headers import ask_file
from hiveacid.reader.formats.base import (
    ScannedFiles,
    TableRead,
    refuse_header_lines,
)
from hiveacid.reader.formats.described import DescribedFormat, DescribedLayout
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import DataFile
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.properties import file_properties
from hiveacid.reader.scan import FILE_PATH, scan
from hiveacid.reader.stored_types import (
    StoredTypes,
    as_wanted,
    avro_reads,
    is_converted,
    with_stored,
)
from hiveacid.reader.timestamps import change, gregorian_dates
from hiveacid.reader.types import UnionType
from hiveacid.reader.writer_time_zones import WriterTimes

AVRO_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "ignoreExtension": "true"}
"""Options of Spark's reader. `avro_columns` converts old dates and timestamps: Spark's own
conversion of timestamps depends on the time zone of the Java process. Hive's files have no
extension, and Spark skips files without an extension where Hadoop's
`avro.mapred.ignore.inputs.without.extension` is true."""


class Avro(DescribedFormat):
    """Avro."""

    name = "avro"

    def check_spark(self, read: TableRead) -> None:
        """Refuse a Spark without spark-avro."""
        check_avro_module(read.spark, read.table.name)

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse tables whose columns come from a user's Avro schema."""
        check_avro(read.table, storage)
        refuse_header_lines(read.table, self.name)

    def scan(
        self, read: TableRead, layout: DescribedLayout, files: Sequence[DataFile]
    ) -> ScannedFiles:
        """Read columns by name."""
        schema = avro_schema(layout.columns, layout.stored)
        listed = [file.file for file in files]
        frame, by_path = scan(read.spark, self.name, listed, schema, AVRO_OPTIONS)
        data = avro_columns(read.spark, layout.columns, layout.times, layout.stored)
        return ScannedFiles(frame, by_path, data)

    def has_rows(
        self, spark: SparkSession, files: Sequence[ListedFile], footers: OrcFooters
    ) -> bool:
        """Open the files: Hive leaves files without rows where it inserts nothing."""
        return any(ask_file(spark, file, self.name, _has_next) for file in files)


def _has_next(reader: JavaObject) -> bool:
    return bool(reader.hasNext())


def check_avro(table: Table, storage: StorageDescriptor) -> None:
    """Refuse a table whose columns need Avro's schema resolution.

    Raises:
        UnreadableTableError: the columns come from an Avro schema, which can have defaults and
            aliases.
    """
    properties = file_properties(table, storage)
    for name in ("avro.schema.literal", "avro.schema.url"):
        if properties.get(name):
            raise UnreadableTableError(
                f"{table.name} is stored as Avro with a schema of its own ({name}), which cannot "
                "be read yet. Let Hive copy the table to one without the property.",
                code="HIVEACID_UNSUPPORTED_TABLE_PROPERTY",
            )


def check_avro_module(spark: SparkSession, table: TableName) -> None:
    """Refuse Avro files if Spark lacks the module spark-avro.

    Raises:
        UnreadableTableError: spark-avro is missing.
    """
    try:
        spark.read.format("avro").schema("a int").load([])
    except AnalysisException as error:
        properties = java(spark.sparkContext, "scala.util.Properties")
        scala = properties.versionNumberString().rpartition(".")[0]
        raise UnreadableTableError(
            f"{table} is stored as Avro, which Spark reads with a module of its own. Add "
            f"`spark.jars.packages: org.apache.spark:spark-avro_{scala}:{spark.version}` (or the "
            "newest version of the same line) to server_side_parameters.",
            code="HIVEACID_AVRO_MODULE_MISSING",
        ) from error


def avro_schema(columns: TableColumns, stored: StoredTypes) -> StructType:
    """Return the read schema: Avro has no integers of less than 32 bits."""
    fields = with_stored(columns.data, stored).fields
    return StructType([StructField(field.name, _stored(field.dataType)) for field in fields])


def avro_columns(
    spark: SparkSession, columns: TableColumns, times: WriterTimes | None, stored: StoredTypes
) -> list[ColumnExpr]:
    """Return the table's columns; `times` is None for a table without dates and timestamps."""
    selected: list[ColumnExpr] = []
    unread = dict(it for it in stored if not _is_read(it[1], columns.data[it[0]].dataType))
    scanned = [F.col(quoted(name)) for name in columns.data.names]
    read = tuple(it for it in stored if it[0] not in unread)
    scanned = as_wanted("avro", scanned, columns.data, read)
    for i, (field, hive_type) in enumerate(zip(columns.data, columns.data_types, strict=True)):
        if i in unread:
            refused = _unread(scanned[i], unread[i], columns, i)
            selected.append((field.name, refused.cast(field.dataType)))
            continue
        column = change(scanned[i], field.dataType, UnionType, _tagged)
        column = within_length(column, hive_type)
        if _stored(field.dataType) != field.dataType:
            fitting = partial(_fitting, columns=columns, i=i)
            column = change(column, field.dataType, (ByteType, ShortType), fitting)
            column = column.cast(field.dataType)
        if times is not None:
            column = times.show(spark, i, column, field.dataType)
            if times.julian_dates and not times.spark_rebases:
                column = gregorian_dates(column, field.dataType)
        selected.append((field.name, column))
    return selected


def _is_read(stored: DataType, wanted: DataType) -> bool:
    return is_converted("avro", stored, wanted) or avro_reads(stored, wanted)


def _unread(column: Column, stored: DataType, columns: TableColumns, i: int) -> Column:
    """Return an error for each value of a column whose type in the file cannot be converted."""
    file_type, remedy = stored.simpleString(), "Let Hive copy the table."
    if "timestamp_ntz" not in file_type:
        remedy = (
            "Give the column the file's type in Hive (ALTER TABLE … CHANGE COLUMN), or let Hive "
            "copy the table."
        )
    message = F.concat(
        F.lit("[HIVEACID_STORED_TYPE_DIFFERS] "),
        F.col(FILE_PATH),
        F.lit(
            f" has {file_type} for column {columns.data.names[i]}, which is "
            f"{columns.data_types[i]} in {columns.table}. The values cannot be read as Hive reads "
            f"them. {remedy}"
        ),
    )
    return F.when(column.isNotNull(), F.raise_error(message))


def _fitting(value: Column, data_type: DataType, columns: TableColumns, i: int) -> Column:
    """Return an integer of Avro as a `tinyint` or `smallint`; an error if it does not fit.

    Hive shows the integer as it is.
    """
    message = F.concat(
        F.lit("[HIVEACID_STORED_TYPE_DIFFERS] "),
        F.col(FILE_PATH),
        F.lit(" has the int "),
        value.cast("string"),
        F.lit(
            f" for column {columns.data.names[i]}, which is {columns.data_types[i]} in "
            f"{columns.table}. Hive shows the number, and Spark's {data_type.simpleString()} has "
            "no such value. Give the column a wider type in Hive (ALTER TABLE … CHANGE COLUMN)."
        ),
    )
    fits = try_cast(value, data_type)
    return F.when(value.isNotNull() & fits.isNull(), F.raise_error(message)).otherwise(fits)


def _tagged(union: Column, data_type: DataType) -> Column:
    """Return a union with its tag: the number of the member that is set.

    Hive writes NULL for a union whose value is NULL.
    """
    assert isinstance(data_type, UnionType)
    scanned = [union.getField(member.name) for member in data_type.members]
    tag = F.coalesce(*[F.when(it.isNotNull(), F.lit(i)) for i, it in enumerate(scanned)])
    members = [
        change(value, member.dataType, UnionType, _tagged).alias(member.name)
        for value, member in zip(scanned, data_type.members, strict=True)
    ]
    return F.when(union.isNotNull(), F.struct(tag.cast("tinyint").alias("tag"), *members))


def _stored(data_type: DataType) -> DataType:
    if isinstance(data_type, ByteType | ShortType):
        return IntegerType()
    if isinstance(data_type, ArrayType):
        return ArrayType(_stored(data_type.elementType))
    if isinstance(data_type, MapType):
        return MapType(data_type.keyType, _stored(data_type.valueType))
    if isinstance(data_type, StructType):
        # Spark's reader returns the members of a union, but no tag.
        fields = data_type.members if isinstance(data_type, UnionType) else data_type.fields
        return StructType([StructField(field.name, _stored(field.dataType)) for field in fields])
    return data_type
