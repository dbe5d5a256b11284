"""Lines of JSON, as Hive writes them, in columns."""

from __future__ import annotations

import pytest
from pyspark.errors import SparkRuntimeException
from pyspark.sql import DataFrame, SparkSession

from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.columns import table_columns
from hiveacid.reader.formats.json import json_columns, with_members
from hiveacid.reader.projection import project


def read(spark: SparkSession, columns: dict[str, str], *lines: str) -> DataFrame:
    storage = StorageDescriptor(
        "file:/t", tuple(Column(*column) for column in columns.items()), None, None, {}
    )
    table = Table(TableName("shop", "events"), "MANAGED_TABLE", storage, (), {}, 0)
    frame = spark.createDataFrame([(line,) for line in lines], "value string")
    own = table_columns(table)
    return project(with_members(frame, own), json_columns(own))


COLUMNS = {
    "name": "string",
    "code": "varchar(9)",
    "s": "struct<name:int,t:struct<name:boolean,code:array<int>>>",
    "m": "map<string,int>",
    "l": "array<struct<code:double,text:string>>",
}


def test_members_inside_of_others_with_the_name_of_a_text_column(spark: SparkSession) -> None:
    line = (
        '{"name":"a {\\"name\\": 1","code":null,"s":{"name":5,"t":{"name":true,"code":[1,2]}},'
        '"m":{"name":1,"code":2},"l":[{"code":1.5,"text":"]}\\\\"},{"code":2.0,"text":"code"}]}'
    )
    frame = read(spark, COLUMNS, line, '{"more": {"name": 1}, "name": "b"}')
    (first,), (second,) = frame.selectExpr("to_json(struct(*))").collect()
    assert first == line.replace('"code":null,', "")
    assert second == '{"name":"b"}'


@pytest.mark.parametrize(
    "line",
    [
        '{"s": {"name": 1}, "NAME" : 1}',
        '{"name": {"name": "x"}, "code": "1"}',
        '{"m": {"name": 1}, "_col0": [1]}',
    ],
)
def test_text_columns_without_a_string(spark: SparkSession, line: str) -> None:
    with pytest.raises(SparkRuntimeException, match="shop.events has JSON that is not what Hive"):
        read(spark, COLUMNS, line).collect()
