"""Delta Lake in a test's Spark: dbt's snapshots and merges need tables that can be updated."""

from __future__ import annotations

from pathlib import Path

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from integration.support.hive.jars import cache_directory
from integration.support.lake_settings import PACKAGES, example_settings

DELTA_VERSION = "4.4.0"
LOCK_FILE = Path(__file__).with_name(f"delta-{DELTA_VERSION}.lock")


def delta_settings(progress: Progress) -> dict[str, str]:
    """What makes Delta tables possible, for a Spark that is about to start, as the documents say.

    Fetches Delta's jars into the cache of Hive's, unless they are there. Raises FetchError.
    """
    jars = fetch(read_lock(LOCK_FILE), cache_directory() / f"delta-{DELTA_VERSION}", progress)
    settings = example_settings("delta")
    del settings[PACKAGES]
    return {
        **settings,
        "spark.jars": ",".join(map(str, jars)),
        # A Delta table in a test has one small file: no need for 50 tasks to read its log.
        "spark.databricks.delta.snapshotPartitions": "1",
    }
