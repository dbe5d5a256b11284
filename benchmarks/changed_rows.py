"""How long it takes to read what has changed in lineitem, beside reading all of it.

No dbt and no target: the changes between two snapshots are planned and read, and the rows go
nowhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from pyspark.sql import DataFrame, SparkSession

from benchmarks.changing_lineitem import Change, snapshot
from hiveacid.changes.plan import ROW_ID, ChangePlan, plan_before_images, plan_changes
from hiveacid.changes.rows import deleted_row_ids, deleted_rows, inserted_rows
from hiveacid.changes.state import SourceState
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import PinnedTable
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.hive import HiveServer

_TABLE = TableName("default", "lineitem")
_REPETITIONS = 3


def _nothing(_: SparkSession, __: ChangePlan) -> None:
    return None


def _row_ids(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    return deleted_row_ids(spark, plan).select(ROW_ID)


def _keys(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    rows = deleted_rows(spark, plan, plan_before_images(spark, plan))
    return rows.select("l_orderkey", "l_linenumber").distinct()


_DELETED: Mapping[str, Callable[[SparkSession, ChangePlan], DataFrame | None]] = {
    "append": _nothing,
    "key": _keys,
    "row id": _row_ids,
}
"""What each way to apply changes has to know of deleted rows."""


@dataclass
class ChangedRows:
    """Reads changes in several rounds, and keeps the seconds of the fastest reading."""

    hive: HiveServer
    _whole: float = float("inf")
    _seconds: dict[tuple[str, str], float] = field(default_factory=dict)

    def round(self, spark: SparkSession, wanted: Iterable[Change]) -> None:
        """Read the whole base, and then each change, planning included."""
        with self._pinned() as pinned:
            base = replace(pinned, write_ids=snapshot(str(_TABLE), []))
            for _ in range(_REPETITIONS):
                self._whole = min(self._whole, _read_whole(spark, base))
            state = plan_changes(spark, base, None, OrcFooters()).state
            for change in wanted:
                now = replace(pinned, write_ids=snapshot(str(_TABLE), [change]))
                for way, deleted in _DELETED.items():
                    if (way == "append") != (change.pattern == "inserts"):
                        continue
                    for _ in range(_REPETITIONS):
                        seconds = _read_changes(spark, now, state, deleted)
                        cell = way, change.name
                        self._seconds[cell] = min(seconds, self._seconds.get(cell, seconds))

    def report(self, wanted: Iterable[Change]) -> None:
        """Print the seconds of the fastest readings and their ratios to reading the whole."""
        print(f"\nreading the whole source: {self._whole:.2f} s; changes of it: ratio, seconds")
        names = [change.name for change in wanted]
        print(" " * 8 + "".join(f"{name:>18}" for name in names))
        for way in _DELETED:
            cells = []
            for name in names:
                seconds = self._seconds.get((way, name))
                known = "–" if seconds is None else f"{seconds / self._whole:.3f}{seconds:7.2f}"
                cells.append(f"{known:>18}")
            print(f"{way:8}" + "".join(cells), flush=True)

    @contextmanager
    def _pinned(self) -> Iterator[PinnedTable]:
        taken = RunSnapshot(
            lambda: MetastoreClient(self.hive.metastore_uri), SnapshotSettings(), "benchmark"
        )
        try:
            yield taken.pin([_TABLE])[_TABLE]
        finally:
            taken.end()


def _read_whole(spark: SparkSession, pinned: PinnedTable) -> float:
    start = time.perf_counter()
    _run(to_dataframe(spark, plan_read(spark, pinned, OrcFooters())))
    return time.perf_counter() - start


def _read_changes(
    spark: SparkSession,
    pinned: PinnedTable,
    since: SourceState,
    deleted: Callable[[SparkSession, ChangePlan], DataFrame | None],
) -> float:
    start = time.perf_counter()
    plan = plan_changes(spark, pinned, since, OrcFooters())
    assert not plan.losses
    rows = inserted_rows(spark, plan)
    gone = deleted(spark, plan)
    if gone is not None:
        rows = rows.unionByName(gone, allowMissingColumns=True)
    _run(rows)
    return time.perf_counter() - start


def _run(rows: DataFrame) -> None:
    rows.write.format("noop").mode("overwrite").save()
