"""Random histories of Hive operations: after each one our rows are Hive's own.

Environment variables choose what a run does: HISTORIES_SEED (fresh by default), HISTORIES_MINUTES,
HISTORIES_HIVE, the version of Hive, and HISTORIES_COMPACTION=query for compactions on Tez.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.differential import CONTRADICTIONS
from integration.support.histories.history import Ground, Histories
from integration.support.histories.hives import document_of
from integration.support.histories.operations import QUERY_COMPACTION
from integration.support.histories.report import SUMMARY, document, summary
from integration.support.hive import HiveServer

# Measured, it would do less in its time; other tests meet the same code.
pytestmark = pytest.mark.no_cover

Record = Callable[[str, object], None]

_EXTENSION = 6
"""A run may take this many times its minutes on a machine that is slow to reach the counts."""

_FAILED_IN_HIVE = 0.2
"""The largest share of histories that may end because Hive itself fails a statement."""

_DOCUMENT = document_of("random-histories")


@pytest.fixture
def histories(hive_in_test: HiveServer, spark: SparkSession, tmp_path: Path) -> Iterator[Histories]:
    with Ground.make(hive_in_test, spark, tmp_path, "histories") as ground:
        histories = Histories(ground)
        histories.prepare()
        yield histories


def test_random_histories(histories: Histories, record_property: Record) -> None:
    """A minute or two with a fresh seed: each operation once, the rare ones first."""
    histories.tally.least = 1
    _run(histories, minutes=1, most_mismatches=1, record=record_property)
    _assert_sound(histories)


@pytest.mark.long
def test_random_histories_for_hours(histories: Histories, record_property: Record) -> None:
    """Goes on after a mismatch, and writes docs/random-histories.md, or a page by the Hive."""

    def write_document(seconds: float) -> None:
        text = document(histories.tally, histories.seed, seconds, dt.date.today())
        if not QUERY_COMPACTION:
            _DOCUMENT.write_text(text, "utf-8")

    # After each, so that a run that is cut off has told what it did.
    _run(
        histories,
        minutes=120,
        most_mismatches=20,
        record=record_property,
        after_each=write_document,
    )
    _assert_sound(histories)


def _assert_sound(histories: Histories) -> None:
    tally = histories.tally
    assert not tally.mismatches, f"seed {histories.seed}\n" + "\n\n".join(
        map(str, tally.mismatches)
    )
    # Many of these would mean that the generator makes statements that Hive refuses.
    share = len(tally.failed_in_hive) / tally.tables
    assert share <= _FAILED_IN_HIVE, "\n\n".join(map(str, tally.failed_in_hive))
    assert len(tally.contradictions) <= CONTRADICTIONS, "\n\n".join(tally.contradictions)


def _run(
    histories: Histories,
    minutes: float,
    most_mismatches: int,
    record: Record,
    after_each: Callable[[float], None] = lambda seconds: None,
) -> None:
    """Run histories until the time is over and each operation has happened often enough.

    `after_each` is told the seconds since the start.
    """
    minutes = float(os.environ.get("HISTORIES_MINUTES") or minutes)
    tally = histories.tally
    started = time.monotonic()

    def elapsed() -> float:
        return time.monotonic() - started

    while elapsed() < 60 * minutes * (_EXTENSION if tally.rare() else 1):
        histories.run_one(shrink_seconds=120)
        after_each(elapsed())
        if len(tally.mismatches) >= most_mismatches:
            break
    record(SUMMARY, summary(tally, histories.seed, elapsed()))
    assert tally.mismatches or not tally.rare(), (
        f"seed {histories.seed}: these operations happened less than {tally.least} times: "
        f"{tally.rare()}"
    )
