"""Lines of delimited text, as far as they are texts."""

from __future__ import annotations

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.metastore.models import TableName
from hiveacid.reader.formats.text import in_utf8


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
