"""The columns of ACID sources, as the metastore knows them."""

from __future__ import annotations

from collections.abc import Iterable
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


def with_tables(catalog: agate.Table, tables: Iterable[Table]) -> agate.Table:
    """dbt's catalog of one database, with those of `tables` that it lacks."""
    known = {row["table_name"].lower() for row in catalog.rows}
    added = [
        _catalog_row(column)
        for table in tables
        if table.name.table not in known
        for column in spark_columns(table)
    ]
    if not added:
        return catalog
    rows = [dict(zip(catalog.column_names, row.values(), strict=True)) for row in catalog.rows]
    return agate.Table.from_object(rows + added, column_types=DEFAULT_TYPE_TESTER)


def _catalog_row(column: SparkColumn) -> dict[str, Any]:
    row = column.to_column_dict()
    row["column_name"], row["column_type"] = row.pop("column"), row.pop("dtype")
    return {**row, "table_database": None}
