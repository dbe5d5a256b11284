"""Iceberg in a test's Spark: a catalog of its own, beside the one that has Delta."""

from __future__ import annotations

from pathlib import Path

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from integration.support.hive.jars import cache_directory
from integration.support.lake_settings import PACKAGES, example_settings

LOCK_FILE = Path(__file__).with_name("iceberg-1.12.0.lock")

_WAREHOUSE = "spark.sql.catalog.lake.warehouse"


def iceberg_jars(progress: Progress) -> list[Path]:
    """Iceberg's jar, fetched into the cache of Hive's, unless it is there. Raises FetchError."""
    return fetch(read_lock(LOCK_FILE), cache_directory() / LOCK_FILE.stem, progress)


def iceberg_settings(warehouse: Path) -> dict[str, str]:
    """The catalog `lake` of the documents, whose tables are directories below `warehouse`."""
    settings = {**example_settings("lake"), _WAREHOUSE: f"file://{warehouse}"}
    del settings[PACKAGES]
    return settings
