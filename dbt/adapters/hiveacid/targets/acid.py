"""Targets that are Hive ACID tables: each node writes its target in a transaction of Hive."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Protocol, TypedDict

from dbt.adapters.spark.column import SparkColumn
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.connections import HiveAcidAdapterResponse
from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.metadata.catalog import LONGEST_COMMENT
from dbt.adapters.hiveacid.node_context import NodeContext, Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation, RelationCatalog
from dbt.adapters.hiveacid.selected_nodes import ModelNode
from dbt.adapters.hiveacid.targets.acid_config import AcidTargetConfig
from dbt.adapters.hiveacid.targets.staging import BACKUP, next_to, remove_backup
from hiveacid import Transaction
from hiveacid.formatting import quoted
from hiveacid.metastore.models import Table, TableName
from hiveacid.snapshots.tables import PinnedTable

NODE = "dbt-hiveacid.node"
"""Property of a table that a node of dbt has made: the node's unique id."""

_SIDES = {"DBT_INTERNAL_DEST": "target", "DBT_INTERNAL_SOURCE": "source"}
_SIDE = re.compile("|".join(_SIDES), re.IGNORECASE)


class Publications(Protocol):
    """Targets that a run writes (`WrittenTargets`)."""

    def begin(self, session: SparkSession, /) -> Transaction:
        """Return a transaction that writes, not yet begun."""

    def look_up(self, name: TableName) -> Table | None:
        """Return the table of a name as it is now; None without one."""

    def end(self, name: TableName) -> PinnedTable | None:
        """End the run's own reads of a target, whose locks its publication would wait for.

        Returns:
            The target as it was read; None if it was not.
        """

    def published(self, name: TableName) -> None:
        """Let later reads of a target see its new rows."""


class AcidRun(Protocol):
    """The run of dbt that the targets are written in."""

    @property
    def targets(self) -> Publications:
        """The targets that the run writes."""

    def prepare(self, node: NodeContext, sql: str) -> None:
        """Prepare a statement of a node, so that it reads ACID tables from the run's snapshot."""

    def check_snapshot(self, node: NodeContext) -> None:
        """Stop a node whose sources can no longer be trusted."""


class SnapshotColumns(TypedDict):
    """Names of the columns that dbt adds to a snapshot, among others."""

    dbt_scd_id: str
    dbt_valid_to: str


class AcidTargets:
    """Hive ACID tables that nodes build and change."""

    def __init__(
        self,
        statements: Statements,
        relations: RelationCatalog,
        run: AcidRun,
        invocation_id: str,
    ) -> None:
        self._statements = statements
        self._relations = relations
        self._run = run
        self._invocation_id = invocation_id

    def build(
        self,
        target: HiveAcidRelation,
        old: HiveAcidRelation | None,
        query: str,
        model: ModelNode,
    ) -> HiveAcidAdapterResponse:
        """Build a whole table of a query's rows. Readers see the old rows or the new ones.

        Raises:
            AdapterError: the table there was not made by dbt.
            HiveAcidError: the table cannot be written; the old one has not changed.
        """
        config = _config_of(model)
        table = self._own_table(target)

        def write(transaction: Transaction) -> None:
            rows, name = self._rows(query), target.table_name()
            transaction.create_or_replace(
                name,
                _with_comments(rows, model, config),
                partitioned_by=config.partition_by,
                clustered_by=config.clustered_by,
                buckets=config.buckets,
                kind=config.kind,
                file_format=config.storage,
                comment=model["description"] or None if "relation" in config.persists else None,
                properties={**config.properties, NODE: model["unique_id"]},
            )

        is_replaced = table is not None and table.is_transactional
        with nullcontext() if old is None or is_replaced else self._set_aside(target, old):
            return self._write(target, query, write)

    def add(
        self,
        target: HiveAcidRelation,
        new_rows: HiveAcidRelation,
        columns: Sequence[SparkColumn] | None,
        model: ModelNode,
    ) -> HiveAcidAdapterResponse:
        """Add new rows to a table by the model's incremental strategy.

        Columns that the table does not have are ignored, as `on_schema_change: ignore` says.

        Args:
            target: the table.
            new_rows: a view of the new rows.
            columns: the columns of the new rows, if dbt has looked them up (`on_schema_change`).
                Then columns that the model no longer selects get NULL, or keep their values.
            model: the model.
        """
        config, query = _config_of(model), f"select * from {new_rows}"
        self._require(target)

        def write(transaction: Transaction) -> None:
            rows, name = self._rows(query), target.table_name()
            given = {column.lower() for column in rows.columns}
            rows = self._with_columns_of(target, rows, fill=bool(columns))
            if config.strategy == "delete+insert":
                transaction.replace(name, rows, config.unique_key)
            elif config.strategy == "merge" and config.unique_key:
                update = _updates(config, rows, given)
                transaction.merge(name, rows, _condition(config), update=update)
            elif config.strategy in ("insert_overwrite", "microbatch"):
                transaction.overwrite(
                    name, rows, partitions="dynamic" if config.partition_by else "all"
                )
            else:
                transaction.append(name, rows)

        return self._write(target, query, write)

    def merge_snapshot(
        self,
        target: HiveAcidRelation,
        changes: HiveAcidRelation,
        names: SnapshotColumns,
        valid_to_current: str | None,
        model: ModelNode,
    ) -> HiveAcidAdapterResponse:
        """Apply the changes of a snapshot, as dbt-spark's MERGE does.

        Args:
            target: the table of the snapshot.
            changes: a view with dbt's `dbt_change_type`.
            names: the names of dbt's columns.
            valid_to_current: the SQL of `dbt_valid_to` in rows that are valid; None for NULL.
            model: the snapshot.
        """
        self._require(target)
        query = f"select * from {changes}"
        valid_to = quoted(names["dbt_valid_to"])
        is_valid = f"target.{valid_to} is null"
        if valid_to_current:
            is_valid = f"({is_valid} or target.{valid_to} = {valid_to_current})"

        def write(transaction: Transaction) -> None:
            transaction.merge(
                target.table_name(),
                self._as_in(target, self._rows(query), names.values()),
                names["dbt_scd_id"],
                update={names["dbt_valid_to"]: f"source.{valid_to}"},
                where_matched=f"{is_valid} and source.dbt_change_type in ('update', 'delete')",
                where_not_matched="source.dbt_change_type = 'insert'",
            )

        return self._write(target, query, write)

    def check(self, target: HiveAcidRelation, model: ModelNode) -> None:
        """Refuse a configuration or a table that cannot be, before anything runs.

        Raises:
            AdapterError: all problems of the configuration; or dbt did not make the table.
        """
        _config_of(model)
        self._own_table(target)

    def change_columns(
        self,
        target: HiveAcidRelation,
        added: Sequence[SparkColumn],
        changed: Sequence[str],
    ) -> None:
        """Add columns to a table. Rows that are there have NULL.

        Args:
            target: the table.
            added: the new columns.
            changed: columns to be removed, or to get other types.

        Raises:
            AdapterError: the table would have to be built again.
        """
        self._require(target)
        if changed:
            raise AdapterError(
                f"Columns of {target} are removed, or get other types ({', '.join(changed)}): "
                "files of Hive are read by position, so the table must be built again. Run with "
                "--full-refresh, or set `on_schema_change: append_new_columns`.",
                code="HIVEACID_TARGET_MUST_BE_REBUILT",
            )
        schema = ", ".join(f"{quoted(it.name)} {it.data_type}" for it in added)

        def alter() -> None:
            with self._writing(target) as transaction:
                transaction.add_columns(target.table_name(), schema)

        self._statements.run(f"add columns to {target}: {schema}", alter)

    def _write(
        self, target: HiveAcidRelation, query: str, write: Callable[[Transaction], None]
    ) -> HiveAcidAdapterResponse:
        node = self._statements.node

        def run() -> HiveAcidAdapterResponse:
            with self._writing(target) as transaction:
                write(transaction)
            response = HiveAcidAdapterResponse.of("OK", None, node.has_read)
            response.writes = {str(name): id_ for name, id_ in transaction.write_ids.items()}
            return response

        return self._statements.run(query, run)

    @contextmanager
    def _writing(self, target: HiveAcidRelation) -> Iterator[Transaction]:
        """Open a transaction that is committed at the end of the block."""
        node, name = self._statements.node, target.table_name()
        with self._run.targets.begin(node.session) as transaction:
            yield transaction
            self._run.check_snapshot(node)
            read = self._run.targets.end(name)
            if read is not None:
                transaction.depend_on(name, read.write_ids)
        self._run.targets.published(name)
        # What the node has read of its target is of the past, and its snapshot has ended.
        node.has_read = frozenset(it for it in node.has_read if it.table != name)

    def _rows(self, query: str) -> DataFrame:
        node = self._statements.node
        self._run.prepare(node, query)
        return node.run_sql(query)

    def _with_columns_of(
        self, target: HiveAcidRelation, rows: DataFrame, *, fill: bool
    ) -> DataFrame:
        """Return the rows with the columns of the target; `fill` adds missing ones as NULL."""
        own = {name.lower(): name for name in rows.columns}
        columns: list[Column] = []
        for column in self._relations.get_columns_in_relation(target):
            found = own.get(column.name.lower())
            if found is not None:
                columns.append(F.col(quoted(found)))
            elif fill:
                columns.append(F.lit(None).alias(column.name))
        return rows.select(*columns)

    def _as_in(
        self, target: HiveAcidRelation, rows: DataFrame, names: Iterable[object]
    ) -> DataFrame:
        """Return the changes of a snapshot; columns `names` get the types that the target has.

        dbt makes times of dates. A column that the source no longer has is NULL.
        """
        given, own = {name.lower() for name in rows.columns}, {str(it).lower() for it in names}
        for column in self._relations.get_columns_in_relation(target):
            if column.name.lower() not in given:
                rows = rows.withColumn(column.name, F.lit(None))
            elif column.name.lower() in own:
                rows = rows.withColumn(column.name, F.col(quoted(column.name)).cast(column.dtype))
        return rows

    def _require(self, target: HiveAcidRelation) -> None:
        """Refuse to change a table that is not an ACID table of dbt.

        Raises:
            AdapterError: it is not.
        """
        table = self._own_table(target)
        if table is None or not table.is_transactional:
            raise AdapterError(
                f"{target} is no Hive ACID table yet, and the model has `file_format: acid`. Run "
                "with --full-refresh to build it again. A snapshot cannot be built again: give it "
                "another name, and copy its rows.",
                code="HIVEACID_TARGET_MUST_BE_REBUILT",
            )

    def _own_table(self, target: HiveAcidRelation) -> Table | None:
        """Return the table of the target's name as it is now; None without one.

        Raises:
            AdapterError: it is an ACID table that no node of dbt has made.
        """
        table = self._run.targets.look_up(target.table_name())
        if table is None or not table.is_transactional or NODE in table.parameters:
            return table
        raise AdapterError(
            f"{target} is a Hive ACID table that dbt did not make, so it is not changed. If dbt is "
            f"to own it, run in Hive: ALTER TABLE {target} SET TBLPROPERTIES ('{NODE}'='adopted').",
            code="HIVEACID_TARGET_NOT_OF_DBT",
        )

    @contextmanager
    def _set_aside(self, target: HiveAcidRelation, old: HiveAcidRelation) -> Iterator[None]:
        """Rename a view, or a table that is not ACID, until its successor is built.

        After a crash `Recovery` finds it by its name.
        """
        aside = next_to(old, BACKUP, self._invocation_id)
        uninterrupted = self._statements.node.uninterrupted
        with uninterrupted():
            self._relations.rename_relation(old, aside)
        try:
            yield
        except BaseException:
            with uninterrupted():
                self._relations.rename_relation(aside, old)
            raise
        with uninterrupted():
            remove_backup(self._relations, aside, target, self._statements.session)


def _config_of(model: ModelNode) -> AcidTargetConfig:
    return AcidTargetConfig.of(model["name"], model["config"])


def _with_comments(rows: DataFrame, model: ModelNode, config: AcidTargetConfig) -> DataFrame:
    if "columns" not in config.persists:
        return rows
    comments = {
        name.lower(): (column.get("description") or "")[:LONGEST_COMMENT]
        for name, column in model["columns"].items()
    }
    for field in rows.schema:
        if comment := comments.get(field.name.lower()):
            rows = rows.withMetadata(field.name, {**field.metadata, "comment": comment})
    return rows


def _condition(config: AcidTargetConfig) -> tuple[str, ...] | Column:
    """Return the key, or the condition of a MERGE with dbt's `incremental_predicates`."""
    if not config.predicates:
        return config.unique_key
    texts = [_SIDE.sub(lambda it: _SIDES[it[0].upper()], text) for text in config.predicates]
    keys = (f"source.{quoted(key)} = target.{quoted(key)}" for key in config.unique_key)
    return F.expr(" and ".join(f"({text})" for text in [*texts, *keys]))


def _updates(
    config: AcidTargetConfig, rows: DataFrame, given: set[str]
) -> Mapping[str, str] | None:
    """Return what a MERGE sets; None for all columns."""
    names = [name for name in rows.columns if name.lower() in given]
    if config.update_columns is not None:
        names = list(config.update_columns)
    elif config.exclude_columns:
        left_out = {name.lower() for name in config.exclude_columns}
        names = [name for name in names if name.lower() not in left_out]
    elif len(names) == len(rows.columns):
        return None
    return {name: f"source.{quoted(name)}" for name in names}
