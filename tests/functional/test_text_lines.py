"""Lines of delimited text, as far as they are texts."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DateType, TimestampType

from hiveacid.metastore.models import TableName
from hiveacid.reader.formats.text import in_utf8
from hiveacid.reader.formats.text_values import text_value
from hiveacid.reader.scan import FILE_PATH


def lines(spark: SparkSession, *lines: bytes) -> DataFrame:
    """As Spark's text source gives them: whatever the bytes are, they count as a string."""
    rows = [(i, bytearray(line)) for i, line in enumerate(lines)]
    frame = spark.createDataFrame(rows, "id int, value binary")
    as_text = frame.select("id", F.col("value").cast("string").alias("value"))
    return in_utf8(as_text, TableName("shop", "log"))


def test_utf_8_is_read(spark: SparkSession) -> None:
    texts = ["", "Müller", "日本語", "\U0001f600|\ufffd"]
    frame = lines(spark, *(text.encode() for text in texts))
    assert [row.value for row in frame.orderBy("id").collect()] == texts


@pytest.mark.parametrize("line", [b"M\xfcller", b"\xe9|1", b"\xc3", b"\xed\xa0\x80"])
def test_anything_else_is_refused(spark: SparkSession, line: bytes) -> None:
    found = rf"shop\.log has text that is not UTF-8\. .*: {line.hex().upper()}"
    message = rf"\[HIVEACID_TEXT_NOT_UTF8\] {found}"
    with pytest.raises(SparkRuntimeException, match=message):
        lines(spark, b"good", line).collect()


def test_a_text_on_which_hives_differ_is_an_error_if_the_release_is_unknown(
    spark: SparkSession,
) -> None:
    """Other vendors' releases of Hive 3 may read texts as either Hive does."""
    texts = ["2024-02-29", "23-02-29", "2023-02-29 24:00:00", "2024-01-01x", "soon"]
    rows = [(i, text, "file:/t/000000_0") for i, text in enumerate(texts)]
    cells = spark.createDataFrame(rows, f"id int, cell string, {FILE_PATH} string")
    day, at = (
        text_value(F.col("cell"), type_, None, None) for type_ in (DateType(), TimestampType())
    )
    same = cells.where("id in (0, 4)").orderBy("id").select(day, at)
    assert [tuple(row) for row in same.collect()] == [(dt.date(2024, 2, 29), None), (None, None)]
    for i, value, answers in (
        (1, day, "Hive 4 shows NULL, Hive 3.1 0023-03-01"),
        (2, at, "Hive 4 shows NULL, Hive 3.1 2023-03-02 00:00:00"),
        (3, day, "Hive 4 shows 2024-01-01, Hive 3.1 NULL"),
    ):
        told = rf"HIVEACID_AMBIGUOUS_DATE\] file:/t/000000_0 has the text {texts[i]} .*\. {answers}"
        with pytest.raises(SparkRuntimeException, match=told):
            cells.where(f"id = {i}").select(value).collect()


@pytest.mark.parametrize(
    ("text", "is_hive_3", "is_shown"),
    [
        ("300000-02-29 10:00:00", False, True),
        ("-300000-12-31 23:59:59", False, True),
        ("+300000-01-01T10:00", False, True),
        ("100000-99-99 99:99:99", False, False),
        ("300001-02-29 10:00:00", False, False),
        ("300000-01-01 24:00:00", False, False),
        ("300000-99-99 99:99:99", True, True),
        ("+300000-02-30T10:00:00", True, False),
    ],
)
def test_a_timestamp_that_spark_lacks_is_an_error_where_hive_shows_it(
    spark: SparkSession, text: str, is_hive_3: bool, is_shown: bool
) -> None:
    cells = spark.createDataFrame([(text, "f")], f"cell string, {FILE_PATH} string")
    found = cells.select(text_value(F.col("cell"), TimestampType(), None, is_hive_3))
    if is_shown:
        with pytest.raises(SparkRuntimeException, match="HIVEACID_TIMESTAMP_OUT_OF_RANGE"):
            found.collect()
    else:
        assert [tuple(row) for row in found.collect()] == [(None,)]
