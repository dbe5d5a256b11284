"""The row ids of raw files, whatever the settings are and whatever is done with the rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyorc
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.jvm.plans import of_partitions, partitions_of
from hiveacid.reader import deletes
from hiveacid.reader.deletes import BUCKET, PARTITION, ROW, ROW_ID, WRITE_ID, build_bitmap
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import DataFile, RowPositions
from hiveacid.reader.raw_files import Split, divide, split_settings
from hiveacid.reader.raw_rows import PlacedRows
from hiveacid.reader.scan import SessionsLike, scan

FILES, ROWS = 7, 3_000
SPLIT_BYTES = 3_001
SETTINGS = {
    "files.maxPartitionBytes": "1g",
    "files.openCostInBytes": "0",
    "files.minPartitionNum": "50",
    "files.maxPartitionNum": "2",
    "leafNodeDefaultParallelism": "20",
    "orc.enableVectorizedReader": "false",
    "orc.filterPushdown": "false",
    "orc.mergeSchema": "true",
    "files.ignoreCorruptFiles": "true",
    "codegen.wholeStage": "false",
    "adaptive.enabled": "false",
    "sources.bucketing.enabled": "false",
}


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    yield spark.newSession()


@pytest.fixture
def files(spark: SparkSession, tmp_path: Path) -> list[DataFile]:
    """Files of several stripes, one of them without rows. Their ids count on from file to file."""
    listed = []
    for i in range(FILES):
        path = tmp_path / f"{i:06}_0"
        with (
            path.open("wb") as stream,
            pyorc.Writer(
                stream,
                "struct<id:int,name:string>",
                stripe_size=4096,
                compression=pyorc.CompressionKind.NONE,
            ) as writer,
        ):
            rows = 0 if i == 3 else ROWS
            writer.writerows((ROWS * i + row, f"{row * 7919 % 6007}") for row in range(rows))
        listed.append(ListedFile(path.name, f"file:{path}", path.stat().st_size))
    footers = OrcFooters().read(spark, listed)
    assert sum(len(footer.stripes) > 2 for footer in footers.values()) == FILES - 1
    return [
        DataFile(
            file,
            i % 3,
            ("id", "name"),
            is_acid=False,
            row_ids=RowPositions(i % 2, 100 + i, ROWS * i),
            stripes=footers[file].stripes,
        )
        for i, file in enumerate(listed)
    ]


def numbered(
    spark: SparkSession, files: list[DataFile], splits: list[Split], own_session: bool = True
) -> DataFrame:
    """The rows, numbered through all files, so that a row's number is its id."""
    return placed(spark, files, splits, own_session).with_row_ids()


def placed(
    spark: SparkSession, files: list[DataFile], splits: list[Split], own_session: bool = True
) -> PlacedRows:
    """The rows, each with its place."""
    schema = StructType().add("id", IntegerType()).add("name", StringType())
    settings = split_settings(SPLIT_BYTES) if own_session else {}
    listed = [data.file for data in files]
    frame, by_path = scan(spark, "orc", listed, schema, settings=settings)
    return PlacedRows.of(spark, frame, by_path, files, splits)


def wrong(rows: DataFrame) -> int:
    """How many rows have another row id than they should have."""
    file = F.expr(f"id div {ROWS}").cast("int")
    right = (F.col(ROW) == F.col("id")) & (F.col(PARTITION) == file % 3)
    right &= (F.col(WRITE_ID) == file % 2) & (F.col(BUCKET) == file + 100)
    return rows.where(~right).count()


def test_a_row_id_is_what_the_position_says(session: SparkSession, files: list[DataFile]) -> None:
    splits = divide(files, SPLIT_BYTES)
    assert len(splits) > 3 * FILES
    rows = numbered(session, files, splits)
    assert set(rows.columns) >= {"id", "name", *ROW_ID}
    assert rows.count() == (FILES - 1) * ROWS
    assert wrong(rows) == 0


@pytest.mark.parametrize("setting", SETTINGS)
def test_settings_change_nothing_before_planning_or_after(
    session: SparkSession, files: list[DataFile], setting: str
) -> None:
    splits = divide(files, SPLIT_BYTES)
    before = numbered(session, files, splits)
    session.conf.set(f"spark.sql.{setting}", SETTINGS[setting])
    for rows in (before, numbered(session, files, splits)):
        assert (rows.count(), wrong(rows)) == ((FILES - 1) * ROWS, 0)
        assert rows.rdd.getNumPartitions() == len(splits)


def test_nothing_that_is_done_with_the_rows_moves_them_first(
    session: SparkSession, files: list[DataFile]
) -> None:
    rows = numbered(session, files, divide(files, SPLIT_BYTES))
    for changed in (
        rows.limit(1234),
        rows.coalesce(2),
        rows.repartition(5),
        rows.union(rows).orderBy(F.rand(7)),
        rows.sample(0.1, seed=3),
        rows.where("id % 1000 = 999 AND name <> ''"),
        rows.where(F.col(ROW) % 1000 == 999),
        rows.join(session.range(0, 9000, 100), "id"),
    ):
        assert changed.count() > 10
        assert wrong(changed) == 0


def test_one_look_up_finds_the_bit_of_each_row(
    session: SparkSession, files: list[DataFile]
) -> None:
    splits = divide(files, SPLIT_BYTES)
    rows = placed(session, files, splits)
    by_file = {data.file: i for i, data in enumerate(files)}
    # Files 0 and 2 have rows to leave out, at the ends of splits above all, the others none.
    ends = [
        ROWS * by_file[it.file] + row
        for it in splits
        for row in (it.rows_before, it.rows_before + it.rows - 1)
        if it.rows
    ]
    deleted = {id for id in ends if id // ROWS in (0, 2)} | {7, 63, 64, 65, 2 * ROWS + 100}
    bitmaps = {}
    for number in (0, 2):
        masks: dict[int, int] = {}
        for id in (id for id in deleted if id // ROWS == number):
            masks[id >> 6] = masks.get(id >> 6, 0) | 1 << (id & 63)
        signed = [mask - (1 << 64) if mask >> 63 else mask for mask in masks.values()]
        key = number % 3, number % 2, 100 + number
        bitmaps[key] = build_bitmap(*key, list(masks), signed)
    live = rows.live(bitmaps)
    assert live is not None
    every = {row.id for row in rows.with_row_ids().select("id").collect()}
    assert sorted(row.id for row in live.select("id").collect()) == sorted(every - deleted)
    assert live.where(F.col(PARTITION) != F.expr(f"id div {ROWS} % 3")).count() == 0
    assert rows.live({}).count() == len(every)


def test_masks_that_are_too_large_for_a_query_are_refused(
    session: SparkSession, files: list[DataFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    bitmap = build_bitmap(0, 0, 100, [0, ROWS // 64 - 1], [1, 1])
    rows = placed(session, files, divide(files, SPLIT_BYTES))
    assert rows.live({(0, 0, 100): bitmap}) is not None
    monkeypatch.setattr(deletes, "_MAX_BLOCKS", 1)
    assert rows.live({(0, 0, 100): bitmap}) is None


def test_only_some_splits_are_read(session: SparkSession, files: list[DataFile]) -> None:
    splits = divide(files, SPLIT_BYTES)
    chosen = [number for number in range(len(splits)) if number % 4 == 1]
    every = numbered(session, files, splits)
    rows = of_partitions(session, every, partitions_of(every), chosen)
    assert rows.rdd.getNumPartitions() == len(chosen)
    assert rows.count() == sum(splits[number].rows for number in chosen)
    assert wrong(rows) == 0


def test_another_division_is_an_error_under_any_filter(
    session: SparkSession, files: list[DataFile]
) -> None:
    """As if Spark took the settings of the user's session."""
    session.conf.set("spark.sql.files.maxPartitionBytes", str(SPLIT_BYTES))
    session.conf.set("spark.sql.files.openCostInBytes", "0")
    splits = divide(files, SPLIT_BYTES)
    for cores in ("1", "7"):
        session.conf.set("spark.sql.files.maxPartitionNum", cores)
        rows = numbered(session, files, splits, own_session=False)
        for id in (15, 2_995, 7_137):
            with pytest.raises((PySparkException, Py4JJavaError), match="divides original fil"):
                rows.where(f"id = {id}").select("id", ROW).collect()


@pytest.mark.parametrize("change", ["order", "start", "rows"])
def test_other_splits_than_planned_are_an_error(
    session: SparkSession, files: list[DataFile], change: str
) -> None:
    splits = divide(files, SPLIT_BYTES)
    if change == "order":
        splits[0], splits[1] = splits[1], splits[0]
    else:
        other = {"start": splits[0].start + 1, "rows": splits[0].rows - 1}
        splits[0] = splits[0]._replace(**{change: other[change]})
    rows = numbered(session, files, splits)
    with pytest.raises((PySparkException, Py4JJavaError), match="divides original files"):
        rows.where("id < 0").select(ROW).collect()


def test_a_session_like_another_follows_it_but_in_its_own_settings(session: SparkSession) -> None:
    name, own = "spark.hiveacid.test", "spark.sql.files.maxPartitionNum"
    sessions = SessionsLike()
    session.conf.set(own, "3")
    session.conf.set(name, "one")
    fixed = {"spark.sql.files.maxPartitionBytes": "4096", own: None}
    like = sessions.of(session, fixed)
    conf = like.sessionState().conf()
    assert (conf.filesMaxPartitionBytes(), conf.filesMaxPartitionNum().isDefined()) == (4096, False)
    assert conf.getConfString(name) == "one"
    session.conf.set("spark.sql.files.maxPartitionBytes", "8192")
    session.conf.set(name, "two")
    assert sessions.of(session, fixed) == like
    assert (conf.filesMaxPartitionBytes(), conf.getConfString(name)) == (4096, "two")
    session.conf.unset(name)
    sessions.of(session, fixed)
    assert not conf.contains(name)
    assert session.conf.get("spark.sql.files.maxPartitionBytes") == "8192"
    assert sessions.of(session, {own: "7"}) != like
    assert sessions.of(session.newSession(), fixed) != like
