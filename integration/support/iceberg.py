"""Iceberg in a test's Spark: a catalog of its own, beside the one that has Delta."""

from __future__ import annotations

from pathlib import Path

import pyspark

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from hiveacid.spark_lines import line_of
from integration.support.hive.jars import cache_directory
from integration.support.lake_settings import PACKAGES, example_settings


def iceberg_lock(version: str = pyspark.__version__) -> Path | None:
    """The lock file of Iceberg for a release of Spark; None if there is none that was tried."""
    line = line_of(version)
    if line.iceberg is None:
        return None
    name = f"iceberg-{line.iceberg.rpartition(':')[2]}-spark-{line.name}.lock"
    return Path(__file__).with_name(name)


_WAREHOUSE = "spark.sql.catalog.lake.warehouse"


def iceberg_jars(progress: Progress) -> list[Path]:
    """Iceberg's jar, fetched into the cache of Hive's, unless it is there. Raises FetchError.

    None for a line of Spark without.
    """
    lock = iceberg_lock()
    return [] if lock is None else fetch(read_lock(lock), cache_directory() / lock.stem, progress)


def iceberg_settings(warehouse: Path) -> dict[str, str]:
    """The catalog `lake` of the documents, whose tables are directories below `warehouse`.

    Nothing for a line of Spark without Iceberg.
    """
    if iceberg_lock() is None:
        return {}
    settings = {**example_settings("lake"), _WAREHOUSE: f"file://{warehouse}"}
    del settings[PACKAGES]
    return settings
