"""Conversions of the rows to write."""

from __future__ import annotations

import pytest
from pyspark.sql.types import DataType, NullType, TimestampNTZType

from hiveacid.reader.types import spark_type
from hiveacid.writer.rows import is_lossless


def parsed(name: str) -> DataType:
    others = {"void": NullType(), "timestamp_ntz": TimestampNTZType()}
    return others.get(name) or spark_type(name)


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("int", "int"),
        ("tinyint", "bigint"),
        ("int", "double"),
        ("float", "double"),
        ("int", "decimal(10,0)"),
        ("decimal(5,2)", "decimal(7,3)"),
        ("void", "string"),
        ("array<int>", "array<bigint>"),
        ("map<string,int>", "map<string,bigint>"),
        ("struct<a:int,B:date>", "struct<A:bigint,b:date>"),
    ],
)
def test_what_keeps_every_value_is_converted(given: str, wanted: str) -> None:
    assert is_lossless(parsed(given), parsed(wanted))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ("bigint", "int"),
        ("bigint", "double"),
        ("int", "float"),
        ("double", "float"),
        ("int", "decimal(9,0)"),
        ("decimal(5,2)", "decimal(7,1)"),
        ("decimal(5,2)", "decimal(5,3)"),
        ("int", "string"),
        ("binary", "string"),
        ("date", "timestamp"),
        ("timestamp", "bigint"),
        ("timestamp_ntz", "timestamp"),
        ("map<int,int>", "map<bigint,int>"),
        ("struct<hi:int,lo:int>", "struct<lo:int,hi:int>"),
        ("array<struct<a:int>>", "array<struct<b:int>>"),
    ],
)
def test_what_may_lose_or_move_a_value_is_not(given: str, wanted: str) -> None:
    assert not is_lossless(parsed(given), parsed(wanted))
