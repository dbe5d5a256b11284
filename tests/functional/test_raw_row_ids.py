"""The row ids of raw files, where Spark might divide the files differently in the two scans."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyorc
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.reader import row_positions
from hiveacid.reader.deletes import ROW, WRITE_ID
from hiveacid.reader.plan import RowPositions
from hiveacid.reader.scan import scan

FILES, ROWS = 20, 10


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    session = spark.newSession()
    # So that the number of tasks follows from the one setting that a test changes.
    session.conf.set("spark.sql.files.openCostInBytes", "1")
    yield session


@pytest.fixture
def files(tmp_path: Path) -> list[ListedFile]:
    """The ids in them count on from file to file."""
    listed = []
    for i in range(FILES):
        path = tmp_path / f"{i:06}_0"
        with path.open("wb") as stream, pyorc.Writer(stream, "struct<id:int>") as writer:
            writer.writerows((ROWS * i + row,) for row in range(ROWS))
        listed.append(ListedFile(path.name, f"file:{path}", path.stat().st_size))
    return listed


def numbered(session: SparkSession, files: list[ListedFile]) -> DataFrame:
    """The rows, numbered through all files, so that a row's number is its id."""
    frame, by_path = scan(session, "orc", files, StructType().add("id", IntegerType()))
    row_ids = {file: RowPositions(0, 0, ROWS * i) for i, file in enumerate(files)}
    return row_positions.with_row_positions(frame, by_path, row_ids)


def first_scan_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of the two scans runs as soon as it is made."""
    lazily = row_positions._splits
    monkeypatch.setattr(row_positions, "_splits", lambda *args: lazily(*args).localCheckpoint())


def test_another_division_is_an_error_under_any_filter(
    session: SparkSession, files: list[ListedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    first_scan_done(monkeypatch)
    session.conf.set("spark.sql.files.minPartitionNum", "7")
    rows = numbered(session, files)
    session.conf.set("spark.sql.files.minPartitionNum", "50")
    for id in (15, 95, 137):
        with pytest.raises((PySparkException, Py4JJavaError), match="has divided original files"):
            rows.where(f"id = {id}").select("id", ROW, WRITE_ID).collect()


def test_executors_that_come_meanwhile_change_nothing(
    session: SparkSession, files: list[ListedFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    first_scan_done(monkeypatch)
    setting = "spark.sql.leafNodeDefaultParallelism"
    for cores in ("7", "1"):
        session.conf.set(setting, cores)
        rows = numbered(session, files)
        session.conf.set(setting, "20")
        row_ids = rows.select("id", ROW, WRITE_ID).collect()
        assert sorted(map(tuple, row_ids)) == [(i, i, 0) for i in range(FILES * ROWS)]
        assert session.conf.get("spark.sql.files.minPartitionNum") == cores
    session.conf.set("spark.sql.files.minPartitionNum", "3")
    numbered(session, files)
    assert session.conf.get("spark.sql.files.minPartitionNum") == "3", "the user's own stays"
