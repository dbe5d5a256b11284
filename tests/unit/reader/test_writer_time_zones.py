"""What the header of a file says of its dates and timestamps."""

from types import SimpleNamespace

import pytest
from pyspark.sql.types import StructType

from hiveacid.errors import InvalidSettingError
from hiveacid.reader import writer_time_zones as module
from hiveacid.reader.file_headers import FileHeader
from hiveacid.reader.writer_time_zones import Stamps, WriterTimes, writer_times

JAVA = "parquet-mr version 1.13.1"
SPARK = SimpleNamespace(sparkContext="context")


def times(format, column="timestamp", gregorian=False, time_zone=None, is_hive_3=False, **said):
    header = FileHeader(StructType(), **{"created_by": JAVA, **said})
    columns = StructType().add("c", column)
    return writer_times(
        SPARK,
        format,
        header,
        columns,
        ["c"],
        gregorian=gregorian,
        time_zone=time_zone,
        is_hive_3=is_hive_3,
    )


@pytest.fixture(autouse=True)
def zones(monkeypatch):
    monkeypatch.setattr(module, "_is_zone", lambda context, zone: zone == "Europe/Berlin")


@pytest.mark.parametrize(
    ("format", "proleptic", "julian_dates", "julian_timestamps"),
    [
        ("parquet", None, True, True),
        ("parquet", "false", True, True),
        ("parquet", "true", False, True),
        ("avro", None, True, True),
        ("avro", "true", False, False),
    ],
)
def test_the_flag_tells_of_dates_alone_in_parquet(
    format, proleptic, julian_dates, julian_timestamps
):
    found = times(format, zone="Europe/Berlin", proleptic=proleptic)
    stamps = Stamps("Europe/Berlin", julian_timestamps, is_julian_in_utc=format == "parquet")
    assert found == WriterTimes((stamps,), julian_dates)


@pytest.mark.parametrize(
    ("format", "proleptic", "julian_dates", "julian_timestamps"),
    [
        ("parquet", None, False, False),
        ("parquet", "false", True, True),
        ("parquet", "true", False, True),
        ("avro", None, False, False),
        ("avro", "false", True, True),
        ("avro", "true", False, False),
    ],
)
def test_what_a_file_says_goes_before_the_calendar_of_hive_3(
    format, proleptic, julian_dates, julian_timestamps
):
    found = times(format, zone="Europe/Berlin", proleptic=proleptic, gregorian=True)
    stamps = Stamps("Europe/Berlin", julian_timestamps, is_julian_in_utc=format == "parquet")
    assert found == WriterTimes((stamps,), julian_dates)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, " does not name its writer's time zone (writer.time.zone) and was created by parquet"),
        ({"zone": "EST"}, " names a time zone that Java does not know ('EST', writer.time.zone)"),
        ({"stamps": {"c": ("MICROS,true",)}}, " stores timestamps as instants (INT64, adjusted"),
        ({"stamps": {"c": ("MICROS,true", "int96")}}, " stores the timestamps inside of one"),
    ],
)
def test_timestamps_of_unknown_meaning(said, reason):
    (stamps,) = times("parquet", **said).stamps
    assert stamps.refusal.startswith(reason)
    assert not stamps.refuses_old
    assert times("parquet", "date", **said).stamps == (None,)
    assert times("parquet", "integer", **said) is None


def test_a_zone_for_files_that_need_one():
    zone = "Europe/Berlin"
    assert times("parquet", time_zone=zone).stamps == (Stamps(zone, True, is_legacy=True),)
    instants = times("parquet", time_zone=zone, stamps={"c": ("MICROS,true",)})
    assert (instants.stamps, instants.has_int64) == ((Stamps(zone),), True)
    found = Stamps(zone, True, is_legacy=True, skips_gap=True)
    assert times("avro", time_zone=zone).stamps == (found,)
    of_hive_3 = times("avro", time_zone=zone, gregorian=True, is_hive_3=True)
    assert of_hive_3.stamps == (Stamps(zone),)
    for format in ("parquet", "avro"):
        match = f"{format}_time_zone must be a time zone that Java"
        with pytest.raises(InvalidSettingError, match=match) as raised:
            times(format, time_zone="Mars/Base")
        assert raised.value.code == f"HIVEACID_INVALID_{format.upper()}_TIME_ZONE"


@pytest.mark.parametrize("time_zone", [None, "Europe/Berlin"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_other_writers_than_java_write_the_clock(time_zone, zone):
    found = times("parquet", time_zone=time_zone, zone=zone, created_by="impala version 4.1.0")
    assert found.stamps == (Stamps(is_julian=True),)
    naive = times("parquet", time_zone=time_zone, stamps={"c": ("NANOS,false",)})
    assert naive.stamps == (Stamps(is_nanos=True),)


def test_a_writer_may_say_that_it_converts_as_hive_did():
    found = times("parquet", zone="Europe/Berlin", legacy="TRUE", time_zone="Europe/Berlin")
    assert found.stamps == (Stamps("Europe/Berlin", True, is_legacy=True),)


def test_old_times_that_sparks_reader_changes_are_refused():
    (stamps,) = times("parquet", zone="Europe/Berlin", rebased=("int96",)).stamps
    assert stamps.refuses_old
    assert " holds a timestamp before 1900" in stamps.refusal
    (stamps,) = times("parquet", zone="Europe/Berlin", rebased=("int64",)).stamps
    assert not stamps.refusal
    (stamps,) = times("avro", time_zone="Europe/Berlin", rebased=("int64",)).stamps
    assert stamps.refuses_old
    for format in ("parquet", "avro"):
        assert times(format, "date", rebased=("int64",)).spark_rebases
        assert not times(format, "date", rebased=("int96",)).spark_rebases
