"""Versions of tables that keep their history: Delta's versions, Iceberg's snapshots."""

from __future__ import annotations

from typing import Any

from dbt.adapters.spark.relation import SparkRelation


def version_query(relation: SparkRelation) -> str:
    """A query for the current version of a Delta or Iceberg table: the first column of its row."""
    if relation.is_delta:
        return f"describe history {relation} limit 1"
    return f"select snapshot_id from {relation}.refs where name = 'main'"


def restore_statement(relation: SparkRelation, version: Any) -> str:
    """What makes `version` the table's current one again.

    Iceberg restores the rows; columns that exist in the former version only stay out of sight.
    """
    if relation.is_delta:
        return f"restore table {relation} to version as of {version}"
    return (
        "call spark_catalog.system.set_current_snapshot("
        f"table => '{relation}', snapshot_id => {version})"
    )
