"""Targets of dbt as plain Spark reads them, and models over tables in three ways."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject
from integration.support.differential import canonical
from integration.support.hive import HiveClient


class Tables:
    """Reads the test's targets in a session of its own: dbt has just replaced them."""

    def __init__(self, spark: SparkSession, database: str) -> None:
        self._spark = spark
        self._database = database

    def rows(self, columns: str, table: str, file_format: str = "") -> list[tuple[str, ...]]:
        """Some columns of a table, in order."""
        catalog = "lake." if file_format == "iceberg" else ""
        name = f"{catalog}{self._database}.{table}"
        frame = self._spark.newSession().sql(f"select {columns} from {name}")
        return canonical(frame.collect())


_WHOLE = "select {columns} from {{{{ source('shop', '{t}') }}}}"
_FILTERED = _WHOLE + " where {where}"
_FOLLOWED = """
{{{{ config(materialized='incremental', incremental_strategy='acid_changes', unique_key='id') }}}}
select {columns} from {{{{ acid_changes(source('shop', '{t}')) }}}}
"""


class ThreeWays:
    """Models over some tables with the same columns, of which `id` has no value twice."""

    def __init__(
        self,
        project: DbtProject,
        hive: HiveClient,
        spark: SparkSession,
        columns: str,
        filters: Mapping[str, str],
        schema: str | None = None,
        hives: str | None = None,
    ) -> None:
        """Take the filter of each table, and the schema of the models if it is another one.

        `hives` are the columns as Hive writes them, if differently.
        """
        self._project = project
        self._hive = hive
        self._spark = spark
        self._hives = hives or columns
        self._filters = dict(filters)
        self._schema = schema or project.database
        project.sources(*filters)
        for table, where in filters.items():
            project.models(
                **{
                    f"{table}_whole": _WHOLE.format(t=table, columns=columns),
                    f"{table}_filtered": _FILTERED.format(t=table, columns=columns, where=where),
                    f"{table}_followed": _FOLLOWED.format(t=table, columns=columns),
                }
            )

    def check(self) -> None:
        """Run the models, and assert that they have Hive's rows."""
        self._project.succeed("run")
        differing = {}
        for table, where in self._filters.items():
            name = f"{self._project.database}.{table}"
            query = f"SELECT {self._hives} FROM {name}"
            shown = canonical(self._hive.query(query))
            found = canonical(self._hive.query(f"{query} WHERE {where}"))
            for model, expected in {"whole": shown, "filtered": found, "followed": shown}.items():
                frame = self._spark.newSession().table(f"{self._schema}.{table}_{model}")
                rows = canonical(map(tuple, frame.collect()))
                if rows != expected:
                    differing[table, model] = (rows, expected)
        assert not differing, f"what a model has, what Hive answers: {differing}"
