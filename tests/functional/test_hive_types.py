"""Hive's type strings as Spark's own parser reads them, where it can."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.py4j import java
from hiveacid.reader.types import spark_type

PARSER = "org.apache.spark.sql.catalyst.parser.CatalystSqlParser$"


def parsed_by_spark(spark: Any, hive_type: str) -> Any:
    parser = getattr(java(spark.sparkContext, PARSER), "MODULE$")
    return json.loads(parser.parseDataType(hive_type).json())


@pytest.mark.parametrize(
    "hive_type",
    [
        "tinyint",
        "int",
        "decimal",
        "decimal(12)",
        "decimal(38,18)",
        "char(5)",
        "varchar(65535)",
        "timestamp",
        "array<char(5)>",
        "map<string,array<decimal(4,2)>>",
        "struct<a:int,b:struct<c:string,`d e`:date>>",
        "struct<A:int,`d e`:map<int,struct<x:double>>>",
        "struct<1a:int>",
        "struct<select:int,timestamp:int>",
    ],
)
def test_spark_parses_a_type_as_we_do(spark: Any, hive_type: str) -> None:
    assert parsed_by_spark(spark, hive_type) == spark_type(hive_type, True).jsonValue()


@pytest.mark.parametrize("name", ["d e", "a$b", "a-b", "ü", "a.b"])
def test_spark_refuses_a_name_that_hive_writes_without_quotes(spark: Any, name: str) -> None:
    hive_type = f"struct<{name}:int>"
    with pytest.raises(JAVA_ERRORS):
        parsed_by_spark(spark, hive_type)
    struct: Any = spark_type(hive_type)
    assert struct.names == [name]


@pytest.mark.parametrize("refused", ["void", "real", "long", "timestamp_ntz", "struct<a int>"])
def test_spark_takes_types_that_we_refuse(spark: Any, refused: str) -> None:
    assert parsed_by_spark(spark, refused)
    with pytest.raises(ValueError):
        spark_type(refused)
