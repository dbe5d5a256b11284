"""Parquet files as Hive's `ParquetHiveSerDe` reads them: columns by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DecimalType,
    LongType,
    StructField,
    StructType,
    TimestampType,
)

from hiveacid.acid.layout import ListedFile
from hiveacid.formatting import quoted
from hiveacid.jvm.java_types import JavaObject
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.reader.columns import TableColumns, refuse_unions, try_cast, within_length
from hiveacid.reader.file_headers import FileHeader, ask_file
from hiveacid.reader.formats.base import (
    ScannedFiles,
    TableRead,
    columns_of_partitions,
    refuse_header_lines,
)
from hiveacid.reader.formats.described import DescribedFormat, DescribedLayout
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.partition_columns import parquet_partition_columns
from hiveacid.reader.plan import DataFile
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.properties import file_properties
from hiveacid.reader.scan import scan
from hiveacid.reader.stored_types import StoredTypes, as_wanted, with_stored
from hiveacid.reader.timestamps import change, gregorian_dates
from hiveacid.reader.types import spark_type, with_leaves
from hiveacid.reader.writer_time_zones import WriterTimes

_BY_POSITION = "parquet.column.index.access"
"""Property by which Hive finds columns by position instead of by name."""

_CONVERSION = "spark.sql.parquet.int96TimestampConversion"
"""Setting by which Spark converts INT96 of writers other than parquet-mr to the session's zone."""

_VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
"""Setting for Spark's vectorized reader, which does not decode BYTE_STREAM_SPLIT."""


class Parquet(DescribedFormat):
    """Parquet."""

    name = "parquet"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse partitions of a text table with header lines, and a `uniontype`."""
        refuse_header_lines(read.table, self.name)
        refuse_unions(read.columns, "Hive has no uniontype in Parquet")

    def columns_of(self, read: TableRead) -> Callable[[int], TableColumns]:
        """Return the columns of each partition: Hive shows only as many as the partition has."""
        return columns_of_partitions(read, parquet_partition_columns)

    def names_of(
        self, read: TableRead, file: DataFile, columns: TableColumns, header: FileHeader
    ) -> tuple[str | None, ...] | None:
        """Return the file's own names of the columns if Hive finds them by position; else None."""
        # Hive reads the property of the table, and ignores the partition's.
        properties = file_properties(read.table, read.table.storage)
        if properties.get(_BY_POSITION, "false").lower() != "true":
            return None
        missing = len(columns.data) - len(header.names)
        return (*header.names, *[None] * missing)[: len(columns.data)]

    def scan(
        self, read: TableRead, layout: DescribedLayout, files: Sequence[DataFile]
    ) -> ScannedFiles:
        """Read columns by name, or by position."""
        schema, options, data = parquet_columns(
            read.spark, layout.columns, layout.times, layout.stored, layout.names
        )
        listed = [file.file for file in files]
        settings = _unconverted(read.spark)
        if layout.byte_stream_split:
            settings[_VECTORIZED] = "false"
        frame, by_path = scan(read.spark, self.name, listed, schema, options, settings=settings)
        return ScannedFiles(frame, by_path, data)

    def has_rows(
        self, spark: SparkSession, files: Sequence[ListedFile], footers: OrcFooters
    ) -> bool:
        """Read the footers: Hive leaves files without rows where it inserts nothing."""
        return any(ask_file(spark, file, self.name, _has_records) for file in files)


def _unconverted(spark: SparkSession) -> dict[str, str | None]:
    """Return the setting with which Spark does not convert INT96 timestamps.

    Empty if the session already has this value. The reader has no option for it.
    """
    converts = str(spark.conf.get(_CONVERSION, "false")).lower() == "true"
    return {_CONVERSION: "false"} if converts else {}


def _has_records(reader: JavaObject) -> bool:
    return bool(reader.getRecordCount() > 0)


def parquet_columns(
    spark: SparkSession,
    columns: TableColumns,
    times: WriterTimes | None,
    stored: StoredTypes,
    names: Sequence[str | None] | None = None,
) -> tuple[StructType, Mapping[str, str], list[ColumnExpr]]:
    """Return the schema, the options and the columns of a scan.

    `times` is None if the table has no dates or timestamps. `names` are the files' own names of the
    columns if they differ from the table's, with None for a column that the files lack.

    Spark's own conversion of old timestamps depends on the time zone of the Java process, so
    `WallClock` converts them. Spark's conversion of dates does not depend on the time zone, and
    keeps filters on dates pushed down. But Spark's conversion of dates includes INT64 timestamps,
    and differs from Hive's for files that Spark wrote: in both cases dates are converted here.
    """
    options = {}
    moves_dates = False
    if times is not None:
        unconverted = times.spark_decides or times.has_int64
        moves_dates = times.julian_dates and unconverted
        options = {
            "int96RebaseMode": "CORRECTED",
            "datetimeRebaseMode": "LEGACY"
            if times.julian_dates and not unconverted
            else "CORRECTED",
        }
    own = columns.data.names if names is None else names
    scanned = [F.lit(None) if name is None else F.col(quoted(name)) for name in own]
    scanned = as_wanted("parquet", scanned, columns.data, stored)
    nanos = _nanoseconds(times)
    data: list[ColumnExpr] = []
    for i, (field, hive_type) in enumerate(zip(columns.data, columns.data_types, strict=True)):
        if own[i] is None:
            data.append((field.name, F.lit(None).cast(field.dataType)))
            continue
        column = scanned[i]
        if i in nanos:
            column = change(column, field.dataType, TimestampType, _from_nanoseconds)
        column = within_length(column, hive_type)
        type_ = spark_type(hive_type)
        if isinstance(type_, DecimalType) and type_ != field.dataType:
            # The partition's type: NULL for a value out of its range, with the table's digits.
            column = try_cast(try_cast(column, type_), field.dataType)
        if times is not None:
            column = times.show(spark, i, column, field.dataType)
        if moves_dates:
            column = gregorian_dates(column, field.dataType)
        data.append((field.name, column))
    types = [field.dataType for field in with_stored(columns.data, stored)]
    schema = [
        StructField(name, _as_numbers(types[i]) if i in nanos else types[i])
        for i, name in enumerate(own)
        if name is not None
    ]
    return StructType(schema), options, data


def _nanoseconds(times: WriterTimes | None) -> set[int]:
    """Return the columns with timestamps in nanoseconds, which Spark can only read as numbers."""
    stamps = times.stamps if times is not None else ()
    return {i for i, found in enumerate(stamps) if found is not None and found.is_nanos}


def _as_numbers(data_type: DataType) -> DataType:
    """Replace the timestamps in a type by numbers."""
    return with_leaves(data_type, lambda it: LongType() if isinstance(it, TimestampType) else it)


def _from_nanoseconds(column: Column, _: DataType) -> Column:
    return F.timestamp_micros(F.floor(column.cast("decimal(20,0)") / 1_000).cast("bigint"))
