"""A Hive as it comes: tables that are not transactional are external, whoever creates them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.support.dbt_process import DbtProcess
from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.test_dbt_run import rows

MODELS = {
    "rebuilt": "select * from {{ source('shop', 'orders') }}",
    "appended": "{{ config(materialized='incremental') }}\n"
    "select id, {{ var('run') }} as run from {{ source('shop', 'orders') }}",
    "overwritten": "{{ config(materialized='incremental', incremental_strategy='insert_overwrite',"
    " partition_by='day') }}\n"
    "select id, day from {{ source('shop', 'orders') }}",
    "from_insert_only": "select * from {{ source('shop', 'events') }}",
    "from_plain": "select * from {{ source('shop', 'plain') }}",
    "seen": "{{ config(materialized='view') }} select * from {{ ref('rebuilt') }}",
}


@pytest.fixture(scope="module")
def external(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of external tables, as a production Hive has one."""
    return tmp_path_factory.mktemp("external")


@pytest.fixture(scope="module")
def stock_hive(tmp_path_factory: pytest.TempPathFactory, external: Path) -> Iterator[HiveServer]:
    """A Hive with the default `metastore.metadata.transformer.class`."""
    settings = HiveSettings(
        translate_tables=True, extra={"metastore.warehouse.external.dir": f"file://{external}"}
    )
    with HiveServer(settings, work=tmp_path_factory.mktemp("stock_hive")) as server:
        yield server


@pytest.fixture
def client(stock_hive: HiveServer) -> Iterator[HiveClient]:
    """A session in the database `shop`."""
    with HiveClient(stock_hive.hs2_port) as client:
        client.execute("CREATE DATABASE shop")
        client.execute("USE shop")
        yield client


def properties(client: HiveClient, table: str) -> dict[str, str]:
    """DESCRIBE FORMATTED: what has a name and a value."""
    described = client.query(f"DESCRIBE FORMATTED {table}")
    triples = [[(cell or "").strip() for cell in row] for row in described]
    return {
        first.rstrip(":") or second: second if first else third for first, second, third in triples
    }


@pytest.mark.long("starts a Hive of its own, and a Spark")
def test_sources_are_read_and_targets_written_all_the_same(
    stock_hive: HiveServer, client: HiveClient, external: Path, tmp_path: Path
) -> None:
    client.script(
        """
        CREATE TABLE orders (id int, day string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        CREATE TABLE events (id int) STORED AS PARQUET
          TBLPROPERTIES ('transactional'='true', 'transactional_properties'='insert_only');
        CREATE TABLE plain (id int) STORED AS PARQUET;
        INSERT INTO orders VALUES (1, 'a'), (2, 'b');
        INSERT INTO events VALUES (1);
        INSERT INTO plain VALUES (1);
        """
    )
    assert properties(client, "orders")["Table Type"] == "MANAGED_TABLE"
    assert properties(client, "plain")["TRANSLATED_TO_EXTERNAL"] == "TRUE"
    project = DbtProject(tmp_path / "project", stock_hive, "shop")
    project.sources("orders", "events", "plain")
    project.models(**MODELS)
    project.write(
        "macros/drop_model.sql",
        "{% macro drop_model(name) %}"
        "{% do adapter.drop_relation(api.Relation.create("
        "schema=target.schema, identifier=name, type='table')) %}"
        "{% endmacro %}",
    )
    with DbtProcess(project) as dbt:

        def assert_both_see(table: str, expected: list[tuple[object, ...]]) -> None:
            assert dbt.query(f"select * from shop.{table}") == expected
            assert rows(client, table) == expected

        dbt.succeed("run", "--vars", "run: 1")
        assert_both_see("rebuilt", [(1, "a"), (2, "b")])
        assert_both_see("appended", [(1, 1), (2, 1)])
        assert_both_see("overwritten", [(1, "a"), (2, "b")])
        assert_both_see("from_plain", [(1,)])

        client.script(
            """
            DELETE FROM orders WHERE id = 1;
            UPDATE orders SET id = 20 WHERE id = 2;
            INSERT INTO orders VALUES (3, 'c');
            INSERT INTO events VALUES (2);
            INSERT INTO plain VALUES (2);
            """
        )
        dbt.succeed("run", "--vars", "run: 2")
        assert_both_see("rebuilt", [(3, "c"), (20, "b")])
        assert_both_see("seen", [(3, "c"), (20, "b")])
        assert_both_see("appended", [(1, 1), (2, 1), (3, 2), (20, 2)])
        assert_both_see("overwritten", [(1, "a"), (3, "c"), (20, "b")])
        assert_both_see("from_insert_only", [(1,), (2,)])
        assert_both_see("from_plain", [(1,), (2,)])

        tables = MODELS.keys() - {"seen"}
        assert {properties(client, table)["TRANSLATED_TO_EXTERNAL"] for table in tables} == {"TRUE"}
        directories = external / "shop.db"
        assert {path.name for path in directories.iterdir()} == {*tables, "plain"}
        assert {path.name for path in (stock_hive.warehouse / "shop.db").iterdir()} == {
            "orders",
            "events",
        }

        for table in ("rebuilt", "overwritten"):
            dbt.succeed("run-operation", "drop_model", "--args", f"name: {table}")
            assert not (directories / table).exists()
            assert (table,) not in client.query("SHOW TABLES")
