"""Versions of tables that keep their history: Delta's versions, Iceberg's snapshots."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark.relation import SparkRelation
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.spark.iceberg import IcebergTable


def current_version(session: SparkSession, relation: SparkRelation) -> Any:
    """What `restore` takes to make a Delta or Iceberg table again what it is now."""
    if relation.is_delta:
        return session.sql(f"describe history {relation} limit 1").collect()[0]["version"]
    return IcebergTable(session, str(relation)).version()


def restore(session: SparkSession, relation: SparkRelation, version: Any) -> None:
    """Make a former version of a table its current one: rows, columns and properties."""
    if relation.is_delta:
        session.sql(f"restore table {relation} to version as of {version}")
    else:
        IcebergTable(session, str(relation)).restore(version)
