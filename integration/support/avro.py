"""Spark's module for Avro in a test's Spark."""

from __future__ import annotations

from pathlib import Path

import pyspark

from hiveacid.jars.artifacts import Progress, fetch, read_lock
from integration.support.hive.jars import cache_directory

#: Which module reads with a line of Spark. Another line has none, and its tests of Avro fail.
LOCK_FILES = {
    line: Path(__file__).with_name(f"spark-avro-{version}.lock")
    for line, version in {
        "3.5": "3.5.9",
        "4.0": "4.0.2",
        "4.1": "4.1.1",
        "4.2": "4.2.0",
        "4.3": "4.2.0",
    }.items()
}


def avro_jars(progress: Progress) -> list[Path]:
    """The module's jars, fetched into the cache of Hive's, unless they are there.

    Raises FetchError.
    """
    lock_file = LOCK_FILES.get(pyspark.__version__.rpartition(".")[0])
    if lock_file is None:
        return []
    return fetch(read_lock(lock_file), cache_directory() / lock_file.stem, progress)
