"""Time zones and calendars of the writers of Parquet and Avro files, by the files' metadata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from pyspark import SparkContext
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, DateType, StructType, TimestampType

from hiveacid.errors import InvalidSettingError
from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.py4j import java
from hiveacid.reader.file_headers import INT64, INT96, MICROS, FileHeader
from hiveacid.reader.scan import FILE_PATH
from hiveacid.reader.timestamps import FROM_1900, WallClock, change, has

_BY_JAVA = "parquet-mr"
"""Prefix of the `created_by` of Parquet's Java library. Hive reads the timestamps of all other
writers as local times, without a time zone (`ParquetRecordReaderBase.getSplit`)."""

_REMEDY = "Set `{}_time_zone`, on the source or in the profile, to this time zone"
_AGAIN = "let Hive write the rows again: INSERT OVERWRITE TABLE … SELECT * FROM the same table."


@dataclass(frozen=True)
class Stamps:
    """Meaning of the timestamps in one column of a file.

    `zone` is the time zone whose wall clock shows the stored instants, with the offsets of
    `java.util.TimeZone` if `is_legacy`. `is_julian`: Hive counts old days in the Julian calendar,
    with `is_julian_in_utc` the days of the stored instant, else the days of the zone's wall clock.
    `skips_gap` is that of `WallClock`.
    `is_nanos`: the values are nanoseconds, which Spark reads as numbers. `refusal` is the error
    text after the path of the file if the meaning is unknown; with `refuses_old`, it applies only
    to times before 1900.
    """

    zone: str = "UTC"
    is_julian: bool = False
    is_julian_in_utc: bool = False
    is_legacy: bool = False
    skips_gap: bool = False
    is_nanos: bool = False
    refusal: str = ""
    refuses_old: bool = False

    def refuse(self, instant: Column, _: DataType) -> Column:
        """Return the timestamp, or an error with `refusal`; NULL stays NULL."""
        message = F.concat(
            F.lit("[HIVEACID_UNKNOWN_TIME_ZONE] "), F.col(FILE_PATH), F.lit(self.refusal)
        )
        error = F.raise_error(message)
        condition = instant.isNotNull()
        if self.refuses_old:
            condition = F.unix_micros(instant) < F.lit(FROM_1900)
        return F.when(condition, error).otherwise(instant)

    def clock(self, spark: SparkSession) -> WallClock:
        """Return the conversion of the timestamps for a session."""
        in_utc = self.is_julian_in_utc
        is_legacy, skips_gap = self.is_legacy, self.skips_gap
        return WallClock.of(spark, self.zone, self.is_julian, in_utc, is_legacy, skips_gap)


@dataclass(frozen=True)
class WriterTimes:
    """Meaning of the dates and timestamps in a file.

    `stamps` is the meaning of the timestamps in each column, None for a column without timestamps.
    `julian_dates`: Hive counts old days in the Julian calendar. `spark_decides`: Spark wrote the
    file, and Spark's Parquet reader ignores the option for old days. `has_int64`: timestamps are
    stored as INT64, which Spark would convert with the dates, so the reader must convert nothing.
    `spark_rebases`: Spark's reader converts old days from the Julian calendar, whatever its
    options.
    """

    stamps: tuple[Stamps | None, ...]
    julian_dates: bool
    spark_decides: bool = False
    has_int64: bool = False
    spark_rebases: bool = False

    def show(
        self, spark: SparkSession, position: int, column: Column, data_type: DataType
    ) -> Column:
        """Convert the timestamps in a column of a scan to what the session must show.

        A query fails with an error if it needs a timestamp of unknown meaning, or an old date that
        Spark's reader converts and Hive does not.
        """
        if self.spark_rebases and not self.julian_dates:
            column = change(column, data_type, DateType, _refuse_old)
        stamps = self.stamps[position]
        if stamps is None:
            return column
        if stamps.refusal:
            column = change(column, data_type, TimestampType, stamps.refuse)
        return stamps.clock(spark).show(column, data_type)


def writer_times(
    spark: SparkSession,
    format: str,
    header: FileHeader,
    data: StructType,
    names: Sequence[str | None],
    *,
    gregorian: bool = False,
    time_zone: str | None = None,
    is_hive_3: bool | None = False,
) -> WriterTimes | None:
    """Return the meaning of dates and timestamps in a file that is read into the columns `data`.

    Args:
        spark: the session.
        format: `parquet` or `avro`.
        header: the file's metadata.
        data: the columns to read.
        names: the file's own names of the columns.
        gregorian: the pinned table's `gregorian`.
        time_zone: the pinned table's `parquet_time_zone` or `avro_time_zone`.
        is_hive_3: the pinned table's: Hive 3 has no legacy conversion of Avro.

    Returns:
        None if `data` has no dates and timestamps.

    Raises:
        InvalidSettingError: `time_zone` is not a time zone.
    """
    timed = [has(field.dataType, TimestampType) for field in data]
    if not any(timed) and not has(data, DateType):
        return None
    if time_zone is not None and not _is_zone(spark.sparkContext, time_zone):
        message = (
            f"{format}_time_zone must be a time zone that Java knows, such as `Europe/Berlin`, not "
            f"{time_zone!r}."
        )
        if format == "avro":
            raise InvalidSettingError(message, code="HIVEACID_INVALID_AVRO_TIME_ZONE")
        raise InvalidSettingError(message, code="HIVEACID_INVALID_PARQUET_TIME_ZONE")
    is_marked = header.proleptic is not None or not gregorian
    julian_dates = is_marked and (header.proleptic or "false").lower() != "true"
    # In Parquet the flag applies to dates only: `NanoTimeUtils` counts Julian days.
    is_julian = julian_dates or (format == "parquet" and is_marked)
    is_legacy = format == "parquet" or not is_hive_3
    plain = _stamps(spark.sparkContext, format, header, is_julian, time_zone, is_legacy)
    stamps = tuple(
        _of_kinds(format, header, header.stamps.get((name or "").lower(), ()), plain, time_zone)
        if there
        else None
        for name, there in zip(names, timed, strict=True)
    )
    # Where Spark rebases the calendar of old timestamps by itself, it rebases dates, too.
    unchanged = _has_int64(header) and INT64 not in header.rebased
    return WriterTimes(
        stamps, julian_dates, header.by_spark, unchanged, spark_rebases=INT64 in header.rebased
    )


def _refuse_old(date: Column, _: DataType) -> Column:
    """Return the date, or an error if it is before the Gregorian calendar; NULL stays NULL."""
    reason = (
        " holds a date before 1582-10-15 that Spark wrote in its legacy calendar and that "
        f"Spark's reader shows differently from Hive. To read it, {_AGAIN}"
    )
    message = F.concat(F.lit("[HIVEACID_AMBIGUOUS_OLD_TIME] "), F.col(FILE_PATH), F.lit(reason))
    is_old = date < F.lit("1582-10-15").cast("date")
    return F.when(is_old, F.raise_error(message)).otherwise(date)


def _has_int64(header: FileHeader) -> bool:
    return any(kind != INT96 for kinds in header.stamps.values() for kind in kinds)


def _of_kinds(
    format: str,
    header: FileHeader,
    kinds: Sequence[str],
    plain: Stamps,
    time_zone: str | None,
) -> Stamps:
    """Return the meaning of timestamps with these encodings (`FileHeader.stamps`).

    INT64 timestamps are in the Gregorian calendar (`ParquetTimestampUtils`).
    """
    if format == "avro":
        if MICROS in kinds:
            return Stamps(
                refusal=f" stores timestamps in microseconds ({MICROS}), which Hive shows as "
                "milliseconds, in another year. Write the file again with timestamp-millis."
            )
        # Spark's reader rebases timestamps together with dates.
        return _without_rebased(header, INT64, plain)
    if not kinds or kinds == (INT96,):
        return _without_rebased(header, INT96, plain)
    if len(kinds) > 1:
        return Stamps(
            refusal=" stores the timestamps inside of one column in several encodings "
            f"({', '.join(kinds)}), which Spark does not distinguish. To read the column, "
            f"{_AGAIN}"
        )
    unit, _, is_utc = kinds[0].partition(",")
    if is_utc == "true" and time_zone is None:
        return Stamps(
            refusal=" stores timestamps as instants (INT64, adjusted to UTC) and was created by "
            f"{header.created_by}. Hive shows them in the time zone of its own Java. "
            f"{_REMEDY.format(format)}, or {_AGAIN}"
        )
    zone = time_zone if is_utc == "true" and time_zone is not None else "UTC"
    return _without_rebased(header, INT64, Stamps(zone, is_nanos=unit == "NANOS"))


def _without_rebased(header: FileHeader, way: str, stamps: Stamps) -> Stamps:
    """Refuse old timestamps if Spark's reader rebases their calendar."""
    if way not in header.rebased or stamps.refusal:
        return stamps
    return replace(
        stamps,
        refusal=" holds a timestamp before 1900 that Spark wrote in its legacy calendar and that "
        f"Spark's reader shows differently from Hive. To read it, {_AGAIN}",
        refuses_old=True,
    )


def _stamps(
    context: SparkContext,
    format: str,
    header: FileHeader,
    is_julian: bool,
    time_zone: str | None,
    is_legacy: bool,
) -> Stamps:
    """Return the meaning of timestamps by the file's metadata: INT96, or Avro's timestamps."""
    if format == "parquet" and not header.created_by.startswith(_BY_JAVA):
        return Stamps(is_julian=is_julian)
    if header.zone is None:
        if time_zone is not None:
            skips_gap = format == "avro" and is_legacy
            return Stamps(time_zone, is_julian, is_legacy=is_legacy, skips_gap=skips_gap)
        by = f" and was created by {header.created_by}" if header.created_by else ""
        return Stamps(
            refusal=f" does not name its writer's time zone (writer.time.zone){by}, so that Hive "
            "shows its timestamps in the time zone of its own Java. "
            f"{_REMEDY.format(format)}, or {_AGAIN}"
        )
    if not _is_zone(context, header.zone):
        return Stamps(
            refusal=f" names a time zone that Java does not know ({header.zone!r}, "
            f"writer.time.zone), so that Hive fails on its timestamps, too. Load the rows again."
        )
    if (header.legacy or "false").lower() == "true":
        return Stamps(header.zone, is_julian, is_legacy=True, skips_gap=format == "avro")
    return Stamps(header.zone, is_julian, is_julian_in_utc=format == "parquet")


@lru_cache(maxsize=1_000)
def _is_zone(context: SparkContext, zone: str) -> bool:
    try:
        java(context, "java.time.ZoneId").of(zone)
    except JAVA_ERRORS:
        return False
    return True
