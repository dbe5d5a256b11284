"""Random histories with other writers than Hive's statements: our rows are Hive's own.

HISTORIES_SEED and HISTORIES_MINUTES choose the seed and the time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.histories.history import Ground
from integration.support.histories.other_writers import HIVE, OtherWriters
from integration.support.histories.report import Record, assert_sound, run, write_other_writers
from integration.support.hive import HiveServer

pytestmark = [pytest.mark.long("an hour of random histories"), pytest.mark.no_cover]


@pytest.fixture
def histories(spark: SparkSession, tmp_path: Path) -> Iterator[OtherWriters]:
    with (
        HiveServer(HIVE, work=tmp_path / "hive") as hive,
        Ground.make(hive, spark, tmp_path, "other_writers") as ground,
    ):
        histories = OtherWriters(ground)
        try:
            histories.prepare()
            yield histories
        finally:
            histories.close()


def test_hours_with_other_writers(histories: OtherWriters, record_property: Record) -> None:
    """Goes on after a mismatch, and writes its section of docs/random-histories.md."""

    def write(seconds: float) -> None:
        tally, seed, today = histories.tally, histories.seed, dt.date.today()
        write_other_writers(tally, seed, seconds, today, histories.compactions)

    # After each, so that a run that is cut off has reported what it did.
    run(
        histories,
        minutes=60,
        most_mismatches=20,
        record=record_property,
        after_each=write,
    )
    assert_sound(histories)
    histories.assert_all_ways_met()
