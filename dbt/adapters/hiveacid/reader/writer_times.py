"""How the writer of a Parquet or Avro file stored its dates and timestamps.

Hive stores a timestamp as the instant at which the *writer's* clock showed it, and the writer's
zone in the file's metadata. It counts days before 1582-10-15 in the Julian calendar, unless the
metadata says otherwise (`DataWritableReadSupport`, `AvroGenericRecordReader`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.types import DateType, StructType, TimestampType

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader.file_headers import FileHeader
from dbt.adapters.hiveacid.reader.timestamps import has
from dbt.adapters.hiveacid.spark.errors import JAVA_ERRORS
from dbt.adapters.hiveacid.spark.jvm import java


@dataclass(frozen=True)
class WriterTimes:
    """`zone` is the writer's, None if no column needs it.

    The two of `julian_…` are how Hive counts the old days of dates and of timestamps.
    `spark_decides` says that Spark's Parquet reader takes old days as Spark wrote them, whatever it
    is asked for.
    """

    zone: str | None
    julian_dates: bool
    julian_timestamps: bool
    spark_decides: bool = False


def writer_times(
    spark: SparkSession, format: str, headers: Mapping[ListedFile, FileHeader], data: StructType
) -> dict[ListedFile, WriterTimes | None]:
    """How each file of `format` (`parquet` or `avro`) is to be read; None without times in `data`.

    Raises:
        UnreadableTableError: a file does not say what its timestamps mean.
    """
    with_timestamps = has(data, TimestampType)
    if not with_timestamps and not has(data, DateType):
        return dict.fromkeys(headers)
    return {
        file: _times(spark, format, file, header, with_timestamps)
        for file, header in headers.items()
    }


@lru_cache(maxsize=1_000)
def _is_zone(context: SparkContext, zone: str) -> bool:
    try:
        java(context, "java.time.ZoneId").of(zone)
    except JAVA_ERRORS:
        return False
    return True


def _times(
    spark: SparkSession, format: str, file: ListedFile, header: FileHeader, with_timestamps: bool
) -> WriterTimes:
    julian = (header.proleptic or "false").lower() != "true"
    # In Parquet the flag tells of dates alone: `NanoTimeUtils` counts Julian days.
    julian_timestamps = julian or format == "parquet"
    if not with_timestamps:
        return WriterTimes(None, julian, julian_timestamps, header.by_spark)
    reason = None
    if header.zone is None:
        reason = "does not name its writer's time zone (writer.time.zone)"
    elif not _is_zone(spark.sparkContext, header.zone):
        reason = f"names a time zone that Java does not know ({header.zone!r}, writer.time.zone)"
    elif (header.legacy or "false").lower() == "true":
        reason = "was written with Hive's legacy conversion of time zones"
    elif header.wall_clocks:
        reason = "stores timestamps as INT64 (hive.parquet.write.int64.timestamp)"
    if reason is not None:
        raise UnreadableTableError(
            f"{file.path} {reason}, so that its timestamps cannot be read exactly. Let Hive write "
            "the rows anew: INSERT OVERWRITE TABLE … SELECT * FROM the same table."
        )
    return WriterTimes(header.zone, julian, julian_timestamps, header.by_spark)
