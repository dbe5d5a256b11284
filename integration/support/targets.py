"""Targets of dbt as plain Spark reads them."""

from __future__ import annotations

from pyspark.sql import SparkSession

from integration.support.differential import canonical


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
