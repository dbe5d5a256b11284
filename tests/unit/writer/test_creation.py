"""Tables that are to be created: what the metastore is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    CharType,
    DayTimeIntervalType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
)

from hiveacid.errors import HiveAcidError
from hiveacid.metastore.models import TableName
from hiveacid.metastore.new_tables import table_struct
from hiveacid.writer.creation import TableLayout, new_table

NAME = TableName("marts", "daily")
OF_CHAR = {"__CHAR_VARCHAR_TYPE_STRING": "struct<A:char(3),b:array<varchar(7)>>"}


def test_types_are_those_of_hive() -> None:
    inner = StructType([StructField("A", StringType()), StructField("b", ArrayType(StringType()))])
    schema = StructType(
        [
            StructField("Id", LongType(), metadata={"comment": "a key"}),
            StructField("d", DecimalType(10, 2)),
            StructField("m", MapType(StringType(), ArrayType(TimestampType()))),
            StructField("c", CharType(3)),
            StructField("v", StringType(), metadata={"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)"}),
            StructField("s", inner, metadata=OF_CHAR),
            StructField("w", ArrayType(VarcharType(2))),
        ]
    )
    table = new_table(NAME, schema, TableLayout(partitioned_by=["ID"]), "alice")
    assert [(it.name, it.type, it.comment) for it in table.partition_keys] == [
        ("id", "bigint", "a key")
    ]
    assert [it.type for it in table.storage.columns] == [
        "decimal(10,2)",
        "map<string,array<timestamp>>",
        "char(3)",
        "varchar(5)",
        "struct<a:char(3),b:array<varchar(7)>>",
        "array<varchar(2)>",
    ]
    struct = table_struct(table)
    assert struct.text(3) == "alice"
    assert 2 not in struct.struct(7).fields, "the metastore chooses the location"


@pytest.mark.parametrize(
    ("type_", "instead"),
    [
        (TimestampNTZType(), "timestamp"),
        (ArrayType(NullType()), "such as string"),
        (DayTimeIntervalType(), "string"),
    ],
)
def test_a_type_that_hive_lacks_is_an_error_with_advice(type_: Any, instead: str) -> None:
    schema = StructType([StructField("a", type_)])
    with pytest.raises(HiveAcidError, match=f"NO_HIVE_TYPE.*column a.*{instead}"):
        new_table(NAME, schema, TableLayout(), "alice")


@pytest.mark.parametrize(
    "layout",
    [
        TableLayout(partitioned_by=["a", "b"]),
        TableLayout(partitioned_by=["a"], clustered_by=["a"], buckets=2),
        TableLayout(clustered_by=["a"], buckets=4097),
        TableLayout(clustered_by=["a"]),
        TableLayout(kind="full", file_format="parquet"),
        TableLayout(kind="other"),
        TableLayout(properties={"Transactional": "false"}),
    ],
)
def test_arguments_that_contradict_each_other(layout: TableLayout) -> None:
    schema = StructType([StructField("a", IntegerType()), StructField("b", IntegerType())])
    with pytest.raises(HiveAcidError, match="INVALID_ARGUMENT"):
        new_table(NAME, schema, layout, "alice")
