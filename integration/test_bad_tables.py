"""A schema with tables that Spark cannot describe: only a model of such a name is refused."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from dbt_common.events.base_types import EventMsg
from hmsclient import HMSClient
from hmsclient.genthrift.hive_metastore import ttypes

from integration.support.dbt_project import DbtProject, node_results
from integration.support.hive import HiveClient, HiveServer

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
DROP = """
{% macro drop(name) %}
  {% do adapter.drop_relation(adapter.get_relation(none, target.schema, name)) %}
{% endmacro %}
{% macro rename(name) %}
  {% set relation = adapter.get_relation(none, target.schema, name) %}
  {% do adapter.rename_relation(relation, relation.incorporate(path={'identifier': 'renamed'})) %}
{% endmacro %}
{% macro drop_schema_of_target() %}
  {% do adapter.drop_schema(api.Relation.create(schema=target.schema)) %}
{% endmacro %}
"""
BAD = {
    "stored_ids": "hive materialized view",
    "in_hbase": "org.apache.hadoop.hive.hbase",
    "of_unions": "uniontype",
    "of_more_unions": "uniontype",
}
"""The tables that Spark cannot describe, and words of the reasons."""


@pytest.fixture
def project(
    dbt_project: DbtProject, hive: HiveServer, hive_client: HiveClient, database: str
) -> Iterator[DbtProject]:
    """A project whose models go into a schema with such tables."""
    hive_client.script(
        f"""
        CREATE TABLE orders (id int) {ACID};
        INSERT INTO orders VALUES (1), (2);
        CREATE MATERIALIZED VIEW stored_ids {ACID} AS SELECT id FROM {database}.orders;
        CREATE VIEW of_unions AS SELECT create_union(0, id, 'a') AS u FROM {database}.orders;
        CREATE VIEW of_more_unions AS SELECT * FROM {database}.of_unions;
        CREATE VIEW of_buckets AS
          SELECT id FROM {database}.orders TABLESAMPLE(BUCKET 1 OUT OF 2 ON id) s;
        """
    )
    with metastore_client(hive) as metastore:
        create_in_hbase(metastore, hive, database, "in_hbase")
    dbt_project.sources("orders")
    dbt_project.write("macros/drop.sql", DROP)
    yield dbt_project
    with metastore_client(hive) as metastore:
        # HiveServer2 could not drop it without HBase's classes.
        metastore.drop_table(database, "in_hbase", False)


def metastore_client(hive: HiveServer) -> HMSClient:
    address = urlsplit(hive.metastore_uri)
    return HMSClient(host=address.hostname, port=address.port)


def create_in_hbase(metastore: HMSClient, hive: HiveServer, database: str, table: str) -> None:
    """Make a table of HBase as Hive has it: neither this Hive nor Spark has HBase's classes."""
    handler = "org.apache.hadoop.hive.hbase"
    storage = ttypes.StorageDescriptor(
        cols=[ttypes.FieldSchema("id", "int", "")],
        location=f"file:{hive.warehouse}/{database}.db/{table}",
        serdeInfo=ttypes.SerDeInfo(
            serializationLib=f"{handler}.HBaseSerDe",
            parameters={"hbase.columns.mapping": ":key", "serialization.format": "1"},
        ),
        bucketCols=[],
        sortCols=[],
        parameters={},
        numBuckets=-1,
    )
    metastore.create_table(
        ttypes.Table(
            tableName=table,
            dbName=database,
            owner="hbase",
            sd=storage,
            partitionKeys=[],
            parameters={
                "EXTERNAL": "TRUE",
                "storage_handler": f"{handler}.HBaseStorageHandler",
                "hbase.table.name": table,
            },
            tableType="EXTERNAL_TABLE",
        )
    )


def test_other_models_run(project: DbtProject, hive_client: HiveClient, database: str) -> None:
    project.models(
        copied="select *, '{{ adapter.get_relation(none, schema, \"stored_ids\") }}' as other"
        " from {{ source('shop', 'orders') }}",
        counted="{{ config(materialized='view') }} select count(*) as n from {{ ref('copied') }}",
    )
    project.succeed("run")
    project.succeed("run")
    other = f"{database}.stored_ids"
    assert hive_client.query("SELECT * FROM copied ORDER BY id") == [(1, other), (2, other)]
    project.succeed("docs", "generate")
    documented = project.artifact("catalog.json")
    assert set(documented["nodes"]) == {"model.test.copied", "model.test.counted"}
    assert documented["errors"] is None


def test_a_model_of_such_a_name_is_told(
    project: DbtProject, hive_client: HiveClient, database: str
) -> None:
    query = "select id from {{ source('shop', 'orders') }}"
    project.models(
        stored_ids=query,
        in_hbase=f"{{{{ config(materialized='incremental') }}}} {query}",
        of_unions="{{ config(materialized='view') }} select 1 as id",
        copied=query,
    )
    project.write("seeds/of_more_unions.csv", "id\n1\n")
    result = project.invoke("build")
    messages = {node.node.name: str(node.message) for node in node_results(result)}
    assert messages.pop("copied").startswith("OK")
    for name, words in BAD.items():
        message = messages.pop(name)
        assert f"{database}.{name} is a table or view that Spark cannot describe: " in message
        assert words in message.lower() and "another `alias` or `schema`" in message
    assert messages == {}
    project.succeed("compile")
    assert hive_client.query("SELECT id FROM stored_ids ORDER BY id") == [(1,), (2,)]


def test_such_a_table_is_neither_dropped_nor_renamed(
    project: DbtProject, hive: HiveServer, database: str
) -> None:
    errors: list[str] = []

    def listen(event: EventMsg) -> None:
        if event.info.level == "error":
            errors.append(event.info.msg)  # type: ignore[attr-defined]

    for name in BAD:
        for macro in ("drop", "rename"):
            errors.clear()
            arguments = ("run-operation", macro, "--args", f"{{name: {name}}}")
            assert not project.invoke(*arguments, on_event=listen).success
            assert f"{database}.{name} is a table or view that Spark cannot" in "".join(errors)
    errors.clear()
    assert not project.invoke("run-operation", "drop_schema_of_target", on_event=listen).success
    assert "is a table or view that Spark cannot describe" in "".join(errors)
    with metastore_client(hive) as metastore:
        assert {*BAD, "orders"} <= set(metastore.get_all_tables(database))
