"""ANSI mode of a Spark session, off while DataFrames of Hive's rows are built."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

_ANSI = "spark.sql.ansi.enabled"
_lock = threading.RLock()


@contextmanager
def casts_as_hive(spark: SparkSession) -> Iterator[None]:
    """Make casts of DataFrames built in the block return NULL, as in Hive, where ANSI has an error.

    A DataFrame keeps the ANSI mode in which it was built. The caller's own expressions keep the
    mode of the session.
    """
    if spark.conf.get(_ANSI) == "false":
        yield
        return
    # Another thread must not mistake our setting for the session's own.
    with _lock:
        before = spark.conf.get(_ANSI)
        spark.conf.set(_ANSI, "false")
        try:
            yield
        finally:
            spark.conf.set(_ANSI, str(before))
