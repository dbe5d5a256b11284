"""Parquet files as Hive's `ParquetHiveSerDe` reads them: columns by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.formatting import quoted
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.reader.columns import TableColumns, try_cast, within_length
from hiveacid.reader.file_headers import ask_file
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
from hiveacid.reader.properties import file_properties, refuse_others
from hiveacid.reader.scan import scan
from hiveacid.reader.stored_types import StoredTypes, as_wanted, with_stored
from hiveacid.reader.timestamps import WallClock, WriterTimes, gregorian_dates
from hiveacid.reader.types import spark_type

_HARMLESS = (
    # Columns by position instead of by name.
    ("parquet.column.index.access", "false"),
)
"""Properties that change what Hive shows, with the values that do not."""


class Parquet(DescribedFormat):
    """Parquet."""

    name = "parquet"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse columns by position."""
        properties = file_properties(read.table, storage)
        refuse_others(read.table.name, self.name, properties, _HARMLESS)
        refuse_header_lines(read.table, self.name)

    def columns_of(self, read: TableRead) -> Callable[[int], TableColumns]:
        """Return the columns of partitions: Hive shows only as many as the partition has."""
        return columns_of_partitions(read, parquet_partition_columns)

    def scan(
        self, read: TableRead, layout: DescribedLayout, files: Sequence[DataFile]
    ) -> ScannedFiles:
        """Read columns by name."""
        schema, options, data = parquet_columns(
            read.spark, layout.columns, layout.times, layout.stored
        )
        listed = [file.file for file in files]
        frame, by_path = scan(read.spark, self.name, listed, schema, options)
        return ScannedFiles(frame, by_path, data)

    def has_rows(
        self, spark: SparkSession, files: Sequence[ListedFile], footers: OrcFooters
    ) -> bool:
        """Tell by the files' footers: Hive leaves files without rows where it inserts nothing."""
        return any(ask_file(spark, file, self.name, _has_records) for file in files)


def _has_records(reader: Any) -> bool:
    return bool(reader.getRecordCount() > 0)


def parquet_columns(
    spark: SparkSession, columns: TableColumns, times: WriterTimes | None, stored: StoredTypes
) -> tuple[StructType, Mapping[str, str], list[ColumnExpr]]:
    """Return the schema, the options and the columns of a scan.

    `times` is None if the table has no dates or timestamps.

    Spark's own conversion of old timestamps depends on the zone of the Java process, so the
    conversion is left to `WallClock`. Spark's conversion of dates does not depend on the zone, and
    keeps filters on dates pushed down. Spark does not convert the dates in files of its own as Hive
    does: these are converted here.
    """
    options = {}
    clock = None
    moves_dates = times is not None and times.julian_dates and times.spark_decides
    if times is not None:
        options = {
            "int96RebaseMode": "CORRECTED",
            "datetimeRebaseMode": "LEGACY" if times.julian_dates else "CORRECTED",
        }
        if times.zone is not None:
            clock = WallClock.of(spark, times.zone, times.julian_timestamps)
    data: list[ColumnExpr] = []
    scanned = [F.col(quoted(name)) for name in columns.data.names]
    scanned = as_wanted("parquet", scanned, columns.data, stored)
    for field, hive_type, column in zip(columns.data, columns.data_types, scanned, strict=True):
        column = within_length(column, hive_type)
        own = spark_type(hive_type)
        if isinstance(own, DecimalType) and own != field.dataType:
            # The partition's type: NULL for what it has no room for, in the table's digits.
            column = try_cast(try_cast(column, own), field.dataType)
        if clock is not None:
            column = clock.show(column, field.dataType)
        if moves_dates:
            column = gregorian_dates(column, field.dataType)
        data.append((field.name, column))
    return with_stored(columns.data, stored), options, data
