"""What the header of a file says of its dates and timestamps."""

from types import SimpleNamespace

import pytest
from pyspark.sql.types import StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.reader import timestamps as module
from hiveacid.reader.file_headers import FileHeader
from hiveacid.reader.timestamps import WriterTimes, writer_times

FILE = ListedFile("delta_0000001_0000001/000000_0", "file:/t/000000_0", 1, 1)
SPARK = SimpleNamespace(sparkContext="context")


def times(format, column="timestamp", gregorian=False, **said):
    header = {FILE: FileHeader(StructType(), **said)}
    columns = StructType().add("c", column)
    return writer_times(SPARK, format, header, columns, gregorian=gregorian)[FILE]


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
    assert found == WriterTimes("Europe/Berlin", julian_dates, julian_timestamps)


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
    assert found == WriterTimes("Europe/Berlin", julian_dates, julian_timestamps)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({}, "does not name its writer's time zone"),
        ({"zone": "EST"}, "names a time zone that Java does not know ('EST', writer.time.zone)"),
        ({"zone": "Europe/Berlin", "legacy": "TRUE"}, "was written with Hive's legacy conversion"),
        ({"zone": "Europe/Berlin", "wall_clocks": True}, "stores timestamps as INT64"),
    ],
)
@pytest.mark.parametrize("format", ["parquet", "avro"])
def test_timestamps_that_cannot_be_read_exactly(format, said, reason):
    with pytest.raises(UnreadableTableError) as error:
        times(format, **said)
    assert f"{FILE.path} {reason}" in str(error.value)
    assert times(format, "date", **said) == WriterTimes(None, True, True)
    assert times(format, "integer", **said) is None
