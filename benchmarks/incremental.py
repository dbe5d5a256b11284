"""What an incremental run costs beside a full refresh, as ratios.

::

    python -m benchmarks.incremental                          # TPC-H lineitem, scale factor 1
    python -m benchmarks.incremental --scale 0.01 --rounds 1  # does it run at all?

A real Hive writes the table (6 million rows) and what changes in it: 0.1, 1 and 10 % of the rows.
`--work` keeps it for the next call with the same scale and percentages. A change is of one of three
patterns (`changing_lineitem`): new rows only; updates, deletes and inserts of neighbouring keys
(`places`); the same of rows all over the table (`scattered`).

Each round builds all targets from the base with `--full-refresh`, and then lets one change after
the other become visible, with a `dbt run` after each. dbt runs in this process on one Spark, and
what counts are the seconds of a node, so dbt's start and Spark's are left out. The fastest round
counts; the first one warms Java up. The models append, go by `unique_key`, or by `_row_id`. The
first ones see new rows only, the others the other two patterns. There are two tables of ratios:

- planning and reading what changed, to planning and reading the whole source (`changed_rows`);
- a node, to its full refresh. Beside it: the seconds until the changes lie in the stage, and of all
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from dbt_common.events.base_types import EventMsg
from pyspark.sql import SparkSession

from benchmarks.changed_rows import ChangedRows
from benchmarks.changing_lineitem import PERCENTS, Change, changes, snapshot
from benchmarks.lineitem import hive_with_lineitem, options_parser
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import PinnedTable
from integration.support.dbt_project import DbtProject, node_results
from integration.support.hive import HiveServer
from integration.support.hive.jars import say
from integration.support.incremental import EXAMPLES, SCHEMAS
from integration.support.spark_packages import delta_settings, iceberg_jars, iceberg_settings

FORMATS: Mapping[str, Mapping[str, str]] = {
    "delta": {"file_format": "delta", "tblproperties": "{'delta.enableDeletionVectors': 'true'}"},
    "parquet": {"file_format": "parquet"},
    "orc": {"file_format": "orc"},
    "iceberg": {
        "file_format": "iceberg",
        "schema": "lake.targets",
        "tblproperties": "{'write.merge.mode': 'merge-on-read'}",
    },
}
"""The configuration of a target of each format, in Jinja but for the format's own name."""

_COLUMNS = (
    "l_orderkey, l_partkey, l_suppkey, l_linenumber, l_quantity, l_extendedprice, l_discount, "
    "l_tax, l_returnflag, l_linestatus, l_shipdate, l_commitdate, l_receiptdate, l_shipinstruct, "
    "l_shipmode, l_comment"
)

_SPLIT = 64 << 20
"""The bytes of a file of the source's base: so many that Spark reads it in one task."""

_FULL = "full_refresh"
"""The name of the target of the profile that full refreshes have."""

_STAGE = "__dbt_changes_"
"""A part of the name of each stage of changes."""

WAYS: Mapping[str, tuple[Mapping[str, str], str]] = {
    "append": ({}, _COLUMNS),
    "key": ({"unique_key": "['l_orderkey', 'l_linenumber']"}, _COLUMNS),
    "row id": ({}, f"{_COLUMNS}, _row_id"),
}
"""How a model applies changes: its configuration, and what it selects of the source's columns."""


def main() -> None:
    """Make the table unless it is there, run the rounds, and print the ratios."""
    parser = options_parser("Incremental runs beside full refreshes.", rounds=2)
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=list(FORMATS))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--percents", nargs="+", choices=PERCENTS, default=list(PERCENTS))
    parser.add_argument("--files", type=int, default=100, help="of a target (about; default: 100)")
    options = parser.parse_args()
    wanted = changes(options.scale, options.percents)
    statements = [statement for change in wanted for statement in change.statements]
    with hive_with_lineitem(options.scale, options.work, statements, _SPLIT) as (hive, work):
        benchmark = Benchmark(hive, work / "project", options)
        try:
            for number in range(options.rounds):
                print(f"round {number + 1} of {options.rounds}", flush=True)
                benchmark.round(wanted)
            benchmark.report(wanted)
        finally:
            benchmark.stop()


@dataclass
class Seconds:
    """The seconds of one node: until the changes are staged (None for a full refresh), and all."""

    staged: float | None
    all: float


@dataclass
class Watch:
    """How long each node took to write its stage, from dbt's events."""

    seconds: dict[str, float] = field(default_factory=dict)
    _started: dict[str, float] = field(default_factory=dict)
    _staging: str = ""

    def __call__(self, event: EventMsg) -> None:
        """Look at one event of dbt's."""
        data: Any = event.data
        if event.info.name == "NodeStart":
            self._started[data.node_info.node_name] = time.perf_counter()
        elif event.info.name == "SQLQuery" and _STAGE in data.sql and "create table" in data.sql:
            self._staging = data.node_info.node_name
        elif event.info.name == "SQLQueryStatus" and self._staging:
            elapsed = time.perf_counter() - self._started[self._staging]
            # The statement that reads the stage to rewrite a target is another one.
            self.seconds.setdefault(self._staging, elapsed)
            self._staging = ""


class Benchmark:
    """The models over one table, on one Hive and one Spark."""

    def __init__(self, hive: HiveServer, project: Path, options: argparse.Namespace) -> None:
        """Targets of `options.formats`, made in `options.ways`, of `options.files` files each."""
        for directory in (project, project.parent / "lake"):
            shutil.rmtree(directory, ignore_errors=True)
        base = _bytes(Path(hive.warehouse).glob("lineitem/base_*/bucket*"))
        spark = {
            "spark.driver.memory": "4g",
            "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
            "spark.sql.shuffle.partitions": "4",
            **delta_settings(say),
            **iceberg_settings(project.parent / "lake"),
        }
        spark["spark.jars"] = ",".join([spark["spark.jars"], *map(str, iceberg_jars(say))])
        # A file of a target has what one task reads of the source. Later runs read as by default.
        small_splits = {
            "spark.sql.files.maxPartitionBytes": str(max(base // options.files, 64 << 10)),
            "spark.sql.files.openCostInBytes": "0",
        }
        self._hive = hive
        self._project = DbtProject(
            project, hive, "default", schema="targets", threads=1, spark=spark, compiled=True
        )
        self._project.add_target(_FULL, "targets", spark=small_splits)
        self._project.write(SCHEMAS, (EXAMPLES / SCHEMAS).read_text(encoding="utf-8"))
        self._project.sources("lineitem")
        # Spark keeps what it is started with, so that must not be the small splits.
        self._project.succeed("debug", "--quiet")
        self._models: dict[str, tuple[str, str]] = {}
        for file_format in options.formats:
            for way in options.ways:
                config, selected = WAYS[way]
                name = f"{file_format}_{way.replace(' ', '_')}"
                self._models[name] = (file_format, way)
                if file_format == "iceberg":
                    selected = selected.replace("_row_id", "_row_id as _hive_row_id")
                sql = _model({**FORMATS[file_format], **config}, selected)
                self._project.models(**{name: sql})
        self._spent: dict[tuple[str, str], list[Seconds]] = {}
        self._rows = ChangedRows(hive)

    def round(self, wanted: Sequence[Change]) -> None:
        """Full refreshes of the base, a full read, and then one change after the other."""
        made: list[Change] = []
        with _showing(made):
            self._run(None, list(self._models), "--full-refresh", "--target", _FULL)
            self._rows.round(self._session, wanted)
            for appends in (True, False):
                # The other targets never see the changes that these have followed.
                made.clear()
                follow = [n for n, (_, way) in self._models.items() if appends == (way == "append")]
                for change in wanted:
                    if appends == (change.pattern == "inserts"):
                        made.append(change)
                        self._run(change, follow)

    def report(self, wanted: Sequence[Change]) -> None:
        """Print the fastest seconds and their ratios."""
        self._rows.report(wanted)
        print("\nnodes: ratio to the full refresh; seconds until staged, and of all")
        names = [change.name for change in wanted]
        print(" " * 18 + "full, s" + "".join(f"{name:>20}" for name in names))
        for model, (file_format, way) in self._models.items():
            full = min(seconds.all for seconds in self._spent[model, "full"])
            cells = []
            for name in names:
                spent = self._spent.get((model, name), [])
                staged = [s.staged for s in spent if s.staged is not None]
                if not staged:
                    cells.append(f"{'–':>20}")
                    continue
                total = min(s.all for s in spent)
                cells.append(f"{total / full:8.2f}{min(staged):6.1f}{total:6.1f}")
            print(f"{file_format + ', ' + way:18}{full:7.1f}" + "".join(cells), flush=True)

    def stop(self) -> None:
        """Stop Spark."""
        self._session.stop()

    @property
    def _session(self) -> SparkSession:
        """A session of the Spark that dbt has started."""
        return SparkSession.builder.getOrCreate()

    def _run(self, change: Change | None, models: Sequence[str], *arguments: str) -> None:
        if not models:
            return
        title = change.name if change is not None else "full"
        watch = Watch()
        command = ("run", "--quiet", "--select", *models, *arguments)
        result = self._project.succeed(*command, on_event=watch)
        for node in node_results(result):
            name, staged = node.node.name, watch.seconds.get(node.node.name)
            seconds = Seconds(staged, node.execution_time)
            self._spent.setdefault((name, title), []).append(seconds)
            shown = "" if staged is None else f", staged after {staged:.2f} s"
            print(f"  {title:15} {name:16} {seconds.all:6.2f} s{shown}, {node.message}", flush=True)
            if change is not None:
                self._check_files(change, name, node.adapter_response["changes"])

    def _check_files(self, change: Change, model: str, response: Mapping[str, Any]) -> None:
        """Assert that the model has read the files of the change, and no others.

        A model with a `unique_key` also reads the base, for the keys of deleted rows.
        """
        table = Path(self._hive.warehouse) / "lineitem"
        changed = sum(
            _bytes(table.glob(f"*delta_{write_id:07}_{write_id:07}_*/bucket_*"))
            for write_id in change.write_ids
        )
        beside = _bytes(table.glob("base_*/bucket_*")) if self._models[model][1] == "key" else 0
        read = response["bytes_read"]
        assert changed <= read <= changed + beside, f"{model} read {read} bytes for {change}"


def _bytes(files: Iterable[Path]) -> int:
    return sum(file.stat().st_size for file in files)


@contextmanager
def _showing(made: Sequence[Change]) -> Iterator[None]:
    """Snapshots show the base and these changes, whatever else Hive has committed."""
    pin = RunSnapshot.pin

    def pin_early(self: RunSnapshot, tables: Iterable[TableName]) -> dict[TableName, PinnedTable]:
        return {
            name: replace(pinned, write_ids=snapshot(str(name), made))
            for name, pinned in pin(self, tables).items()
        }

    with patch.object(RunSnapshot, "pin", pin_early):
        yield


def _model(config: Mapping[str, str], selected: str) -> str:
    settings = {name: value for name, value in config.items() if value[0] in "[{"}
    quoted = {name: f"'{value}'" for name, value in config.items() if name not in settings}
    options = ", ".join(f"{name}={value}" for name, value in {**settings, **quoted}.items())
    return (
        "{{ config(materialized='incremental', incremental_strategy='acid_changes', "
        f"{options}) }}}}\n"
        f"select {selected} from {{{{ acid_changes(source('shop', 'lineitem')) }}}}\n"
    )


if __name__ == "__main__":
    main()
