"""Timestamps and dates: time zones and calendars of writers, and nanoseconds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from pyspark import SparkContext
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StructType,
    TimestampType,
)

from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java

_MICROS_PER_DAY = 86_400_000_000
_GREGORIAN_FROM = -141_427
"""Day 1582-10-15, counted from 1970-01-01. Before it, Hive's hybrid calendar is Julian."""

FROM_1900 = -2_208_988_800_000_000
"""1900-01-01 in microseconds. In `java.util.TimeZone`, all earlier times have one offset."""

_LONG_AGO = -(10**14)
"""A time before 1900, in milliseconds."""

_JULIAN_SHIFTS = [
    (-719_164, 2),
    (-682_945, 1),
    (-646_420, 0),
    (-609_895, -1),
    (-536_845, -2),
    (-500_320, -3),
    (-463_795, -4),
    (-390_745, -5),
    (-354_220, -6),
    (-317_695, -7),
    (-244_645, -8),
    (-208_120, -9),
    (-171_595, -10),
]
"""First days, and the days to add from each of them on, so that the Gregorian calendar shows the
date that the Julian calendar shows (Spark's `RebaseDateTime.rebaseJulianToGregorianDays`)."""

_LEGACY_SHIFTS = [
    _JULIAN_SHIFTS[0],
    *(
        shift
        for (_, before), (first_day, days) in pairwise(_JULIAN_SHIFTS)
        for shift in ((first_day - 1, before - 1), (first_day, days))
    ),
]
"""As `_JULIAN_SHIFTS`, but days that only the Julian calendar has (29 February 1500) become the day
before: Hive's legacy conversion goes through text, and its parser changes the day to a valid one.
"""

_Wanted = type[DataType] | tuple[type[DataType], ...]
_FIELD_NAME = re.compile(r"(?:`(?:[^`]|``)*`|[^`<>(),:]+):")
_TYPE = re.compile(r"[a-z][a-z ]*")
_FRACTION = re.compile(r"\.(\d{7,9})(?!\d)")


@dataclass(frozen=True)
class WallClock:
    """Conversion of the timestamps of some files for one session.

    `file_zone` is the time zone whose wall clock shows the stored time at the instants that Spark
    reads. Both zones are normalized by Java. With `julian`, days before 1582-10-15 were counted in
    the Julian calendar, and Spark's reader has not converted them; with `julian_in_utc`, the
    calendar applies to the stored time instead of the zone's wall clock. `before_1900` is the
    zone's offset in milliseconds before 1900 in Hive's legacy conversion; None without it. With
    `skips_gap`, the zone's offset is added in the calendar that skips 1582-10-05 to 14, where a
    stored day of these becomes the day ten days later.
    """

    file_zone: str
    session_zone: str
    julian: bool = False
    julian_in_utc: bool = False
    before_1900: int | None = None
    skips_gap: bool = False

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        file_zone: str | None = None,
        julian: bool = False,
        julian_in_utc: bool = False,
        legacy: bool = False,
        skips_gap: bool = False,
    ) -> WallClock:
        """Return the clock of files of `file_zone` in a session.

        Without `file_zone`, the files have the time zone of the Java process. With `legacy`, the
        zone has the offsets of `java.util.TimeZone`: one offset for all times before 1900.
        """
        zone_id = java(spark.sparkContext, "java.time.ZoneId")
        # Spark's own parser of zones, which accepts more notations than Java's.
        times = java(spark.sparkContext, "org.apache.spark.sql.catalyst.util.DateTimeUtils")
        session_zone = _normal(times.getZoneId(str(spark.conf.get("spark.sql.session.timeZone"))))
        zone = zone_id.systemDefault() if file_zone is None else zone_id.of(file_zone)
        before_1900 = None
        if legacy:
            time_zone = java(spark.sparkContext, "java.util.TimeZone").getTimeZone(zone)
            before_1900 = int(time_zone.getOffset(_LONG_AGO))
        return cls(_normal(zone), session_zone, julian, julian_in_utc, before_1900, skips_gap)

    def show(self, column: Column, data_type: DataType) -> Column:
        """Convert the timestamps at any depth of a column to what the session must show."""
        if not self.moves(data_type):
            return column
        return change(column, data_type, TimestampType, lambda instant, _: self._move(instant))

    def moves(self, data_type: DataType) -> bool:
        """Return whether `show` changes a column of the type."""
        differs = self.file_zone != self.session_zone or self.julian
        return differs and has(data_type, TimestampType)

    def _move(self, instant: Column) -> Column:
        is_legacy = self.before_1900 is not None
        if self.skips_gap:
            instant = _out_of_gap(instant, F.lit(True))
        if self.julian and self.julian_in_utc:
            instant = _gregorian(instant)
        # `from_utc_timestamp` moves an instant by its zone's offset, `to_utc_timestamp` back.
        wall_clock = F.from_utc_timestamp(instant, self.file_zone)
        if is_legacy:
            micros = F.unix_micros(instant)
            early = F.timestamp_micros(micros + F.lit(self.before_1900).cast("bigint") * 1_000)
            wall_clock = F.when(micros < F.lit(FROM_1900), early).otherwise(wall_clock)
        if self.skips_gap:
            was_julian = F.unix_micros(instant) < F.lit(_GREGORIAN_FROM * _MICROS_PER_DAY)
            wall_clock = _out_of_gap(wall_clock, was_julian)
        if self.julian and not self.julian_in_utc:
            wall_clock = _gregorian(wall_clock, is_legacy)
        return F.to_utc_timestamp(wall_clock, self.session_zone)


def orc_clock(spark: SparkSession, columns: StructType) -> WallClock:
    """Return the clock of ORC files that are read into these columns.

    Raises:
        UnreadableTableError: Spark's processes have different time zones, and would show different
            times.
    """
    clock = WallClock.of(spark)
    if has(columns, TimestampType):
        others = executors_zones(spark.sparkContext) - {clock.file_zone}
        if others:
            option = "extraJavaOptions: -Duser.timezone=UTC"
            raise UnreadableTableError(
                "Timestamps in ORC files are read in the time zone of the Java process that "
                f"reads them. Spark's driver has {clock.file_zone}, and executors have "
                f"{', '.join(sorted(others))}, so their times would differ from Hive's. Give "
                f"all processes one zone: `spark.driver.{option}` and "
                f"`spark.executor.{option}` in server_side_parameters.",
                code="HIVEACID_JVM_TIME_ZONES_DIFFER",
            )
    return clock


@lru_cache(maxsize=1)
def executors_zones(context: SparkContext) -> frozenset[str]:
    """Return the time zones of the executors' Java processes; empty if only the driver reads."""
    if str(context.master).partition("[")[0] == "local":
        return frozenset()
    tasks = context.defaultParallelism
    zones = (
        SparkSession(context)
        .range(0, tasks, 1, tasks)
        .select(F.expr("reflect('java.time.ZoneId', 'systemDefault')").alias("zone"))
        .distinct()
        .collect()
    )
    zone_id = java(context, "java.time.ZoneId")
    return frozenset(_normal(zone_id.of(row["zone"])) for row in zones)


def gregorian_dates(column: Column, data_type: DataType) -> Column:
    """Convert a column's dates before 1582-10-15 from the Julian calendar."""

    def shown(date: Column, _: DataType) -> Column:
        is_julian = date < F.lit("1582-10-15").cast("date")
        return F.when(is_julian, F.date_add(date, _julian_shift(F.unix_date(date), 1))).otherwise(
            date
        )

    return change(column, data_type, DateType, shown)


def _out_of_gap(time: Column, is_later: Column) -> Column:
    """Move a time between the calendars (1582-10-05 to 14) by ten days, forward or back."""
    micros, end = F.unix_micros(time), _GREGORIAN_FROM * _MICROS_PER_DAY
    ten_days = F.lit(10 * _MICROS_PER_DAY)
    moved = F.timestamp_micros(micros + F.when(is_later, ten_days).otherwise(-ten_days))
    is_between = (micros >= F.lit(end) - ten_days) & (micros < F.lit(end))
    return F.when(is_between, moved).otherwise(time)


def _gregorian(wall_clock: Column, is_legacy: bool = False) -> Column:
    """Convert a time before 1582-10-15 from the Julian calendar."""
    micros = F.unix_micros(wall_clock)
    shifts = _LEGACY_SHIFTS if is_legacy else _JULIAN_SHIFTS
    days = _julian_shift(micros, _MICROS_PER_DAY, shifts).cast("bigint")
    shown = F.timestamp_micros(micros + days * F.lit(_MICROS_PER_DAY))
    is_julian = micros < F.lit(_GREGORIAN_FROM * _MICROS_PER_DAY)
    return F.when(is_julian, shown).otherwise(wall_clock)


def _julian_shift(
    time: Column, units_per_day: int, shifts: Sequence[tuple[int, int]] = _JULIAN_SHIFTS
) -> Column:
    shift = F.lit(shifts[0][1])
    for first_day, days in shifts[1:]:
        shift = F.when(time >= F.lit(first_day * units_per_day), F.lit(days)).otherwise(shift)
    return shift


def _normal(zone: JavaObject) -> str:
    """Return a zone's name, the same for all names of a fixed offset (`UTC`, `Etc/UTC`, `Z`)."""
    name: str = zone.normalized().getId()
    return "UTC" if name == "Z" else name


def has(data_type: DataType, wanted: _Wanted) -> bool:
    """Return whether a type has a type of the class `wanted` at any depth."""
    if isinstance(data_type, wanted):
        return True
    if isinstance(data_type, ArrayType):
        return has(data_type.elementType, wanted)
    if isinstance(data_type, MapType):
        return has(data_type.keyType, wanted) or has(data_type.valueType, wanted)
    if isinstance(data_type, StructType):
        return any(has(field.dataType, wanted) for field in data_type.fields)
    return False


def change(
    column: Column, data_type: DataType, wanted: _Wanted, how: Callable[[Column, DataType], Column]
) -> Column:
    """Apply `how` to every value of the class `wanted` at any depth of a column.

    The arguments of `how` are the value and its type.
    """
    if not has(data_type, wanted):
        return column
    if isinstance(data_type, wanted):
        return how(column, data_type)

    def inner(value: Column, of: DataType) -> Column:
        return change(value, of, wanted, how)

    if isinstance(data_type, ArrayType):
        element = data_type.elementType
        return F.transform(column, lambda value: inner(value, element))
    if isinstance(data_type, MapType):
        key, value_type = data_type.keyType, data_type.valueType
        values = F.transform_values(column, lambda _, value: inner(value, value_type))
        if not has(key, wanted):
            return values
        return F.transform_keys(values, lambda value, _: inner(value, key))
    if isinstance(data_type, StructType):
        fields = [
            inner(column.getField(field.name), field.dataType).alias(field.name)
            for field in data_type.fields
        ]
        return F.when(column.isNotNull(), F.struct(*fields))
    raise AssertionError(data_type)


def orc_calendar(gregorian: bool) -> dict[str, str]:
    """Return the scan options for ORC files that do not state the calendar of old dates.

    ORC reads the dates as Julian by default.
    """
    return {"orc.proleptic.gregorian.default": "true"} if gregorian else {}


def timestamps_in(types: Iterable[str], number: int) -> Iterator[tuple[int, int]]:
    """Yield the timestamps at any depth of columns with these types.

    Each is the position of the column and ORC's column id of the timestamp. ORC numbers the types
    in the order of the text, starting with `number`.
    """
    for position, type_ in enumerate(types):
        for name in _TYPE.findall(_FIELD_NAME.sub("", type_)):
            if name == "timestamp":
                yield position, number
            number += 1


def shows_nanoseconds(statistics: str) -> bool:
    """Return whether ORC statistics, as text, show a timestamp with more than microseconds.

    The statistics have the minimum and the maximum. Writers before ORC 1.6 store only milliseconds.
    ORC then returns a maximum that ends in 999999, which proves nothing.
    """
    return any(
        fraction[6:].strip("0") and fraction[3:] != "999999"
        for fraction in _FRACTION.findall(statistics)
    )
