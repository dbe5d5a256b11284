"""Parquet files as Hive's `ParquetHiveSerDe` reads them: columns by name."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, StructType

from hiveacid.formatting import quoted
from hiveacid.reader.columns import TableColumns, try_cast, within_length
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.stored_types import StoredTypes, as_wanted, with_stored
from hiveacid.reader.timestamps import WallClock, WriterTimes, gregorian_dates
from hiveacid.reader.types import spark_type


def parquet_columns(
    spark: SparkSession, columns: TableColumns, times: WriterTimes | None, stored: StoredTypes
) -> tuple[StructType, Mapping[str, str], list[ColumnExpr]]:
    """Schema, options and columns; `times` is None if the table has no dates or timestamps.

    Spark's own conversion of old timestamps depends on the zone of the Java process, so it is left
    to `WallClock`; that of dates does not, and keeps filters on them pushed down. In files of its
    own it does not convert them, as Hive does.
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
            # The partition's: NULL for what it has no room for, in the table's digits.
            column = try_cast(try_cast(column, own), field.dataType)
        if clock is not None:
            column = clock.show(column, field.dataType)
        if moves_dates:
            column = gregorian_dates(column, field.dataType)
        data.append((field.name, column))
    return with_stored(columns.data, stored), options, data
