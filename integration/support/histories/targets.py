"""The incremental models that one history feeds: a row of `MODELS` for each kind of target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import SparkSession

from hiveacid.metastore.models import TableName
from integration.support.dbt_project import FEW_TASKS, DbtProject, failures, node_results
from integration.support.differential import Differential, canonical, null_partitions
from integration.support.hive import HiveClient
from integration.support.incremental import EXAMPLES, LAKE, MERGE_ON_READ, SCHEMAS

_TWICE = "amount * 2"
#: An update that adds to the name takes a row out of the targets; some rows never get there.
_WHERE = "(name IS NULL OR name NOT LIKE '%!') AND id % 7 <> 3"
_CATCH_UP = 15
"""So many runs are enough for a model that works its source off in steps."""


@dataclass(frozen=True)
class TargetModel:
    """A kind of target: what its model says in `config`, beside the strategy.

    `by_key` is for `unique_key`, `row_ids` for a column `_row_id`, `in_partitions` for a table that
    is partitioned as its source, or by a number if that is not. `in_steps` is for a model with
    `max_write_ids`, which has all rows only when nothing is left to do. A model that `grows` takes
    up each column that is added to the source.
    """

    config: str
    by_key: bool = False
    row_ids: bool = False
    in_partitions: bool = False
    in_steps: bool = False
    grows: bool = False

    def sql(self, table: str, partition: Sequence[str], added: Sequence[str]) -> str:
        """The model over a table with these partition columns and added columns."""
        settings = ["materialized='incremental'", "incremental_strategy='acid_changes'"]
        columns = _columns(partition)
        if self.grows:
            settings.append("on_schema_change='append_new_columns'")
            columns += added
        if self.by_key:
            # Two parts of a multi-insert give a row to two partitions.
            settings.append(f"unique_key={['id', *partition]}")
        if self.row_ids:
            columns.append("_row_id AS _hive_row_id" if LAKE in self.config else "_row_id")
        if self.in_partitions:
            settings.append(f"partition_by={list(partition) or ['part']}")
            columns += [] if partition else ["id % 3 AS part"]
        return (
            f"{{{{ config({', '.join([*settings, self.config])}) }}}}\n"
            f"SELECT {', '.join(columns)}\n"
            f"FROM {{{{ acid_changes(source('shop', '{table}')) }}}}\nWHERE {_WHERE}\n"
        )


MODELS: Mapping[str, TargetModel] = {
    "parquet_key": TargetModel("file_format='parquet'", by_key=True, grows=True),
    "delta_key": TargetModel("file_format='delta'", by_key=True),
    "delta_ids": TargetModel(
        "file_format='delta', on_history_loss='reconcile'", row_ids=True, grows=True
    ),
    "orc_ids": TargetModel("file_format='orc'", row_ids=True),
    "iceberg_ids": TargetModel(
        f"{LAKE}, on_history_loss='reconcile', {MERGE_ON_READ}", row_ids=True
    ),
    "parquet_append": TargetModel("file_format='parquet'"),
    "parquet_parts": TargetModel(
        "file_format='parquet', on_history_loss='reconcile'",
        row_ids=True,
        in_partitions=True,
        grows=True,
    ),
    "parquet_steps": TargetModel(
        "file_format='parquet', max_write_ids=2", by_key=True, in_steps=True
    ),
}


class WrongTarget(AssertionError):
    """A target has other rows than Hive shows, or dbt failed to build it."""

    def __init__(self, model: str, what: str, details: str) -> None:
        super().__init__(f"{model}: {what}\n{details}")
        self.model = model
        self.what = what


@dataclass
class Targets:
    """The targets of one source table, in a dbt project and a Spark database of their own.

    `models` are those of `MODELS` that the table feeds. `added` are the columns that were added to
    the source. `comparisons` counts by model.
    """

    project: DbtProject
    spark: SparkSession
    client: HiveClient
    table: TableName
    partition: tuple[str, ...]
    schema: str
    models: Sequence[str] = tuple(MODELS)
    added: tuple[str, ...] = ()
    comparisons: Counter[str] = field(default_factory=Counter)

    @classmethod
    def make(
        cls,
        path: Path,
        differential: Differential,
        spark_settings: Mapping[str, str],
        table: TableName,
        partition: tuple[str, ...],
        models: Sequence[str],
    ) -> Targets:
        """Write the project over a table of the differential's Hive.

        The targets lie in the catalog of its Spark, which has the settings `spark_settings`.
        """
        schema = f"{table.database}_{table.table}"
        project = DbtProject(
            path,
            differential.hive,
            table.database,
            schema=schema,
            threads=3,
            spark={**dict.fromkeys(FEW_TASKS), **spark_settings},
        )
        project.sources(table.table)
        project.write(SCHEMAS, (EXAMPLES / SCHEMAS).read_text(encoding="utf-8"))
        spark, client = differential.spark, differential.client
        targets = cls(project, spark, client, table, partition, schema, models)
        targets.write_models()
        return targets

    def write_models(self) -> None:
        """Write the models as the source's columns are now."""
        names = {name: MODELS[name] for name in self.models}
        self.project.models(
            **{n: m.sql(self.table.table, self.partition, self.added) for n, m in names.items()}
        )

    def add_columns(self, added: tuple[str, ...]) -> None:
        """Let the models that grow take up columns."""
        if added != self.added:
            self.added = added
            self.write_models()

    def run(self, *arguments: str) -> None:
        """Run dbt once, and compare what has all rows. Raises WrongTarget."""
        full = "--full-refresh" in arguments
        messages = self._dbt(*arguments)
        self.compare(
            name
            for name in self.models
            if full or not MODELS[name].in_steps or _has_no_changes(messages[name])
        )

    def catch_up(self) -> None:
        """Run the models that work in steps until they find nothing to do, and compare them.

        Raises WrongTarget.
        """
        names = [name for name in self.models if MODELS[name].in_steps]
        pending = list(names)
        for _ in range(_CATCH_UP):
            if not pending:
                break
            messages = self._dbt("--select", *pending)
            pending = [name for name in pending if not _has_no_changes(messages[name])]
        if pending:
            raise WrongTarget(pending[0], "it never finds all changes", f"after {_CATCH_UP} runs")
        self.compare(names)

    def compare(self, names: Iterable[str]) -> None:
        """Compare targets with Hive's answer to the models' query. Raises WrongTarget."""
        query = f"SELECT {', '.join(self._select)} FROM {self.table} WHERE {_WHERE}"
        rows = self.client.query(query)
        shown = [null_partitions(row, 3, 3 + len(self.partition)) for row in rows]
        # A session that has never seen the tables.
        session = self.spark.newSession()
        for name in names:
            columns = ["id", "name", "twice", *self.partition]
            columns += self.added if MODELS[name].grows else ()
            schema = f"lake.{self.schema}" if LAKE in MODELS[name].config else self.schema
            frame = session.table(f"{schema}.{name}").select(*columns)
            expected = Counter(canonical(row[: len(columns)] for row in shown))
            found = Counter(canonical(frame.collect()))
            if found != expected:
                missing, surplus = expected - found, found - expected
                raise WrongTarget(
                    name,
                    "it has other rows than Hive shows",
                    f"Hive shows {expected.total()} rows, the target has {found.total()}.\n"
                    f"Missing: {sorted(missing.elements())}\n"
                    f"Surplus: {sorted(surplus.elements())}",
                )
            self.comparisons[name] += 1

    def script(self) -> str:
        """The query that the targets are compared with, and the models."""
        query = f"SELECT {', '.join(self._select)} FROM {self.table} WHERE {_WHERE};"
        models = {
            name: MODELS[name].sql(self.table.table, self.partition, self.added)
            for name in self.models
        }
        return "\n".join([query, *(f"-- The model {name}:\n{sql}" for name, sql in models.items())])

    def drop(self) -> None:
        """Remove the targets."""
        self.spark.sql(f"drop database if exists {self.schema} cascade")
        for name in MODELS:
            self.spark.sql(f"drop table if exists lake.{self.schema}.{name} purge")

    @property
    def _select(self) -> list[str]:
        return [*_columns(self.partition), *self.added]

    def _dbt(self, *arguments: str) -> dict[str, str]:
        """Run dbt; the message of each model. Raises WrongTarget."""
        result = self.project.invoke("run", *arguments)
        nodes = node_results(result)
        failed = [node.node.name for node in nodes if str(node.status) != "success"]
        if not result.success or failed:
            model = failed[0] if failed else self.models[0]
            raise WrongTarget(model, "dbt failed", failures(result))
        return {node.node.name: str(node.message) for node in nodes}


def _columns(partition: Sequence[str]) -> list[str]:
    return ["id", "name", f"{_TWICE} AS twice", *partition]


def _has_no_changes(message: str) -> bool:
    return message == "OK, no changes"
