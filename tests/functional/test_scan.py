"""Scans are by the readers that they are made for, whatever a session takes for its formats."""

from __future__ import annotations

from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.reader.scan import FILE_PATH, acid_scan, scan

ACID = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,name:string>>"
)
IDS = list(range(5))


def orc_file(path: Path, schema: str, rows: list[tuple[object, ...]]) -> ListedFile:
    with path.open("wb") as stream, pyorc.Writer(stream, schema) as writer:
        writer.writerows(rows)
    return listed(path)


def listed(path: Path) -> ListedFile:
    return ListedFile(path.name, f"file:{path}", path.stat().st_size)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("spark.sql.orc.impl", "hive"), ("spark.sql.sources.useV1SourceList", "avro,csv")],
)
def test_settings_that_stand_for_other_readers(
    spark: SparkSession, tmp_path: Path, setting: str, value: str
) -> None:
    spark.range(len(IDS)).coalesce(1).write.parquet(f"{tmp_path}/parquet")
    (parquet,) = (tmp_path / "parquet").glob("*.parquet")
    text = tmp_path / "000000_0.txt"
    text.write_text("".join(f"{i}\n" for i in IDS))
    acid = orc_file(
        tmp_path / "bucket_00000", ACID, [(0, 1, 536870912, i, 1, (i, f"name {i}")) for i in IDS]
    )
    raw = orc_file(tmp_path / "000000_0", "struct<id:int,name:string>", [(i, "x") for i in IDS])

    session = spark.newSession()
    session.conf.set(setting, value)
    row = StructType().add("id", IntegerType()).add("name", StringType())
    frame, _ = acid_scan(session, [acid], row)
    shown = frame.select("row.name", "rowId").orderBy("rowId").collect()
    assert [tuple(found) for found in shown] == [(f"name {i}", i) for i in IDS]
    assert frame.count() == len(IDS)
    for format, file, schema in (
        ("orc", raw, row),
        ("parquet", listed(parquet), StructType().add("id", LongType())),
        ("text", listed(text), StructType().add("id", StringType())),
    ):
        frame, by_path = scan(session, format, [file], schema)
        found = frame.select(frame["id"].cast("int"), FILE_PATH).collect()
        assert sorted(map(tuple, found)) == [(i, *by_path) for i in IDS], format
