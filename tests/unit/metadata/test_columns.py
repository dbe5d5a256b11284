import agate
from dbt.adapters.spark.column import SparkColumn
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER
from dbt_common.contracts.metadata import ColumnMetadata, TableMetadata

from dbt.adapters.hiveacid.metadata.catalog import (
    catalog_rows,
    catalog_table,
    described_rows,
    spark_columns,
    with_rows,
)
from dbt.adapters.hiveacid.metadata.statistics import TableStatistics
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName

ORDERS = Table(
    TableName("shop", "orders"),
    "MANAGED_TABLE",
    StorageDescriptor("/x", (Column("id", "int"), Column("item", "varchar(10)", "what was sold"))),
    (Column("day", "date"),),
    {"transactional": "true"},
    0,
    owner="etl",
)


def catalog(*rows):
    return agate.Table.from_object(list(rows), column_types=DEFAULT_TYPE_TESTER)


def test_columns_have_hives_types_and_the_partition_keys_come_last():
    assert [(c.name, c.data_type, c.column_index) for c in spark_columns(ORDERS)] == [
        ("id", "int", 0),
        ("item", "varchar(10)", 1),
        ("day", "date", 2),
    ]


ROWS = catalog_rows(ORDERS, {"stats:rows:value": 7})


def test_a_source_that_spark_does_not_know_is_added_to_the_docs():
    other = {"table_schema": "shop", "table_name": "other", "column_name": "id", "stats": 1}
    rows = with_rows(catalog(other), ROWS).rows
    assert [(row["table_name"], row["column_name"]) for row in rows] == [
        ("other", "id"),
        ("orders", "id"),
        ("orders", "item"),
        ("orders", "day"),
    ]
    assert rows[1]["table_owner"] == "etl"
    assert rows[1]["column_type"] == "int"
    assert [row["column_comment"] for row in rows] == [None, None, "what was sold", None]
    assert [row["stats:rows:value"] for row in rows] == [None, 7, 7, 7]


def test_docs_of_nothing_but_a_source():
    assert len(with_rows(catalog(), ROWS).rows) == 3
    assert with_rows(known := catalog(), []) is known


def test_the_metastore_knows_better_than_spark():
    known = catalog({"table_name": "Orders", "column_name": "old", "table_schema": "shop"})
    assert [row["column_name"] for row in with_rows(known, ROWS).rows] == ["id", "item", "day"]


def test_a_single_table_of_the_docs():
    statistics = TableStatistics(None, 3, 2749, True, None, 4).entries()
    table = catalog_table(catalog_rows(ORDERS, statistics))
    assert table.metadata == TableMetadata("table", "shop", "orders", owner="etl")
    assert table.columns["item"] == ColumnMetadata("varchar(10)", 1, "item", "what was sold")
    assert list(table.columns) == ["id", "item", "day"]
    assert {name: item.value for name, item in table.stats.items()} == {
        "rows": 3,
        "bytes": 2749,
        "last_write_id": 4,
    }
    assert catalog_table([]) is None


def test_comments_of_a_table_that_spark_describes():
    described = [
        {"col_name": "id", "data_type": "bigint", "comment": "the key"},
        {"col_name": "Comment", "data_type": "string", "comment": ""},
        {"col_name": "", "data_type": "", "comment": ""},
        {"col_name": "# Detailed Table Information", "data_type": "", "comment": ""},
        {"col_name": "Comment", "data_type": "all orders", "comment": ""},
    ]
    columns = [SparkColumn(column="id", dtype="bigint"), SparkColumn("Comment", "string")]
    rows = described_rows(columns, described)
    assert [row["column_comment"] for row in rows] == ["the key", None]
    assert {row["table_comment"] for row in rows} == {"all orders"}
