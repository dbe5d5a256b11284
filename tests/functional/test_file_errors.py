"""What Java throws names the place, whatever PySpark makes of the exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType, TimestampType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.jvm.py4j import java
from hiveacid.reader.file_headers import FileHeader, ask_file
from hiveacid.reader.writer_time_zones import Stamps, writer_times


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("nosuch://host/t", "UnsupportedFileSystemException: No FileSystem for scheme"),
        # PySpark has an exception of its own for Java's IllegalArgumentException, which also says
        # that HDFS does not know a name service (not here: it would ask the network).
        ("file://host/t", "IllegalArgumentException: Wrong FS"),
    ],
)
def test_a_location_that_cannot_be_listed(
    spark: SparkSession, tmp_path: Path, location: str, reason: str
) -> None:
    with pytest.raises(UnreadableTableError) as raised:
        list_locations(spark, [f"file:{tmp_path}", location])
    assert f"{location} cannot be listed: " in str(raised.value)
    assert reason in str(raised.value)


def test_a_location_that_does_not_exist_says_so(spark: SparkSession, tmp_path: Path) -> None:
    listings = list_locations(spark, [f"file:{tmp_path}", f"file:{tmp_path}/nowhere"])
    assert [listing.is_missing for listing in listings] == [False, True]


def test_a_location_without_a_scheme_is_in_the_default_file_system(
    spark: SparkSession, tmp_path: Path
) -> None:
    listings = list_locations(spark, [f"file:{tmp_path}", str(tmp_path), f"{tmp_path}/nowhere"])
    assert [listing.scheme for listing in listings] == ["file", "file", "file"]


def test_a_question_that_java_refuses(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).coalesce(1).write.parquet(f"{tmp_path}/rows")
    (path,) = (tmp_path / "rows").glob("part-*")
    file = ListedFile(path.name, f"file:{path}", path.stat().st_size)
    with pytest.raises(UnreadableTableError) as raised:
        ask_file(
            spark,
            file,
            "parquet",
            lambda reader: java(spark.sparkContext, "org.apache.hadoop.fs.Path")(""),
        )
    assert f"{file.path} ({file.length} bytes) cannot be read as parquet: " in str(raised.value)
    assert "IllegalArgumentException: Can not create a Path" in str(raised.value)


def test_a_writers_time_zone_that_java_does_not_know(spark: SparkSession) -> None:
    data = StructType().add("at", TimestampType())

    def stamps(zone: str) -> Stamps:
        header = FileHeader(StructType(), zone=zone, created_by="parquet-mr")
        times = writer_times(spark, "parquet", header, data, ["at"])
        assert times is not None
        (found,) = times.stamps
        assert found is not None
        return found

    for zone in ("Europe/Berlin", "UTC", "+01:00"):
        assert (stamps(zone).zone, stamps(zone).refusal) == (zone, "")
    for zone in ("EST", "Mars/Base", ""):
        assert f" names a time zone that Java does not know ({zone!r}" in stamps(zone).refusal
