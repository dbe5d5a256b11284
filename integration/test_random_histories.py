"""Random histories of Hive operations: after each one our rows are Hive's own.

Also histories in which `hiveacid.transaction` writes, too: there Hive's rows are those of a model.

Environment variables choose what a run does: HISTORIES_SEED (fresh by default), HISTORIES_MINUTES,
HISTORIES_HIVE, the version of Hive, and HISTORIES_COMPACTION=query for compactions on Tez.
"""

from __future__ import annotations

import datetime as dt
import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.histories.history import Ground, Histories
from integration.support.histories.operations import QUERY_COMPACTION
from integration.support.histories.report import (
    SUMMARY,
    Record,
    assert_sound,
    run,
    summary,
    write_reads,
    write_turns,
)
from integration.support.histories.turns import Turns
from integration.support.hive import HiveServer

# Measured, it would do less in its time; other tests meet the same code.
pytestmark = pytest.mark.no_cover


@pytest.fixture
def histories(hive_in_test: HiveServer, spark: SparkSession, tmp_path: Path) -> Iterator[Histories]:
    with Ground.make(hive_in_test, spark, tmp_path, "histories") as ground:
        histories = Histories(ground)
        histories.prepare()
        yield histories


def test_random_histories(histories: Histories, record_property: Record) -> None:
    """A minute or two with a fresh seed: a fifth of the operations once, the rare ones first."""
    operations = list(histories.operations)
    choice = random.Random(f"{histories.seed}/wanted")
    histories.tally.wanted = choice.sample(operations, math.ceil(len(operations) / 5))
    histories.tally.least = 1
    run(histories, minutes=1, most_mismatches=1, record=record_property)
    assert_sound(histories)


@pytest.mark.long("two hours")
def test_random_histories_for_hours(histories: Histories, record_property: Record) -> None:
    """Goes on after a mismatch, and writes its section of docs/random-histories.md."""

    def write(seconds: float) -> None:
        if not QUERY_COMPACTION:
            write_reads(histories.tally, histories.seed, seconds, dt.date.today())

    # After each, so that a run that is cut off has reported what it did.
    run(
        histories,
        minutes=120,
        most_mismatches=20,
        record=record_property,
        after_each=write,
    )
    assert_sound(histories)


@pytest.fixture
def ground(hive_in_test: HiveServer, spark: SparkSession, tmp_path: Path) -> Iterator[Ground]:
    with Ground.make(hive_in_test, spark, tmp_path, "turns") as ground:
        yield ground


def test_hive_and_the_library_write_in_turns(ground: Ground, record_property: Record) -> None:
    """A short story, always the same."""
    turns = Turns(ground, seed=3)
    turns.steps = (8, 8)
    turns.run_one(shrink_seconds=0)
    record_property(SUMMARY, summary(turns.tally, turns.seed, 0))
    turns.close()
    assert_sound(turns)


@pytest.mark.long("an hour")
def test_hive_and_the_library_write_in_turns_for_an_hour(
    ground: Ground, record_property: Record
) -> None:
    """An hour, after which its section of docs/random-histories.md is written."""
    turns = Turns(ground)

    def write(seconds: float) -> None:
        write_turns(turns.tally, turns.seed, seconds, dt.date.today(), QUERY_COMPACTION)

    run(turns, minutes=60, most_mismatches=20, record=record_property, after_each=write)
    turns.close()
    assert_sound(turns)
    assert turns.tally.comparisons >= 1000
