"""Histories of converted tables whose files have several stripes, under any settings of Spark's.

`python -m integration.support.histories.originals DIRECTORY MINUTES` starts a Hive and a cluster of
two executors of its own, and lets the histories take place there; HISTORIES_SEED chooses the seed.
"""

from __future__ import annotations

import os
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession

from hiveacid.changes.plan import ROW_ID, plan_changes
from hiveacid.changes.rows import inserted_rows
from hiveacid.reader import raw_files, raw_rows
from hiveacid.reader.plan import ReadPlan
from hiveacid.reader.raw_rows import RawScan
from integration.support.dbt_project import spark_settings
from integration.support.differential import Differential, canonical
from integration.support.histories.actions import Step, World
from integration.support.histories.history import COLUMNS, IN_TEST, Ground, Histories
from integration.support.histories.report import assert_sound
from integration.support.histories.shape import Shape
from integration.support.histories.table_state import TableState
from integration.support.histories.writer import write_empty
from integration.support.hive import HiveServer
from integration.support.spark_cluster import WORKERS, SparkCluster

_MANY = 4_000
"""Rows of a write that gives its files several stripes."""

_MOST_ROWS = 12_000

_SETTINGS: Mapping[str, tuple[str | None, ...]] = {
    "files.maxPartitionBytes": (None, "1g", "777", "3333", "10007", "20011"),
    "files.openCostInBytes": (None, "0", "1", "5000", "1g"),
    "files.minPartitionNum": (None, "1", "7", "50"),
    "files.maxPartitionNum": (None, None, "1", "3"),
    "orc.enableVectorizedReader": (None, "false"),
    "codegen.wholeStage": (None, "false"),
    "adaptive.enabled": (None, "false"),
}
"""Settings of Spark, the rest of their names, and values for them."""

_WAYS = (
    "rows",
    "numbered",
    "live",
    "few_live",
    "live, several stripes",
    "several splits",
    "a split without rows",
    "a copy",
    "an empty file",
    "a file without bytes",
)
"""What each long run must have met."""

_NAMED = re.compile("0[0-9]+_0")
"""Name of a file of a plain table that is no copy."""


@dataclass
class LargeTable(TableState):
    """A table to which some writes bring thousands of rows."""

    def source(self, count: int) -> str:
        """As usual, or a FROM clause of `_MANY` rows: before the conversion always of many."""
        few = self.transactional and self.rng.random() < 0.5
        if self.serial > _MOST_ROWS or few:
            return super().source(count)
        first, last = self.numbers(_MANY)
        number = "(a.n - 1) * 900 + (b.n - 1) * 30 + c.n"
        numbers = "{database}.numbers"
        return (
            f"(SELECT n + {first - 1} AS n FROM (SELECT {number} AS n FROM {numbers} a "
            f"JOIN {numbers} b JOIN {numbers} c WHERE a.n <= 5) product "
            f"WHERE n <= {last - first + 1}) source"
        )


class OriginalHistories(Histories):
    """Histories of converted full-ACID tables. Each comparison is under settings of its own."""

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.ways: Counter[str] = Counter()
        """How often files were read which way."""
        self._differential = _ChangingSettings(ground.differential, random.Random(ground.seed))

    def _shape(self, rng: random.Random) -> Shape:
        shape = super()._shape(rng)
        return replace(shape, full_acid=True, file_format="ORC", converted=True, stripe_rows=1000)

    def _state(self, shape: Shape, rng: random.Random) -> TableState:
        return LargeTable(shape, rng, list(COLUMNS), transactional=False)

    def _do(self, world: World, step: Step, steps: list[Step]) -> None:
        if step.operation == "convert":
            seed = f"{self.seed}/{world.table}"
            super()._do(world, Step("empty files", (EmptyFiles(seed, self.ways),)), steps)
        super()._do(world, step, steps)

    def _compare(self, world: World, where: str | None) -> None:
        with recorded(self.ways):
            super()._compare(world, where)
            self._compare_row_ids(str(world.table))

    def _compare_row_ids(self, table: str) -> None:
        """Assert that each row has the row id that Hive shows."""
        spark, footers = self._differential.spark, self._differential.footers
        with self._differential.pinned(table) as pinned:
            plan = plan_changes(spark, pinned, None, footers)
            row_id = [f"{ROW_ID}.{part}" for part in ("write_id", "bucket", "row")]
            ours = inserted_rows(spark, plan).select("id", *row_id).collect()
        parts = [f"ROW__ID.{part}" for part in ("writeid", "bucketid", "rowid")]
        hives = self._client.query(f"SELECT id, {', '.join(parts)} FROM {table}")
        assert canonical(ours) == canonical(hives), "ids and row ids"


def run_for(histories: OriginalHistories, minutes: float) -> None:
    """Run histories until the time is over or a mismatch is found; print a line after each."""
    tally, end = histories.tally, time.monotonic() + 60 * minutes
    while time.monotonic() < end and not tally.mismatches:
        histories.run_one(shrink_seconds=120)
        print(
            f"seed {histories.seed}: {tally.tables} tables, {tally.comparisons} comparisons, "
            f"{len(tally.mismatches)} mismatches, {len(tally.failed_in_hive)} failed in Hive, "
            f"{dict(histories.ways)}",
            flush=True,
        )


def assert_sound_in_all_ways(histories: OriginalHistories) -> None:
    """Assert what must hold of all histories, and that every way of reading was met."""
    assert_sound(histories)
    assert all(histories.ways[way] for way in _WAYS), histories.ways


@dataclass(frozen=True)
class EmptyFiles:
    """Files without rows among those of a plain table: copies after the others, or before them.

    `seed` chooses where they are, and whether they are ORC or have no bytes. `ways` counts them.
    """

    seed: str
    ways: Counter[str]

    def run(self, world: World) -> None:
        rng = random.Random(self.seed)
        table = world.metastore.get_table(world.table)
        root = Path(urlsplit(table.storage.location).path)
        # Hive is still removing directories of its own, whose names begin with a dot.
        walked = [(Path(name), names) for name, _, names in os.walk(root) if "/." not in name]
        files = [at / name for at, names in walked for name in names if _NAMED.fullmatch(name)]
        for file in sorted(files):
            self.ways["a copy"] += any(file.parent.glob(f"{file.name}_copy_*"))
            kind = rng.choice(("an empty file", "a file without bytes", None))
            if kind is None:
                continue
            empty = file.with_name(f"{file.name}_copy_70")
            if rng.random() < 0.4:
                # Checksums of files that were moved would not suit.
                file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
                file.rename(empty)
                empty = file
            if kind == "an empty file":
                write_empty(empty, table.storage.columns)
            else:
                empty.touch()
            self.ways[kind] += 1

    def script(self, world: World) -> str:
        return (
            f"-- beside files of {world.table}: ORC files without rows, and files without bytes,\n"
            f"-- as {self} puts them (integration/support/histories/originals.py)"
        )


class _ChangingSettings(Differential):
    """Plans a read under some settings and runs it under others."""

    def __init__(self, like: Differential, rng: random.Random) -> None:
        super().__init__(like.hive, like.client, like.spark)
        self.contradictions = like.contradictions
        self._rng = rng

    @contextmanager
    def pinned_frame(self, table: str) -> Iterator[tuple[ReadPlan, DataFrame]]:
        with (
            patch.object(raw_files, "_FEW_ROWS", self._rng.choice((1, 2, 20))),
            patch.object(raw_rows, "_TASKS", self._rng.choice((1, 4))),
            patch.object(raw_files, "_LEAST_STRIPE", self._rng.choice((1, 2000, 1 << 20))),
            self._settings(),
            super().pinned_frame(table) as planned,
            self._settings(),
        ):
            yield planned

    @contextmanager
    def _settings(self) -> Iterator[None]:
        conf = self.spark.conf
        chosen = {f"spark.sql.{name}": self._rng.choice(of) for name, of in _SETTINGS.items()}
        before = {name: conf.get(name, None) for name in chosen}
        try:
            _set(self.spark, chosen)
            yield
        finally:
            _set(self.spark, before)


def _set(spark: SparkSession, settings: Mapping[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@contextmanager
def recorded(ways: Counter[str]) -> Iterator[None]:
    """Count the ways in which raw files are read, and those with several stripes or splits."""

    def counting(way: str) -> object:
        right = getattr(RawScan, way)

        def method(scan: RawScan, *arguments: object) -> object:
            ways[way] += 1
            ways[f"{way}, several stripes"] += any(len(file.stripes) > 1 for file in scan.files)
            return right(scan, *arguments)

        return method

    right = raw_files.divide

    def divide(files: object, split_bytes: int) -> list[raw_files.Split]:
        found = right(files, split_bytes)  # type: ignore[arg-type]
        of_files = Counter(split.file for split in found)
        ways["several splits"] += any(number > 1 for number in of_files.values())
        ways["a split without rows"] += any(not split.rows for split in found)
        return found

    with ExitStack() as patches:
        for way in ("rows", "numbered", "live", "few_live"):
            patches.enter_context(patch.object(RawScan, way, counting(way)))
        patches.enter_context(patch.object(raw_rows, "divide", divide))
        yield


_UTC = "-Duser.timezone=UTC"

_ON_CLUSTER = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": _UTC,
    "spark.executor.extraJavaOptions": _UTC,
    "spark.executor.memory": "512m",
    # No task starts before both executors are there.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.cores.max": str(WORKERS),
}


def main() -> None:
    """Run histories; a mismatch, or fewer executors than two, is an AssertionError."""
    directory, minutes = Path(sys.argv[1]), float(sys.argv[2])
    with (
        HiveServer(IN_TEST, work=directory / "hive") as hive,
        SparkCluster(directory) as cluster,
    ):
        settings = {**spark_settings(hive), **_ON_CLUSTER, "spark.master": cluster.master}
        spark = SparkSession.builder.config(map={**settings}).enableHiveSupport().getOrCreate()
        try:
            with Ground.make(hive, spark, directory, "original_histories") as ground:
                histories = OriginalHistories(ground)
                histories.prepare()
                run_for(histories, minutes)
                # The driver is in the list, too.
                executors = spark._jsc.sc().statusTracker().getExecutorInfos()
                assert len(executors) == WORKERS + 1, cluster.told()
                assert_sound_in_all_ways(histories)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
