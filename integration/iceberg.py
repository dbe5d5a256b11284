"""Iceberg in a test's Spark: a catalog of its own, beside the one that has Delta."""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from integration.hive.artifacts import Progress, fetch, read_lock
from integration.hive.jars import cache_directory

LOCK_FILE = Path(__file__).with_name("iceberg-1.12.0.lock")

_EXAMPLE = Path(__file__).parents[1] / "examples" / "incremental" / "lake.yml"
_PACKAGES = "spark.jars.packages"
_WAREHOUSE = "spark.sql.catalog.lake.warehouse"


def iceberg_jars(progress: Progress) -> list[Path]:
    """Iceberg's jar, fetched into the cache of Hive's, unless it is there. Raises FetchError."""
    return fetch(read_lock(LOCK_FILE), cache_directory() / LOCK_FILE.stem, progress)


def iceberg_settings(warehouse: Path) -> dict[str, str]:
    """The catalog `lake` of the documents, whose tables are directories below `warehouse`."""
    settings = {**_example(), _WAREHOUSE: f"file://{warehouse}"}
    del settings[_PACKAGES]
    return settings


def _example() -> dict[str, str]:
    settings = yaml.safe_load(_EXAMPLE.read_text(encoding="utf-8"))["server_side_parameters"]
    return {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in settings.items()
    }
