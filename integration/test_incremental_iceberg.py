"""A project whose models all lie in an Iceberg catalog, and runs of it that die."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.impl import HiveAcidAdapter
from dbt.adapters.hiveacid.targets.iceberg import BRANCH, IcebergStore
from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer
from integration.support.incremental import BY_KEY, MODELS, ORDERS, Incremental

TABLE = """{{ config(file_format='iceberg') }}
select id, amount * 2 as twice, status from {{ source('shop', 'orders') }}
where status <> 'hidden'"""

CHANGES = """{{ config(materialized='incremental', incremental_strategy='append',
    file_format='iceberg') }}
select id, _change_type as change from {{ acid_changes(source('shop', 'orders')) }}"""

IN_LAKE = {
    "iceberg_log": BY_KEY.replace("unique_key='id'", "file_format='iceberg'"),
    "iceberg_ids": MODELS["iceberg_ids"].replace(", schema='lake.' ~ target.schema", ""),
    "iceberg_table": TABLE,
    "iceberg_child": "{{ config(file_format='iceberg') }} select * from {{ ref('iceberg_log') }}",
}


class Killed(Exception):
    """The end of the process, as far as the adapter can see it: nothing is cleaned up."""


@pytest.fixture
def in_lake(
    tmp_path: Path, hive: HiveServer, hive_client: HiveClient, spark: SparkSession, database: str
) -> Incremental:
    """Models in the schema of the profile, which names the catalog."""
    project = DbtProject(tmp_path / "project", hive, database, schema=f"lake.{database}")
    return Incremental(project, hive_client, spark, database)


@pytest.mark.long("a minute; steps on Iceberg are among the crash points that are always run")
def test_a_run_that_dies_is_made_right_by_the_next(
    in_lake: Incremental, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive, project = in_lake.hive, in_lake.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new'), (3, 30, 'hidden')")
    project.sources("orders")
    project.models(**IN_LAKE, iceberg_changes=CHANGES)
    in_lake.run()
    in_lake.assert_like_hive(IN_LAKE)

    def branches() -> list[str]:
        refs = in_lake.spark.newSession().table(f"{in_lake.table('iceberg_ids')}.refs")
        return [row["name"] for row in refs.collect() if row["name"].startswith(BRANCH)]

    original = IcebergStore._publish
    for id_, is_published in ((4, False), (5, True)):
        hive.execute(f"INSERT INTO orders VALUES ({id_}, 40, 'new')")
        hive.execute("UPDATE orders SET amount = amount + 1 WHERE id = 1")
        before = in_lake.rows("iceberg_ids")

        def dying(store: IcebergStore, *arguments: Any, late: bool = is_published) -> None:
            if late:
                original(store, *arguments)
            raise Killed

        with monkeypatch.context() as patch:
            patch.setattr(IcebergStore, "_publish", dying)
            patch.setattr(IcebergStore, "_discard", lambda *_: None)
            patch.setattr(HiveAcidAdapter, "post_model_hook", lambda *_: None)
            assert not project.invoke("run", "--select", "iceberg_ids").success
        if is_published:
            in_lake.assert_like_hive(["iceberg_ids"])
        else:
            assert in_lake.rows("iceberg_ids") == before
            assert len(branches()) == 1
        messages = in_lake.run()
        assert (messages["iceberg_ids"] == "OK, no changes") is is_published
        in_lake.assert_like_hive(IN_LAKE)
        assert branches() == []
    ids = in_lake.rows("iceberg_changes", "id")
    assert sorted(ids) == [(i,) for i in "111112345"], "each update is a delete and an insert"
    project.succeed("docs", "generate")
    columns = project.artifact("catalog.json")["nodes"]["model.test.iceberg_ids"]["columns"]
    assert list(columns) == ["id", "twice", "status", "_hive_row_id"]
    # An update, which takes a key or row ids to apply.
    assert any("iceberg_log is rebuilt" in warning for warning in in_lake.warnings)
