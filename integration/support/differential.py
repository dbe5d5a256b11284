"""Compare what the reader shows with what Hive itself answers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.columns import NULL_PARTITION
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import ReadPlan
from hiveacid.reader.pushdown import pushed_down, search_arguments
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import FileSettings, PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.hive import HiveClient, HiveServer, hive_3
from integration.support.hive.client import Row

CONTRADICTIONS = 2
"""So often Hive may contradict itself in a run: more would be no race in it."""

NULL = "\0"
"""NULL in `canonical` rows, where no text is written so."""


@dataclass(frozen=True)
class Read:
    """One read of one table: the plan that was made and the rows that came."""

    plan: ReadPlan
    rows: list[tuple[Any, ...]]

    @property
    def directories(self) -> list[str]:
        """The distinct directories that hold the files read, relative to the table's location."""
        root = self.plan.pinned.table.storage.location
        data = [data.file.path for data in self.plan.data]
        deletes = [delete.file.path for delete in self.plan.deletes]
        relative = (path.removeprefix(root).lstrip("/") for path in (*data, *deletes))
        return sorted({path.rpartition("/")[0] for path in relative})


class Differential:
    """Reads tables both ways. One Spark session and one Hive serve many tables."""

    def __init__(
        self,
        hive: HiveServer,
        client: HiveClient,
        spark: SparkSession,
        time_zone: str | None = None,
    ) -> None:
        # What the default of a Hive 3 is: its metastore does not tell.
        orc_columns = "name" if hive.version == hive_3.VERSION else None
        self.settings = SnapshotSettings(
            lock_timeout=60,
            files=FileSettings(orc_columns, parquet_time_zone=time_zone, avro_time_zone=time_zone),
        )
        self.hive = hive
        self.client = client
        self.spark = spark
        self.footers = OrcFooters()
        self.contradictions: list[str] = []
        """Where Hive answered a question in two ways: both answers, and its log meanwhile."""

    @contextmanager
    def pinned(self, table: str) -> Iterator[PinnedTable]:
        """The table in a snapshot of its own, which lives as long as the block."""
        name = TableName(*table.split("."))
        snapshot = RunSnapshot(
            lambda: MetastoreClient(self.hive.metastore_uri, timeout=30),
            self.settings,
            "dbt-hiveacid differential test",
        )
        try:
            yield snapshot.pin([name])[name]
        finally:
            snapshot.end()

    @contextmanager
    def pinned_frame(self, table: str) -> Iterator[tuple[ReadPlan, DataFrame]]:
        """As `pinned`, with the plan of the whole table and its rows."""
        with self.pinned(table) as pinned:
            plan = plan_read(self.spark, pinned, self.footers)
            yield plan, to_dataframe(self.spark, plan)

    def read(self, table: str) -> Read:
        """Read the whole table with the reader."""
        with self.pinned_frame(table) as (plan, frame):
            return Read(plan, [tuple(row) for row in frame.collect()])

    def check(self, table: str, where: str | None = None, hive_counts: bool = False) -> Read:
        """Assert that both show the same rows, the same count, and the same under a filter.

        The filter is run as dbt's statements run it, so that ORC gets it, and as a Python model's.
        Our count is compared with how many rows Hive shows. With `hive_counts` Hive's own count is
        asked for, too, which is a MapReduce job.
        """
        with self.pinned_frame(table) as (plan, frame):
            rows = [tuple(row) for row in frame.collect()]
            count = frame.count()
            filtered = [] if where is None else _both_ways(frame, where)
        types, keys = self._described(table)
        assert [(f.name, f.dataType.simpleString()) for f in frame.schema] == types
        shown = self._shown_beside(canonical(rows), table, keys)
        assert count == len(shown)
        if hive_counts:
            assert [(count,)] == self.client.query(f"SELECT count(*) FROM {table}")
        if where is not None:
            as_statement, as_python_model = map(canonical, filtered)
            expected = self._shown_beside(as_statement, f"{table} WHERE {where}", keys)
            assert as_python_model == expected
        return Read(plan, rows)

    def shown(self, relation: str, keys: int | None = None) -> list[Row]:
        """Return the rows that Hive shows of a table, which a WHERE may follow.

        Hive shows a string partition column's NULL by a name; Spark, Trino and Impala as NULL. So
        the number of partition `keys` is needed; Hive is asked for it unless it is given.
        """
        if keys is None:
            _, keys = self._described(relation.partition(" ")[0])
        rows = self.client.query(f"SELECT * FROM {relation}")
        return [null_partitions(row, len(row) - keys, len(row)) for row in rows]

    def check_filters(
        self, table: str, conditions: Sequence[str], columns: Sequence[str] = ("*",)
    ) -> list[list[tuple[str, ...]]]:
        """Assert that each filter, in a statement of dbt's, finds the rows that Hive finds.

        Hive evaluates all of them in one query, in which it cannot pass over anything by them.

        Returns:
            What each filter found.
        """
        selected = ", ".join(columns)
        values = ", ".join(f"({condition})" for condition in conditions)
        hives = self.client.query(f"SELECT {selected}, {values} FROM {table}")
        found, wrong = [], {}
        with self.pinned_frame(table) as (_, frame):
            for i, condition in enumerate(conditions, start=-len(conditions)):
                ours = canonical(collected(frame.where(condition).selectExpr(*columns)))
                expected = canonical(row[: -len(conditions)] for row in hives if row[i])
                if ours != expected:
                    wrong[condition] = (ours, expected)
                found.append(ours)
        assert not wrong, "filters, what we find by them, what Hive does"
        return found

    def _described(self, table: str) -> tuple[list[tuple[str, str]], int]:
        """Names and types of the columns by Hive's DESCRIBE, and how many are partition keys.

        As documented, `char` and `varchar` are strings.
        """
        described = self.client.query(f"DESCRIBE {table}")
        columns = described
        if ("# Partition Information", None, None) in described:
            columns = described[: described.index(("# Partition Information", None, None))]
        types = [
            # Hive escapes quotes and backslashes in names.
            (re.sub(r"\\(.)", r"\1", name), re.sub(r"(var)?char\(\d+\)", "string", type_))
            for name, type_, _ in columns
            if type_
        ]
        # Hive repeats the keys after two lines of headings.
        return types, max(0, len(described) - len(columns) - 2)

    def _shown_beside(
        self, ours: list[tuple[str, ...]], relation: str, keys: int
    ) -> list[tuple[str, ...]]:
        """Assert that Hive shows our `canonical` rows, which it is asked for twice if need be.

        On a busy machine Hive 4.0.1 has answered a filter with no rows, right after it had shown
        rows that fulfil it (random histories' seed 2493150886, once: the same seed and thousands of
        such queries beside its cleaner have not shown why). Rows of ours that are wrong differ from
        the second answer too, as nothing is written between the two.
        """
        log = self.hive.log
        logged = log.stat().st_size
        first = expected = canonical(self.shown(relation, keys))
        if expected != ours:
            expected = canonical(self.shown(relation, keys))
        if expected != first:
            with log.open("rb") as file:
                file.seek(logged)
                meanwhile = file.read().decode(errors="replace")
            self.contradictions.append(
                f"{relation}\nfirst: {first}\nthen: {expected}\nmeanwhile:\n{meanwhile[-8000:]}"
            )
        assert ours == expected
        return expected

    @contextmanager
    def session_setting(self, name: str, value: str) -> Iterator[None]:
        """Spark's session has another value of a setting for a while."""
        before = str(self.spark.conf.get(name))
        self.spark.conf.set(name, value)
        try:
            yield
        finally:
            self.spark.conf.set(name, before)

    def session_zone(self, zone: str) -> AbstractContextManager[None]:
        """Spark's session has another time zone for a while; Java's stays as it is."""
        return self.session_setting("spark.sql.session.timeZone", zone)

    def check_columns(
        self, table: str, columns: Sequence[str], zones: Sequence[str] = ("UTC",)
    ) -> None:
        """Assert that expressions have Hive's values in sessions of these time zones."""
        expected = canonical(self.client.query(f"SELECT {', '.join(columns)} FROM {table}"))
        for zone in zones:
            with self.session_zone(zone), self.pinned_frame(table) as (_, frame):
                assert canonical(frame.selectExpr(*columns).collect()) == expected, zone


def collected(frame: DataFrame) -> list[Row]:
    """The rows of a frame as those of a dbt statement come: ORC gets the filters."""
    spark = frame.sparkSession
    with pushed_down(spark, search_arguments(spark, frame._jdf.queryExecution())):
        return [tuple(row) for row in frame.collect()]


def _both_ways(frame: DataFrame, where: str) -> list[list[Row]]:
    # A frame keeps the scan of its first run, hence two.
    as_python_model = [tuple(row) for row in frame.where(where).collect()]
    return [collected(frame.where(where)), as_python_model]


def null_partitions(row: Row, first: int, end: int) -> Row:
    """A row with NULL where Hive shows a string partition column's, in the columns given."""
    keys = (None if value == NULL_PARTITION else value for value in row[first:end])
    return (*row[:first], *keys, *row[end:])


def canonical(rows: Iterable[Iterable[Any]]) -> list[tuple[str, ...]]:
    """Rows in one order and one notation, whichever of the two clients they came from."""
    return sorted(tuple(_text(value) for value in row) for row in rows)


def _text(value: Any) -> str:
    if value is None:
        return NULL
    if isinstance(value, Decimal):
        # Not `normalize`, which rounds to 28 digits.
        text = f"{value:f}"
        return text.rstrip("0").rstrip(".") if "." in text else text
    if isinstance(value, dt.datetime):
        return value.isoformat(" ")
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    return str(value)


#: Settings of Spark, the rest of their names.
SPLITS = {
    "a file a task": {"openCostInBytes": "1g"},
    "all in one task": {"maxPartitionBytes": "1g", "maxPartitionNum": "1"},
    "a stripe a split": {"maxPartitionBytes": "8k", "openCostInBytes": "0"},
    "many splits, few tasks": {"maxPartitionBytes": "8k", "maxPartitionNum": "3"},
}


@contextmanager
def divided(spark: SparkSession, split: str) -> Iterator[None]:
    """Spark divides files in one of the `SPLITS`."""
    for key, value in SPLITS[split].items():
        spark.conf.set(f"spark.sql.files.{key}", value)
    try:
        yield
    finally:
        for key in SPLITS[split]:
            spark.conf.unset(f"spark.sql.files.{key}")


def scanned(frame: DataFrame, metric: str) -> int:
    """The sum of a metric over the scans of ORC files, after the query has run.

    `numFiles` are files that were opened, `numOutputRows` rows that came to Spark.
    """
    return sum(
        scan.metrics().apply(metric).value()
        for scan in _leaves(frame._jdf.queryExecution().executedPlan())
        if scan.nodeName().startswith("Scan orc")
    )


def _leaves(plan: Any) -> Iterator[Any]:
    if plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        if leaf.nodeName().endswith("QueryStage"):
            yield from _leaves(leaf.plan())
        else:
            yield leaf
