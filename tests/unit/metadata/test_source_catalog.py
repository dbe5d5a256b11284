from dataclasses import replace

import agate
import pytest
from dbt.adapters.spark.column import SparkColumn
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER
from dbt_common.contracts.metadata import ColumnMetadata, TableMetadata
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.metadata import catalog as catalog_module
from dbt.adapters.hiveacid.metadata.catalog import (
    Catalog,
    catalog_rows,
    catalog_table,
    described_rows,
    spark_columns,
    with_rows,
)
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.metadata.statistics import entries
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from hiveacid.metastore.models import Column, StorageDescriptor, Table, TableName
from hiveacid.reader.statistics import TableStatistics
from hiveacid.snapshots.tables import UnlockedTable
from tests.unit.metadata.fakes import Connections, manifest, node, source

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
    statistics = entries(TableStatistics(None, 3, 2749, True, None, 4))
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


PLAIN = replace(ORDERS, name=TableName("shop", "plain"), parameters={})
SEEN = UnlockedTable(ORDERS, (), ValidWriteIdList(12), ValidTxnList(9))


class Docs:
    """A catalog over fakes: `sparks_own` are the plain tables of Spark's own catalog."""

    def __init__(self, monkeypatch, sources=("orders",), nodes=()):
        self.sparks_own, self.described = set(), []
        monkeypatch.setattr(
            catalog_module, "is_plain_table", lambda _, *name: TableName(*name) in self.sparks_own
        )
        monkeypatch.setattr(
            catalog_module,
            "statistics_for_docs",
            lambda session, seen: TableStatistics.of(seen, None),
        )
        declared = manifest(
            sources=[source("Shop", name) for name in sources],
            nodes=[node("Shop", name) for name in nodes],
        )
        self.catalog = Catalog(
            Connections(),
            Project(lambda: declared),
            {table.name: table for table in (ORDERS, PLAIN)}.get,
            lambda names: {ORDERS.name: SEEN} if ORDERS.name in names else {},
            self.describe,
        )

    def describe(self, relation):
        self.described.append(str(relation))
        table = {"table_schema": "shop", "table_name": relation.identifier, "table_type": "table"}
        column = SparkColumn(column="of_spark", dtype="int", column_index=0, **table)
        return [column], [{"col_name": "of_spark", "data_type": "int", "comment": "seen"}]


@pytest.fixture
def docs(monkeypatch):
    return Docs(monkeypatch)


def relation(name, schema="shop"):
    return HiveAcidRelation.create(schema=schema, identifier=name, type="table")


def test_columns_of_a_declared_source_come_from_the_metastore(docs):
    columns = docs.catalog.acid_columns(relation("orders"))
    assert [(column.name, column.data_type) for column in columns] == [
        ("id", "int"),
        ("item", "varchar(10)"),
        ("day", "date"),
    ]


def test_a_target_with_the_name_of_a_source_has_its_own_columns(docs):
    """The models' tables are in another catalog than the metastore of the sources."""
    docs.sparks_own.add(ORDERS.name)
    assert docs.catalog.acid_columns(relation("orders")) is None


def test_a_source_in_another_metastore_is_one_that_no_node_makes(monkeypatch):
    catalog = Docs(monkeypatch, sources=["orders", "plain"]).catalog
    assert catalog.is_acid_elsewhere(relation("orders"))
    assert not catalog.is_acid_elsewhere(relation("plain"))
    assert not catalog.is_acid_elsewhere(relation("other"))
    made = Docs(monkeypatch, nodes=["orders"]).catalog
    assert not made.is_acid_elsewhere(relation("orders")), "a model's target, not made yet"


def test_the_docs_of_a_single_source_come_from_the_metastore(docs):
    table = docs.catalog.of_relation(relation("orders"))
    assert table.metadata.name == "orders"
    assert list(table.columns) == ["id", "item", "day"]
    assert table.stats["last_write_id"].value == 12
    assert not docs.described


def test_the_docs_of_another_table_come_from_spark(docs):
    docs.sparks_own.add(ORDERS.name)
    for name in ("orders", "other"):
        assert list(docs.catalog.of_relation(relation(name)).columns) == ["of_spark"]
    assert docs.described == ["shop.orders", "shop.other"]


@pytest.mark.parametrize(
    ("declared", "asks_spark"),
    [
        ({"sources": ["orders"]}, False),
        ({"sources": ["orders", "plain"]}, True),
        ({"sources": ["orders"], "nodes": ["m"]}, True),
    ],
)
def test_spark_lists_a_database_only_if_it_has_more_than_acid_sources(
    monkeypatch, declared, asks_spark
):
    asked = []

    def in_spark():
        asked.append("listing")
        return catalog()

    found = Docs(monkeypatch, **declared).catalog.of_schemas(["shop"], in_spark)
    assert [row["column_name"] for row in found.rows] == ["id", "item", "day"]
    assert bool(asked) is asks_spark


def test_relations_of_the_docs_have_their_comments_from_spark(monkeypatch):
    docs = Docs(monkeypatch, nodes=["m"])

    def listed(relation):
        return [f"listing of {relation}"]

    assert [row["column_comment"] for row in docs.catalog.rows_of_spark(relation("m"), listed)] == [
        "seen"
    ]
    assert docs.catalog.rows_of_spark(relation("x"), listed) == ["listing of shop.x"]
    function = HiveAcidRelation.create(schema="shop", identifier="f", type="function")
    assert docs.catalog.rows_of_spark(function, listed) == []


def test_relations_that_spark_cannot_describe_have_no_comments(monkeypatch):
    docs = Docs(monkeypatch, nodes=["m"])

    def fail(relation):
        raise DbtRuntimeError("it is gone")

    docs.catalog._describe = fail
    found = docs.catalog.rows_of_spark(relation("m"), lambda relation: ["listed"])
    assert found == ["listed"]
