"""Local files of the tests' Sparks, made as those of the tests' Hives."""

from __future__ import annotations

import os

from hiveacid.jars.artifacts import fetch, read_lock
from integration.support.hive.config import BARE_LOCAL
from integration.support.hive.jars import hive_directory, lock_file, say

_PACKAGE = "com.globalmentor"
_CLASS_PATH = "SPARK_DIST_CLASSPATH"
"""Environment variable with the end of Spark's class path. At its front, where Spark's settings put
a jar, no archive of classes would fit (`class_archives`)."""


def without_chmod() -> dict[str, str]:
    """Return settings for a Spark of this process, or of a process that it starts.

    Puts the jar on the class path of these Sparks.
    """
    artifacts = [it for it in read_lock(lock_file()) if it.organisation == _PACKAGE]
    (jar,) = fetch(artifacts, hive_directory() / "jars", say)
    os.environ[_CLASS_PATH] = str(jar)
    return {
        "spark.hadoop.fs.file.impl": BARE_LOCAL,
        # For Spark's client of the metastore, which has a class loader of its own.
        "spark.sql.hive.metastore.sharedPrefixes": _PACKAGE,
    }
