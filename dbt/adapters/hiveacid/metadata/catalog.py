"""Columns and comments of sources for dbt docs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import agate
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.column import HiveAcidColumn
from dbt.adapters.hiveacid.spark.table_locations import catalog_partition_columns
from hiveacid.metastore.models import Table

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


def spark_columns(table: Table) -> list[HiveAcidColumn]:
    """The table's columns with Hive's types, the partition keys last."""
    return [
        HiveAcidColumn(
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
    table_comment = table.parameters.get("comment")
    return [
        {**_catalog_row(column, comment, table_comment), **statistics}
        for column, comment in zip(spark_columns(table), comments, strict=True)
    ]


def described_rows(
    columns: Sequence[SparkColumn], described: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """What dbt's catalog has of a table, from what DESCRIBE EXTENDED says of it."""
    lines = [(line["col_name"], line["data_type"], line["comment"]) for line in described]
    about_table = {name: value for name, value, _ in lines[len(columns) :]}
    return [
        _catalog_row(column, comment, about_table.get("Comment"))
        for column, (_, _, comment) in zip(columns, lines, strict=False)
    ]


def _catalog_row(
    column: SparkColumn, comment: str | None, table_comment: str | None
) -> dict[str, Any]:
    row = column.to_column_dict()
    row["column_name"], row["column_type"] = row.pop("column"), row.pop("dtype")
    row |= {"column_comment": comment or None, "table_comment": table_comment or None}
    return {**row, "table_database": None}


def catalog_table(rows: Sequence[Mapping[str, Any]]) -> CatalogTable | None:
    """A table of dbt's catalog from its rows; None if there are none."""
    if not rows:
        return None
    table = rows[0]
    parts: dict[str, dict[str, Any]] = defaultdict(dict)
    for key in table:
        if key.startswith("stats:"):
            _, name, part = key.split(":")
            parts[name][part] = table[key]
    columns = [
        ColumnMetadata(
            row["column_type"], row["column_index"], row["column_name"], row["column_comment"]
        )
        for row in rows
    ]
    return CatalogTable(
        TableMetadata(
            type=str(table["table_type"]),
            schema=table["table_schema"],
            name=table["table_name"],
            comment=table["table_comment"],
            owner=table.get("table_owner"),
        ),
        {column.name: column for column in columns},
        {name: StatsItem(id=name, **statistic) for name, statistic in parts.items()},
    )


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
