"""Columns, comments and docs of relations: ACID sources from the metastore, others from Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import agate
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.clients.agate_helper import DEFAULT_TYPE_TESTER
from dbt_common.contracts.metadata import CatalogTable, ColumnMetadata, StatsItem, TableMetadata
from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.column import HiveAcidColumn
from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.metadata.schemas import is_undescribed
from dbt.adapters.hiveacid.metadata.statistics import entries, statistics_for_docs
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.catalog import catalog_partition_columns
from dbt.adapters.hiveacid.spark.guard import is_plain_table
from hiveacid.metastore.models import Table, TableName
from hiveacid.snapshots.tables import UnlockedTable

logger = AdapterLogger("HiveAcid")
LONGEST_COMMENT = 256
"""Maximum length of a column's comment in characters; Hive's metastore refuses longer ones."""

CatalogRow = dict[str, Any]
"""Row of dbt's catalog: one column, with the metadata of its table."""

DescribedRows = Sequence[Mapping[str, Any]]
"""The rows of DESCRIBE EXTENDED."""


class Catalog:
    """Columns and docs of relations, found without a lock and without reading an ACID source."""

    def __init__(
        self,
        connections: HiveAcidConnectionManager,
        project: Project,
        table: Callable[[TableName], Table | None],
        see: Callable[[Iterable[TableName]], Mapping[TableName, UnlockedTable]],
        describe: Callable[[BaseRelation], tuple[list[SparkColumn], DescribedRows]],
    ) -> None:
        """Create the catalog.

        Args:
            connections: Spark sessions, for the tables of Spark's own catalog.
            project: the sources and nodes of the project.
            table: returns the metastore's metadata of a table; None if there is none.
            see: returns the transactional tables among some tables, as they are now.
            describe: returns a relation's columns, and the rows of DESCRIBE EXTENDED that they
                come from.
        """
        self._connections = connections
        self._project = project
        self._table = table
        self._see = see
        self._describe = describe

    def acid_columns(self, relation: BaseRelation) -> list[HiveAcidColumn] | None:
        """Return the columns of an ACID source; None for any other relation."""
        if not isinstance(relation, HiveAcidRelation) or not self._may_be_acid(relation):
            return None
        table = self._table(relation.table_name())
        if table is None or not table.is_transactional or self._is_sparks_own(relation):
            return None
        return spark_columns(table)

    def is_acid_elsewhere(self, relation: HiveAcidRelation) -> bool:
        """Return whether a relation is an ACID source in another metastore than Spark's.

        False for the table of a node, which can be only in Spark's catalog, even if a source has
        the same name.
        """
        return (
            not self._project.makes(relation.table_name())
            and self.acid_columns(relation) is not None
        )

    def of_schemas(
        self, schemas: Iterable[str], rows_in_spark: Callable[[], agate.Table]
    ) -> agate.Table:
        """Return dbt's catalog of some schemas: ACID sources by the metastore, the rest by Spark.

        Spark (`rows_in_spark`) is called only if there are other tables, since it lists whole
        databases.
        """
        schemas = set(schemas)
        names = {name for name in self._project.sources() if name.database in schemas}
        seen = self._see(names)
        catalog = agate.Table([])
        if names - seen.keys() or self._project.makes_any_in(schemas):
            catalog = rows_in_spark()
        return with_rows(catalog, [row for name in sorted(seen) for row in self._rows(seen[name])])

    def of_relation(self, relation: HiveAcidRelation) -> CatalogTable | None:
        """Return the catalog entry of one relation, which need not be in the project.

        Raises:
            DbtRuntimeError: the relation does not exist.
        """
        if self._may_be_acid(relation):
            name = relation.table_name()
            seen = self._see([name]).get(name)
            if seen is not None and not self._is_sparks_own(relation):
                return catalog_table(self._rows(seen))
        return catalog_table(described_rows(*self._describe(relation)))

    def rows_of_spark(
        self,
        relation: HiveAcidRelation,
        listed_rows: Callable[[BaseRelation], Iterable[CatalogRow]],
    ) -> Iterable[CatalogRow]:
        """Return the catalog rows for the columns of a relation in Spark's catalog.

        For a documented relation they come from DESCRIBE, which has the comments, and the types in
        SQL. For other relations they come from dbt-spark (`listed_rows`), which parses a listing of
        the database that has no column comments.
        """
        if relation.is_function or is_undescribed(relation):
            return []
        if not self._project.documents(relation.table_name()):
            return listed_rows(relation)
        try:
            return described_rows(*self._describe(relation))
        except DbtRuntimeError as error:
            logger.debug(f"No comments of {relation}: {error.msg}")
            return listed_rows(relation)

    def _rows(self, seen: UnlockedTable) -> list[CatalogRow]:
        statistics = statistics_for_docs(self._connections.session(), seen)
        return catalog_rows(seen.table, entries(statistics))

    def _may_be_acid(self, relation: HiveAcidRelation) -> bool:
        """Return whether the relation is a source, and so may be an ACID table in the metastore.

        Compares names, because unit tests pass a source as a plain relation.
        """
        return bool(relation.identifier) and relation.table_name() in self._project.sources()

    def _is_sparks_own(self, relation: HiveAcidRelation) -> bool:
        """Return whether Spark's catalog has a table of its own with the name of an ACID source."""
        name = relation.table_name()
        with self._connections.exception_handler(f"look {name} up in Spark's catalog"):
            return is_plain_table(self._connections.session(), name.database, name.table)


def new_comments(
    session: SparkSession, relation: SparkRelation, columns: Mapping[str, Mapping[str, Any]]
) -> dict[str, str]:
    """Return the comments of a model's documented columns that differ from the table's.

    Setting an unchanged comment would be a commit in Delta and Iceberg. In a table whose columns
    are in Spark's catalog, partition columns are left out, because Spark cannot alter them
    (CANNOT_ALTER_PARTITION_COLUMN), and the other descriptions are truncated to `LONGEST_COMMENT`.
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
    """Return a table's columns with Hive's types, the partition keys last."""
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


def catalog_rows(table: Table, statistics: Mapping[str, Any]) -> list[CatalogRow]:
    """Return a table's rows for dbt's catalog, one for each column.

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
) -> list[CatalogRow]:
    """Return a table's rows for dbt's catalog, from the rows of DESCRIBE EXTENDED."""
    lines = [(line["col_name"], line["data_type"], line["comment"]) for line in described]
    about_table = {name: value for name, value, _ in lines[len(columns) :]}
    return [
        _catalog_row(column, comment, about_table.get("Comment"))
        for column, (_, _, comment) in zip(columns, lines, strict=False)
    ]


def _catalog_row(column: SparkColumn, comment: str | None, table_comment: str | None) -> CatalogRow:
    row = column.to_column_dict()
    row["column_name"], row["column_type"] = row.pop("column"), row.pop("dtype")
    row |= {"column_comment": comment or None, "table_comment": table_comment or None}
    return {**row, "table_database": None}


def catalog_table(rows: Sequence[Mapping[str, Any]]) -> CatalogTable | None:
    """Return dbt's `CatalogTable` for a table's rows; None if there are no rows."""
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
    """Return dbt's catalog of one database, with the rows of some tables replaced by `rows`."""
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
