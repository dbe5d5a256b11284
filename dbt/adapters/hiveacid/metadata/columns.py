"""The columns of ACID sources, as the metastore knows them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import agate
from dbt.adapters.spark.column import SparkColumn
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER

from dbt.adapters.hiveacid.metastore.models import Table


def spark_columns(table: Table) -> list[SparkColumn]:
    """The table's columns with Hive's types, the partition keys last."""
    return [
        SparkColumn(
            table_schema=table.name.database,
            table_name=table.name.table,
            table_type="table",
            table_owner=table.owner,
            column=column.name,
            column_index=index,
            dtype=column.type,
        )
        for index, column in enumerate((*table.storage.columns, *table.partition_keys))
    ]


def catalog_rows(table: Table, statistics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What dbt's catalog has of a table, a row for each column.

    `statistics` are entries of the form `stats:<id>:label`.
    """
    comments = [column.comment for column in (*table.storage.columns, *table.partition_keys)]
    rows = []
    for column, comment in zip(spark_columns(table), comments, strict=True):
        row = column.to_column_dict()
        row["column_name"], row["column_type"] = row.pop("column"), row.pop("dtype")
        row |= {"column_comment": comment, "table_comment": table.parameters.get("comment")}
        rows.append({**row, "table_database": None, **statistics})
    return rows


def with_rows(catalog: agate.Table, rows: Iterable[Mapping[str, Any]]) -> agate.Table:
    """dbt's catalog of one database, with these rows in place of what it has of their tables."""
    added = [dict(row) for row in rows]
    if not added:
        return catalog
    replaced = {row["table_name"].lower() for row in added}
    others = [
        dict(zip(catalog.column_names, row.values(), strict=True))
        for row in catalog.rows
        if row["table_name"].lower() not in replaced
    ]
    return agate.Table.from_object(others + added, column_types=DEFAULT_TYPE_TESTER)
