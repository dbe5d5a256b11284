"""Targets in a database whose directory is not below the metastore's own warehouse.

A metastore that does not translate tables believes Spark's managed tables to be in its warehouse,
where nothing is; dbt renames tables, and Hive renames the directory that it believes in.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject
from integration.support.hive import HiveClient, HiveServer

_UPSERTED = (
    "{{ config(materialized='incremental', incremental_strategy='acid_changes', unique_key='id'%s)"
    " }}\nselect id, day from {{ acid_changes(source('shop', 'orders')) }}"
)
_WHOLE = "select id, day from {{ source('shop', 'orders') }}"
MODELS = {
    "plain": _WHOLE,
    "parted": "{{ config(partition_by='day') }} " + _WHOLE,
    "delta": "{{ config(file_format='delta') }} " + _WHOLE,
    "upserted": _UPSERTED % "",
    "upserted_parted": _UPSERTED % ", partition_by='day'",
    "upserted_delta": _UPSERTED % ", file_format='delta'",
    "appended": "{{ config(materialized='incremental') }} " + _WHOLE + "{% if is_incremental() %}"
    " where id > (select max(id) from {{ this }}){% endif %}",
    "seen": "{{ config(materialized='view') }} select * from {{ ref('plain') }}",
}


@pytest.fixture
def apart(database: str, hive_session: HiveClient, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A database with a directory of its own."""
    name, directory = f"{database}_apart", tmp_path / "apart"
    hive_session.execute(f"CREATE DATABASE {name} LOCATION 'file://{directory}'")
    yield name, directory
    hive_session.execute(f"DROP DATABASE {name} CASCADE")


def test_rows_are_where_spark_and_hive_look_for_them(
    hive: HiveServer,
    hive_client: HiveClient,
    spark: SparkSession,
    database: str,
    apart: tuple[str, Path],
    tmp_path: Path,
) -> None:
    schema, directory = apart
    hive_client.script(
        """
        CREATE TABLE orders (id int, day string) STORED AS ORC
          TBLPROPERTIES ('transactional'='true');
        INSERT INTO orders VALUES (1, 'a'), (2, 'b'), (3, 'a');
        """
    )
    project = DbtProject(tmp_path / "project", hive, database, schema=schema)
    project.sources("orders")
    project.models(**MODELS)
    project.write("seeds/days.csv", "day\na\nb\n")

    def assert_right() -> None:
        expected = sorted(hive_client.query(f"SELECT * FROM {database}.orders"))
        for model in MODELS:
            # A session of its own has none of the first one's files in mind.
            table = spark.newSession().table(f"{schema}.{model}").select("id", "day")
            assert sorted(map(tuple, table.collect())) == expected, model
        for model in MODELS.keys() - {"delta", "upserted_delta", "seen"}:
            rows = hive_client.query(f"SELECT id, day FROM {schema}.{model}")
            assert sorted(rows) == expected, model
        tables = MODELS.keys() - {"seen"} | {"days"}
        assert len([path for path in directory.iterdir() if path.is_dir()]) == len(tables)

    project.succeed("build")
    assert_right()
    hive_client.execute("DELETE FROM orders WHERE id = 1")
    project.succeed("build", "--full-refresh")
    assert_right()
    hive_client.execute("INSERT INTO orders VALUES (4, 'a'), (5, 'c')")
    project.succeed("build")
    assert_right()

    project.write(
        "macros/drop_all.sql",
        "{% macro drop_all(names) %}{% for name in names %}{% do adapter.drop_relation("
        "api.Relation.create(schema=target.schema, identifier=name, type='table')) %}"
        "{% endfor %}{% endmacro %}",
    )
    names = sorted(MODELS.keys() - {"seen"} | {"days"})
    project.succeed("run-operation", "drop_all", "--args", f"names: {names}")
    assert not list(directory.iterdir())
