"""Scans are by the readers that they are made for, whatever a session takes for its formats."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyorc
import pyspark
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.reader import scan as scan_module
from hiveacid.reader.scan import FILE_PATH, acid_scan, scan
from hiveacid.spark_versions import version_of

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


@pytest.mark.parametrize("whole_schema", [True, False], ids=["whole schema", "guard"])
def test_names_are_found_in_any_case(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole_schema: bool
) -> None:
    """As Hive finds them: also the ACID columns of a compaction on Tez, in lower case."""
    line = replace(version_of(pyspark.__version__), whole_schema=whole_schema)
    monkeypatch.setattr(scan_module, "version_of", lambda version: line)
    spark.sql(f"select named_struct('aB', 5) as Pair, id as Id from range({len(IDS)})").coalesce(
        1
    ).write.parquet(f"{tmp_path}/parquet")
    (parquet,) = (tmp_path / "parquet").glob("*.parquet")
    rows = [(0, 1, 536870912, i, 1, (i, f"name {i}")) for i in IDS]
    acid = orc_file(tmp_path / "bucket_00000", ACID.lower(), rows)
    session = spark.newSession()
    session.conf.set("spark.sql.caseSensitive", "true")

    row = StructType().add("id", IntegerType()).add("name", StringType())
    frame, _ = acid_scan(session, [acid], row)
    shown = frame.select("row.name", "rowId", "originalTransaction").orderBy("rowId").collect()
    assert [tuple(found) for found in shown] == [(f"name {i}", i, 1) for i in IDS]
    pair = StructType().add("ab", IntegerType())
    schema = StructType().add("id", LongType()).add("pair", pair)
    frame, by_path = scan(session, "parquet", [listed(parquet)], schema)
    assert sorted(map(tuple, frame.select("id", "pair.ab").collect())) == [(i, 5) for i in IDS]
    assert sorted(map(tuple, frame.where("id = 3").select("id").collect())) == [(3,)]
    assert session.conf.get("spark.sql.caseSensitive") == "true"
