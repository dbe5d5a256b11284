"""Random histories of Hive operations, with dbt runs between them.

Incremental models of every kind have, after each run, what Hive answers to their query.

Environment variables choose what a run does: HISTORIES_SEED (fresh by default), HISTORIES_HIVE (the
version of Hive), INCREMENTAL_HISTORIES, how many, and HISTORIES_COMPACTION=query for compactions on
Tez.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.dbt_project import spark_settings
from integration.support.histories.history import Ground
from integration.support.histories.incremental import KINDS, FedHistories
from integration.support.histories.incremental_report import summary, write_runs
from integration.support.histories.operations import QUERY_COMPACTION
from integration.support.histories.report import SUMMARY
from integration.support.histories.targets import MODELS
from integration.support.hive import HiveServer

# Measured, it would do less in its time; other tests meet the same code.
pytestmark = pytest.mark.no_cover

Record = Callable[[str, object], None]

_WAYS = {"append", "merge", "rewrite", "nothing had changed"}
"""How runs change targets, or find that they need not: else full refreshes alone would pass."""
_SOME = 3
"""So many of the targets are fed by the history that `make test` runs."""


@pytest.fixture
def histories(
    request: pytest.FixtureRequest,
    hive: HiveServer,
    hive_in_test: HiveServer,
    spark: SparkSession,
    tmp_path: Path,
) -> Iterator[FedHistories]:
    targets = getattr(request, "param", len(MODELS))
    with Ground.make(hive_in_test, spark, tmp_path, "fed") as ground:
        histories = FedHistories(ground, spark_settings(hive), targets)
        histories.prepare()
        yield histories


@pytest.mark.parametrize("histories", [_SOME], ids=["some"], indirect=True)
def test_targets_follow_random_histories(histories: FedHistories, record_property: Record) -> None:
    """One kind of source and some of the targets, others with each fresh seed."""
    _run(histories, count=1, record=record_property)
    _assert_right(histories)


@pytest.mark.long("thirty histories, an hour")
def test_targets_follow_many_histories(histories: FedHistories, record_property: Record) -> None:
    """Goes on after a mismatch, and writes its section of docs/random-histories.md."""

    def write(seconds: float) -> None:
        if not QUERY_COMPACTION:
            write_runs(histories, seconds, dt.date.today())

    _run(histories, count=30, record=record_property, after_each=write)
    _assert_right(histories)


def _run(
    histories: FedHistories,
    count: int,
    record: Record,
    after_each: Callable[[float], None] = lambda seconds: None,
) -> None:
    """Run `count` histories; `after_each` is told the seconds since the start.

    One that Hive fails in is followed by another one.
    """
    count = int(os.environ.get("INCREMENTAL_HISTORIES") or count)
    tally, started = histories.tally, time.monotonic()
    while tally.tables - len(tally.failed_in_hive) < count and tally.tables < 2 * count:
        histories.run_one(shrink_seconds=180)
        after_each(time.monotonic() - started)
    record(SUMMARY, summary(histories, time.monotonic() - started))


def _assert_right(histories: FedHistories) -> None:
    """No target was wrong, Hive went through most histories, and targets were changed in all ways.

    The latter is asked of runs that had the time for each kind of source.
    """
    tally = histories.tally
    wrong = "\n\n".join(map(str, tally.mismatches))
    assert not tally.mismatches, f"seed {histories.seed}\n{wrong}"
    failed = "\n\n".join(map(str, tally.failed_in_hive))
    assert len(tally.failed_in_hive) <= max(1, tally.tables // 3), failed
    if tally.tables >= len(KINDS):
        assert set(histories.kinds) == set(KINDS)
        assert {way for _, way in histories.ways} >= _WAYS
