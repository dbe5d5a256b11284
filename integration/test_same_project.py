"""One project on dbt-spark over plain tables and here over ACID tables: only `type:` differs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyspark.sql import SparkSession

from integration.support.dbt_project import SMALL, DbtDirectory, node_results
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held

PROJECT = Path(__file__).parent / "projects" / "same_shop"

ACID_TABLES = """
    CREATE TABLE {db}.raw_customers (id bigint, name string, country string)
      STORED AS ORC TBLPROPERTIES ('transactional'='true');
    INSERT INTO {db}.raw_customers VALUES (1, 'Ada', 'DE'), (2, 'Linus', 'FI'), (3, 'Gone', 'XX'),
      (4, 'O''Hara', null);
    DELETE FROM {db}.raw_customers WHERE id = 3;

    CREATE TABLE {db}.raw_orders (id bigint, customer_id bigint, amount decimal(10,2),
      status string, updated_at timestamp) STORED AS ORC TBLPROPERTIES ('transactional'='true');
    INSERT INTO {db}.raw_orders VALUES
      (1, 1, 10.50, 'new', '2024-11-01 08:00:00'), (2, 1, 250.00, 'open', '2024-11-01 09:00:00'),
      (3, 2, 7.25, 'paid', '2024-11-01 10:00:00'), (4, 4, 1.00, 'lost', '2024-11-01 11:00:00');
    UPDATE {db}.raw_orders SET status = 'open' WHERE id = 1;

    CREATE TABLE {db}.raw_orders_2023 LIKE {db}.raw_orders;
    INSERT INTO {db}.raw_orders_2023 VALUES (90, 2, 5.00, 'paid', '2023-12-31 23:59:59');

    CREATE TABLE {db}.raw_payments (id bigint, order_id bigint, method string, paid decimal(10,2))
      PARTITIONED BY (day date) STORED AS PARQUET TBLPROPERTIES ('transactional'='true',
      'transactional_properties'='insert_only');
    INSERT INTO {db}.raw_payments VALUES (1, 3, 'card', 7.25, '2024-11-01'),
      (2, 2, 'card', 100.00, '2024-11-01'), (3, 2, 'bank', 150.00, '2024-11-02');
"""
CHANGES = """
    UPDATE {db}.raw_orders SET status = 'paid', updated_at = '2024-11-02 08:00:00' WHERE id = 2;
    DELETE FROM {db}.raw_orders WHERE id = 4;
    INSERT INTO {db}.raw_orders VALUES (5, 2, 99.99, 'open', '2024-11-02 09:00:00');
    UPDATE {db}.raw_customers SET country = 'FI' WHERE id = 4;
    INSERT INTO {db}.raw_payments VALUES (4, 1, 'card', 10.50, '2024-11-02');
"""
SOURCES = ("raw_customers", "raw_orders", "raw_orders_2023", "raw_payments")
VIEWS = ("stg_customers", "stg_orders", "stg_payments", "stg_columns", "open_orders")
TABLES = ("orders", "customers", "order_log", "daily_payments", "row_counts", "countries")

ROWS = {
    **dict.fromkeys((*SOURCES, *VIEWS, *TABLES, "run_log"), "*"),
    # Without the times of the runs.
    "order_history": "* except (dbt_valid_to), dbt_valid_to is null as is_current",
    "customer_history": "customer_id, country, dbt_valid_to is null as is_current",
    # The tests' stored failures.
    "small_amounts": "*",
    "seen_small_amounts": "*",
}
"""The columns to compare of each relation of the project."""

TYPES = {"integer": "int", "long": "bigint"}
"""Types by their names in SQL, where dbt-spark's docs have those of Spark's classes."""


class SameProject(DbtDirectory):
    """A copy of the project with two targets: `spark` and `hiveacid`."""

    def __init__(self, path: Path, hive: HiveServer, schemas: dict[str, str]) -> None:
        super().__init__(path)
        shutil.copytree(PROJECT, path)
        self.schemas = schemas
        common = {"method": "session", "threads": 2}
        outputs = {
            "spark": {**common, "type": "spark", "host": "local", "schema": schemas["spark"]},
            "hiveacid": {
                **common,
                "type": "hiveacid",
                "schema": schemas["hiveacid"],
                "metastore_uri": hive.metastore_uri,
                "footer_cache": str(path / "footers"),
                "server_side_parameters": SMALL,
            },
        }
        self.write("profiles.yml", yaml.safe_dump({"same_shop": {"outputs": outputs}}))

    def command_line(self, *arguments: str) -> list[str]:
        """A dbt command's arguments. Each target has artifacts and a manifest of its own."""
        target = arguments[arguments.index("--target") + 1]
        return super().command_line(*arguments, "--target-path", self._artifacts(target))

    def run_both(self, *arguments: str) -> dict[str, Any]:
        """Run a command on both targets and assert that both say the same of each node.

        Returns:
            The results by the nodes' names.
        """
        spark, here = (self._run(target, *arguments) for target in ("spark", "hiveacid"))
        assert here == spark
        return here

    def rows(self, target: str) -> dict[str, list[str]]:
        """Return the rows of all relations as text, sorted."""
        selects = [
            f"select '{name}' as name, to_json(struct(*)) as row "
            f"from (select {columns} from {{{{ target.schema }}}}"
            f"{'_dbt_test__audit' if 'small_amounts' in name else ''}.{name})"
            for name, columns in ROWS.items()
        ]
        (shown,) = node_results(
            self.succeed(
                "show",
                "--target",
                target,
                "--limit",
                "-1",
                "--inline",
                " union all ".join(selects),
            )
        )
        rows: dict[str, list[str]] = {name: [] for name in ROWS}
        for name, row in shown.agate_table.rows:
            rows[name].append(self._neutral(target, row))
        return {name: sorted(found) for name, found in rows.items()}

    def columns(self, target: str) -> dict[str, list[tuple[str, str]]]:
        """Return what dbt's docs say of the columns of all nodes and sources."""
        self.succeed("docs", "generate", "--target", target)
        catalog = json.loads((self.path / self._artifacts(target) / "catalog.json").read_text())
        return {
            name: [
                (column["name"], TYPES.get(column["type"], column["type"]))
                for column in entry["columns"].values()
            ]
            for name, entry in {**catalog["nodes"], **catalog["sources"]}.items()
        }

    def _run(self, target: str, *arguments: str) -> dict[str, tuple[Any, ...]]:
        result = self.invoke(*arguments, "--target", target)
        assert result.exception is None, result.exception
        return {
            it.node.unique_id: (
                str(it.status),
                it.failures,
                None if it.status in ("success", "pass") else it.message,
                self._neutral(target, getattr(it.node, "compiled_code", None)),
                self._neutral(target, getattr(it.node, "relation_name", None)),
            )
            for it in node_results(result)
        }

    def _artifacts(self, target: str) -> str:
        return f"target_{target}"

    def _neutral(self, target: str, text: str | None) -> str:
        """Return a text as if the target's schema had the same name everywhere."""
        return "" if text is None else text.replace(self.schemas[target], "<schema>")


@pytest.fixture(autouse=True)
def small(spark: SparkSession) -> Iterator[None]:
    """dbt-spark runs in the session that the tests share."""
    for key, value in SMALL.items():
        spark.conf.set(key, value)
    yield
    for key in SMALL:
        spark.conf.unset(key)


@pytest.fixture
def schemas(database: str, other_schema: str, hive_client: HiveClient) -> Iterator[dict[str, str]]:
    """The databases of both targets, which begin with the same tables."""
    yield {"hiveacid": database, "spark": other_schema}
    for name in (database, other_schema):
        hive_client.execute(f"DROP DATABASE IF EXISTS {name}_dbt_test__audit CASCADE")


def copy_plainly(
    client: HiveClient, spark: SparkSession, schemas: dict[str, str], *, anew: bool = False
) -> None:
    """Make plain tables of what Hive itself reads from the ACID tables."""
    for table in SOURCES:
        source, copy = (f"{schemas[target]}.{table}" for target in ("hiveacid", "spark"))
        if anew:
            client.execute(f"INSERT OVERWRITE TABLE {copy} SELECT * FROM {source}")
            spark.catalog.refreshTable(copy)
        else:
            client.execute(f"CREATE TABLE {copy} STORED AS PARQUET AS SELECT * FROM {source}")


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param(1, id="once"),
        pytest.param(2, id="over changes", marks=pytest.mark.long("builds it a second time")),
    ],
)
def test_a_project_of_dbt_spark_runs_unchanged(
    runs: int,
    tmp_path: Path,
    hive: HiveServer,
    hive_client: HiveClient,
    spark: SparkSession,
    schemas: dict[str, str],
) -> None:
    project = SameProject(tmp_path / "same_shop", hive, schemas)
    hive_client.execute(f"CREATE DATABASE {schemas['spark']}")
    hive_client.script(ACID_TABLES.format(db=schemas["hiveacid"]))
    copy_plainly(hive_client, spark, schemas)

    built = project.run_both("build")
    assert len(built) == 29
    assert_same_rows(project)

    if runs > 1:
        hive_client.script(CHANGES.format(db=schemas["hiveacid"]))
        copy_plainly(hive_client, spark, schemas, anew=True)
        project.run_both("build", "--store-failures")
        assert_same_rows(project)
    assert project.columns("hiveacid") == project.columns("spark")
    assert_nothing_held(hive_client, schemas["hiveacid"])


def assert_same_rows(project: SameProject) -> None:
    """Compare every relation of the project, which has rows."""
    here, expected = project.rows("hiveacid"), project.rows("spark")
    for name in ROWS:
        assert here[name] == expected[name], name
    assert [name for name, rows in here.items() if not rows] == []
