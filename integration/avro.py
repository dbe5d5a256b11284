"""Spark's module for Avro in a test's Spark."""

from __future__ import annotations

from pathlib import Path

from integration.hive.artifacts import Progress, fetch, read_lock
from integration.hive.jars import cache_directory

LOCK_FILE = Path(__file__).with_name("spark-avro-4.1.1.lock")


def avro_jars(progress: Progress) -> list[Path]:
    """The module's jars, fetched into the cache of Hive's, unless they are there.

    Raises FetchError.
    """
    return fetch(read_lock(LOCK_FILE), cache_directory() / LOCK_FILE.stem, progress)
