"""Incremental models over `acid_changes` in a dbt project, compared with Hive."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession

from integration.support.dbt_project import DbtProject, node_results
from integration.support.differential import canonical
from integration.support.hive import HiveClient

EXAMPLES = Path(__file__).parents[2] / "examples" / "incremental"

BY_KEY = (EXAMPLES / "models" / "orders_by_key.sql").read_text(encoding="utf-8")
BY_ROW_ID = (EXAMPLES / "models" / "orders_by_row_id.sql").read_text(encoding="utf-8")

LAKE = "file_format='iceberg', schema='lake.' ~ target.schema"
"""What a model says whose table is Iceberg's, in the catalog `lake`."""

MERGE_ON_READ = "tblproperties={'write.merge.mode': 'merge-on-read'}"

MODELS = {
    "parquet_key": BY_KEY,
    "delta_key": BY_KEY.replace("unique_key='id'", "unique_key='id', file_format='delta'"),
    "delta_ids": BY_ROW_ID,
    "orc_ids": BY_ROW_ID.replace("file_format='delta'", "file_format='orc'"),
    "iceberg_key": BY_KEY.replace("unique_key='id'", f"unique_key='id', {LAKE}"),
    "iceberg_ids": BY_ROW_ID.replace("file_format='delta'", f"{LAKE}, {MERGE_ON_READ}").replace(
        "_row_id", "_row_id as _hive_row_id"
    ),
}

SCHEMAS = "macros/generate_schema_name.sql"
"""A macro that takes a model's `schema` as it is, so that it can name a catalog."""

ORDERS = """
CREATE TABLE orders (id int, amount decimal(10,2), status string) {clause}
  STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true');
"""


class Incremental:
    """One source, a model of each kind over it, and dbt runs that are compared with Hive."""

    def __init__(
        self, project: DbtProject, hive: HiveClient, spark: SparkSession, database: str
    ) -> None:
        self.project = project
        self.hive = hive
        self.spark = spark
        self.database = database
        self.warnings: list[str] = []
        project.write(SCHEMAS, (EXAMPLES / SCHEMAS).read_text(encoding="utf-8"))

    def run(self, *arguments: str) -> dict[str, str]:
        """Run dbt; the message of each model."""
        self.warnings = []

        def note(event: EventMsg) -> None:
            if event.info.level == "warn":
                self.warnings.append(event.info.msg)  # type: ignore[attr-defined]

        result = self.project.succeed("run", *arguments, on_event=note)
        return {node.node.name: str(node.message) for node in node_results(result)}

    def run_except(self, models: Collection[str]) -> dict[str, str]:
        """Run all models but some, or all if these are none; the message of each."""
        return self.run(*(["--exclude", *models] if models else []))

    def rows(self, model: str, columns: str = "id, twice, status") -> list[tuple[str, ...]]:
        """A target's rows, as a session that has never seen it reads them."""
        frame = self.spark.newSession().sql(f"select {columns} from {self.table(model)}")
        return canonical(frame.collect())

    def table(self, model: str) -> str:
        """A target's name in SQL."""
        return f"{'lake.' if model.startswith('iceberg') else ''}{self.database}.{model}"

    def assert_like_hive(self, models: Iterable[str], source: str = "orders") -> None:
        """Each target has what Hive answers to the example's query."""
        expected = self.hives_rows(source)
        for model in models:
            assert self.rows(model) == expected, model

    def hives_rows(self, source: str = "orders") -> list[tuple[str, ...]]:
        """What Hive answers to the example's query."""
        query = f"select id, amount * 2, status from {source} where status <> 'hidden'"
        return canonical(self.hive.query(query))

    def version(self, model: str) -> int:
        """The newest version of a Delta table, or how many commits an Iceberg table has seen."""
        session, table = self.spark.newSession(), self.table(model)
        if model.startswith("iceberg"):
            return session.table(f"{table}.metadata_log_entries").count()
        return int(session.sql(f"describe history {table} limit 1").collect()[0]["version"])

    def comments(self, model: str) -> dict[str, str]:
        """The comments of a target's columns."""
        fields = self.spark.newSession().table(self.table(model)).schema.fields
        return {field.name: field.metadata.get("comment", "") for field in fields}


def files_below(directories: Iterable[Path]) -> dict[Path, int]:
    """Every file below, and when it changed."""
    found = (path for directory in directories for path in directory.rglob("*"))
    return {path: path.stat().st_mtime_ns for path in found if path.is_file()}
