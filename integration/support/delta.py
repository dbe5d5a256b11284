"""Delta Lake in a test's Spark: dbt's snapshots and merges need tables that can be updated."""

from __future__ import annotations

from pathlib import Path

import pyspark

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from hiveacid.spark_lines import line_of
from integration.support.hive.jars import cache_directory
from integration.support.lake_settings import PACKAGES, example_settings


def delta_lock(version: str = pyspark.__version__) -> Path | None:
    """The lock file of Delta for a release of Spark; None if there is none that was tried."""
    coordinate = line_of(version).delta
    if coordinate is None:
        return None
    return Path(__file__).with_name(f"delta-{coordinate.rpartition(':')[2]}.lock")


def delta_settings(progress: Progress) -> dict[str, str]:
    """What makes Delta tables possible, for a Spark that is about to start, as the documents say.

    Nothing for a line of Spark without. Fetches Delta's jars into the cache of Hive's, unless they
    are there. Raises FetchError.
    """
    lock = delta_lock()
    if lock is None:
        return {}
    jars = fetch(read_lock(lock), cache_directory() / lock.stem, progress)
    settings = example_settings("delta")
    del settings[PACKAGES]
    return {
        **settings,
        "spark.jars": ",".join(map(str, jars)),
        # A Delta table in a test has one small file: no need for 50 tasks to read its log.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
