"""Random histories of converted tables, whose rows are numbered by their place in the file."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.differential import CONTRADICTIONS
from integration.support.histories.history import Ground
from integration.support.histories.originals import OriginalHistories
from integration.support.hive import HiveServer

# Measured, it would do less in its time; other tests meet the same code.
pytestmark = [pytest.mark.no_cover, pytest.mark.long]

_FAILED_IN_HIVE = 0.2
"""The largest share of histories that may end because Hive itself fails a statement."""

_WAYS = (
    "rows",
    "numbered",
    "few_numbered",
    "numbered, several stripes",
    "several splits of a file",
)


@pytest.fixture
def histories(
    hive_in_test: HiveServer, spark: SparkSession, tmp_path: Path
) -> Iterator[OriginalHistories]:
    with Ground.make(hive_in_test, spark, tmp_path, "original_histories") as ground:
        histories = OriginalHistories(ground)
        histories.prepare()
        yield histories


def test_random_histories_of_converted_tables(
    histories: OriginalHistories, record_property: Callable[[str, object], None]
) -> None:
    minutes = float(os.environ.get("HISTORIES_MINUTES") or 10)
    tally, end = histories.tally, time.monotonic() + 60 * minutes
    while time.monotonic() < end and not tally.mismatches:
        histories.run_one(shrink_seconds=120)
        print(
            f"seed {histories.seed}: {tally.tables} tables, {tally.comparisons} comparisons, "
            f"{len(tally.mismatches)} mismatches, {len(tally.failed_in_hive)} failed in Hive, "
            f"{dict(histories.ways)}",
            flush=True,
        )
    record_property("ways", dict(histories.ways))
    assert not tally.mismatches, f"seed {histories.seed}\n" + "\n\n".join(
        map(str, tally.mismatches)
    )
    share = len(tally.failed_in_hive) / tally.tables
    assert share <= _FAILED_IN_HIVE, "\n\n".join(map(str, tally.failed_in_hive))
    assert len(tally.contradictions) <= CONTRADICTIONS, "\n\n".join(tally.contradictions)
    assert all(histories.ways[way] for way in _WAYS), histories.ways
