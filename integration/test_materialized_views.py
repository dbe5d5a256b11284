"""Materialized views of Hive: they are transactional tables, with rows of their last rebuild."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.changes.state import SourceState
from integration.support.dbt_project import DbtProject
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID, INSERT_ONLY
from integration.support.targets import ThreeWays

VIEWS = {
    "full_acid": "STORED AS ORC TBLPROPERTIES ('transactional'='true') "
    "AS SELECT id, n FROM {o} WHERE n > 5",
    "insert_only": f"STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY}) AS SELECT id, n FROM {{o}}",
    "by_partition": "PARTITIONED ON (n) STORED AS ORC TBLPROPERTIES ('transactional'='true') "
    "AS SELECT id, n FROM {o}",
}


@pytest.fixture
def views(hive_client: HiveClient, database: str) -> Iterator[dict[str, str]]:
    """Views over `orders`, by their kinds."""
    hive_client.execute(
        f"CREATE TABLE orders (id int, n int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute("INSERT INTO orders VALUES (1, 10), (2, 20), (3, 20)")
    for kind, clause in VIEWS.items():
        query = clause.format(o=f"{database}.orders")
        hive_client.execute(f"CREATE MATERIALIZED VIEW {database}.{kind} {query}")
    yield {kind: f"{database}.{kind}" for kind in VIEWS}
    for kind in VIEWS:
        hive_client.execute(f"DROP MATERIALIZED VIEW {database}.{kind}")


def test_they_show_what_hive_shows_stale_or_not(
    differential: Differential,
    hive_client: HiveClient,
    views: dict[str, str],
    database: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    spark, uri = differential.spark, differential.hive.metastore_uri
    states: dict[str, SourceState] = {}

    def compare() -> list[str]:
        """Assert that all ways of reading agree; the warnings of the library."""
        caplog.clear()
        for view in views.values():
            differential.check(view, where="n = 20")
        with (
            caplog.at_level(logging.WARNING, "hiveacid"),
            hiveacid.snapshot(spark, uri, views.values()) as snapshot,
        ):
            for kind, view in views.items():
                hives = canonical(hive_client.query(f"SELECT id, n FROM {view}"))
                assert canonical(snapshot.table(view).select("id", "n").collect()) == hives
                changes = snapshot.changes(view, states.get(kind))
                if kind not in states:
                    assert canonical(changes.rows.select("id", "n").collect()) == hives
                states[kind] = changes.state
        return [record.getMessage() for record in caplog.records if record.name == "hiveacid"]

    assert compare() == []
    before = dict(states)
    hive_client.execute("INSERT INTO orders VALUES (4, 30)")
    warnings = compare()
    assert len(warnings) == len(views)
    for view, warning in zip(views.values(), warnings, strict=True):
        since = f"since writes to {database}.orders (write id 2)."
        assert f"{view} is a materialized view that Hive has not rebuilt {since}" in warning
    for view in views.values():
        hive_client.execute(f"ALTER MATERIALIZED VIEW {view} REBUILD")
    with hiveacid.snapshot(spark, uri, views.values()) as snapshot:
        changes = snapshot.changes(views["full_acid"], before["full_acid"])
        assert not changes.losses
        assert canonical(changes.rows.select("id", "n").collect()) == [("4", "30")]
        # Hive has written all of its rows again.
        assert snapshot.changes(views["insert_only"], before["insert_only"]).losses
    assert compare() == []


@pytest.mark.long("a minute; that such views are read right is always run")
def test_models_over_them(
    hive: HiveServer,
    hive_client: HiveClient,
    spark: SparkSession,
    views: dict[str, str],
    database: str,
    other_schema: str,
    tmp_path: Path,
) -> None:
    # Spark cannot list the tables of a database with a materialized view.
    project = DbtProject(tmp_path / "project", hive, database, schema=other_schema)
    filters = dict.fromkeys(views, "n = 20")
    models = ThreeWays(project, hive_client, spark, "id, n", filters, other_schema)
    models.check()
    hive_client.execute("INSERT INTO orders VALUES (4, 30), (5, 20)")
    models.check()
    for view in views.values():
        hive_client.execute(f"ALTER MATERIALIZED VIEW {view} REBUILD")
    models.check()
