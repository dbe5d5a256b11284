"""Targets in Spark's own catalog, an embedded Derby database, with the sources in Hive's."""

from __future__ import annotations

from pathlib import Path

import pytest

from integration.support.dbt_process import DbtProcess
from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer
from integration.test_dbt_run import make_shop

SCHEMA_TESTS = """
version: 2
sources:
  - name: shop
    schema: {database}
    tables:
      - name: orders
        columns:
          - name: id
            data_tests: [unique, not_null]
      - name: customers
      - name: events
models:
  - name: by_customer
    columns:
      - name: id
        data_tests:
          - relationships:
              arguments: {{to: "source('shop', 'customers')", field: id}}
"""


CHECK_COLUMNS = """
{{% macro check_columns() %}}
  {{% set wanted = [["id", "int"], ["amount", "int"], ["day", "string"]] %}}
  {{% set orders = source("shop", "orders") %}}
  {{% set found = [] %}}
  {{% for row in run_query("describe {database}.orders") %}}
    {{% if loop.index <= 3 %}}{{% do found.append([row[0], row[1]]) %}}{{% endif %}}
  {{% endfor %}}
  {{% set names = run_query("show columns in {database}.orders").columns[0].values() %}}
  {{% set of_relation = [] %}}
  {{% for column in adapter.get_columns_in_relation(orders) %}}
    {{% do of_relation.append([column.name, column.dtype]) %}}
  {{% endfor %}}
  {{% if found != wanted or of_relation != wanted or names | list != ["id", "amount", "day"] %}}
    {{{{ exceptions.raise_compiler_error(found ~ of_relation ~ names) }}}}
  {{% endif %}}
  {{% if adapter.hiveacid_snapshot_report()["transaction"] %}}
    {{{{ exceptions.raise_compiler_error("a transaction was opened") }}}}
  {{% endif %}}
{{% endmacro %}}
"""


@pytest.fixture
def project(tmp_path: Path, hive: HiveServer, database: str) -> DbtProject:
    """A project whose Spark has a catalog and a warehouse of its own below the test's directory."""
    derby = tmp_path / "derby"
    parameters = {
        "spark.master": "local[2]",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        # Derby writes its log there.
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={derby}",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={derby}/catalog;create=true"
        ),
        "spark.sql.warehouse.dir": f"file://{tmp_path}/warehouse",
    }
    project = DbtProject(
        tmp_path / "project",
        hive,
        database,
        schema="marts",
        profile={"server_side_parameters": parameters},
    )
    project.write("models/schema.yml", SCHEMA_TESTS.format(database=database))
    project.write("macros/check_columns.sql", CHECK_COLUMNS.format(database=database))
    project.models(
        by_customer="select c.id, sum(o.amount) as amount from {{ source('shop', 'customers') }} c"
        " join {{ source('shop', 'orders') }} o on c.id = o.id group by c.id",
        event_log="{{ config(materialized='incremental') }}\n"
        "select id, kind from {{ source('shop', 'events') }}\n"
        "{% if is_incremental() %} where id > (select max(id) from {{ this }}) {% endif %}",
        biggest="{{ config(materialized='view') }}"
        " select max(amount) as amount from {{ ref('by_customer') }}",
    )
    return project


@pytest.mark.long("a process with a Spark and a catalog of its own")
def test_builds_follow_hive(
    project: DbtProject, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    make_shop(hive_client, database)
    first = project.start("build")
    output, _ = first.communicate(timeout=300)
    assert first.returncode == 0, output

    with DbtProcess(project) as dbt:

        def assert_targets(
            by_customer: list[tuple[int, int]], events: list[tuple[int, str]]
        ) -> None:
            assert dbt.query("select * from marts.by_customer") == by_customer
            assert dbt.query("select * from marts.event_log") == events
            assert dbt.query("select * from marts.biggest") == [(max(by_customer)[1],)]

        dbt.succeed("show", "--select", "by_customer")
        dbt.succeed("run-operation", "check_columns")
        # What the first process built is there for the second.
        assert_targets([(1, 10), (2, 20)], [(1, "visit"), (2, "order")])

        hive_client.execute("UPDATE orders SET amount = 11 WHERE id = 1")
        hive_client.execute("INSERT INTO events VALUES (3, 'visit')")
        dbt.succeed("build")
        assert_targets([(1, 11), (2, 20)], [(1, "visit"), (2, "order"), (3, "visit")])

        hive_client.execute("DELETE FROM customers WHERE id = 2")
        hive_client.compact("orders", "major", "day='a'")
        for command in ("ls", "compile", "docs generate", "build"):
            dbt.succeed(*command.split())
        assert_targets([(1, 11)], [(1, "visit"), (2, "order"), (3, "visit")])

        dbt.succeed("run", "--empty", "--select", "by_customer")
        assert dbt.query("select * from marts.by_customer") == []

    assert sorted(path.name for path in (tmp_path / "warehouse" / "marts.db").iterdir()) == [
        "by_customer",
        "event_log",
    ]
    assert hive_client.query("SHOW DATABASES LIKE 'marts'") == []
