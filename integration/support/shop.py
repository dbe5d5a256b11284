"""Tables that `hiveacid.transaction` writes and Hive shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import hiveacid
from integration.support.hive import HiveClient, HiveServer

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
INSERT_ONLY = (
    "STORED AS {} TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true', "
    "'transactional_properties'='insert_only')"
)
WAYS = (("true", "none"), ("false", "none"), ("true", "more"))
"""How Hive reads: vectorized or not, and by a task or as it fetches the answer."""


class Shop:
    """The tables of a test: Spark writes them, Hive shows them."""

    def __init__(
        self, hive: HiveServer, client: HiveClient, spark: SparkSession, database: str
    ) -> None:
        self.hive, self.client, self.spark, self.database = hive, client, spark, database

    def transaction(self, *tables: str, **arguments: Any) -> hiveacid.Transaction:
        """Open a transaction that reads tables of the test."""
        names = [f"{self.database}.{table}" for table in tables]
        return hiveacid.transaction(self.spark, self.hive.metastore_uri, names, **arguments)

    def rows(self, *rows: tuple[Any, ...], schema: str = "id int, v int") -> DataFrame:
        """Make rows."""
        return self.spark.createDataFrame(list(rows), schema)

    def name(self, table: str) -> str:
        """Return the whole name of a table of the test."""
        return f"{self.database}.{table}"

    def shown(
        self, table: str, columns: str = "*", ways: Sequence[tuple[str, str]] = WAYS
    ) -> list[tuple[Any, ...]]:
        """Return the rows that Hive shows, which must be the same in each way to read."""
        answers = []
        for vectorized, fetched in ways:
            self.client.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
            self.client.execute(f"SET hive.fetch.task.conversion={fetched}")
            found = self.client.query(f"SELECT {columns} FROM {table}")
            answers.append(sorted(found, key=repr))
        for answer in answers:
            assert answer == answers[0]
        return answers[0]
