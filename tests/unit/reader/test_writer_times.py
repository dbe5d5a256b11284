"""What the header of a file says of its dates and timestamps."""

import pytest
from pyspark.sql.types import StructType

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.reader.file_headers import FileHeader
from dbt.adapters.hiveacid.reader.writer_times import WriterTimes, writer_times

FILE = ListedFile("delta_0000001_0000001/000000_0", "file:/t/000000_0", 1, 1)


def times(format, column="timestamp", **said):
    header = {FILE: FileHeader(StructType(), **said)}
    return writer_times(format, header, StructType().add("c", column))[FILE]


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
