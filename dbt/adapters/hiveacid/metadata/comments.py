"""The comments of a model's columns: which are to be set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.spark.relation import SparkRelation
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.spark.files import catalog_partition_columns

LONGEST_COMMENT = 256
"""How much Hive's metastore keeps of a column's comment; it refuses a longer one."""


def new_comments(
    session: SparkSession, relation: SparkRelation, columns: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """The comments to set for a model's documented columns: where a column has another yet.

    To set one that is there already is a commit in Delta and Iceberg. Of a table whose columns
    Spark's catalog keeps, the partition columns are left out, since Spark alters none
    (CANNOT_ALTER_PARTITION_COLUMN), and the others' descriptions are cut.
    """
    partition_columns = catalog_partition_columns(
        session, str(relation.schema), str(relation.identifier)
    )
    longest = None if partition_columns is None else LONGEST_COMMENT
    fixed = {name.lower() for name in partition_columns or ()}
    fields = session.table(str(relation)).schema.fields
    comments = {field.name.lower(): field.metadata.get("comment", "") for field in fields}
    wanted = {name: column["description"][:longest] for name, column in columns.items()}
    return {
        name: comment
        for name, comment in wanted.items()
        if name.lower() not in fixed and comments.get(name.lower()) != comment
    }
