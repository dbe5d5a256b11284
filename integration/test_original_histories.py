"""Random histories of converted tables, whose rows are numbered by their place in the file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from integration.support.histories.history import Ground
from integration.support.histories.originals import (
    OriginalHistories,
    assert_sound_in_all_ways,
    run_for,
)
from integration.support.hive import HiveServer

# Measured, it would do less in its time; other tests meet the same code.
pytestmark = [pytest.mark.no_cover, pytest.mark.long("twenty minutes of histories")]


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
    run_for(histories, float(os.environ.get("HISTORIES_MINUTES") or 10))
    record_property("ways", dict(histories.ways))
    assert_sound_in_all_ways(histories)


def test_random_histories_on_a_cluster(tmp_path: Path) -> None:
    minutes = os.environ.get("HISTORIES_MINUTES") or "10"
    program = "integration.support.histories.originals"
    # A process of its own, since a process has one Spark.
    done = subprocess.run(
        [sys.executable, "-m", program, str(tmp_path), minutes],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-20_000:]
