"""Hadoop's paths and file statuses, many at once."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.reader.bulk import Bulk, bulk_of

PATH = "org.apache.hadoop.fs.Path"
FILE_STATUS = "org.apache.hadoop.fs.FileStatus"
FILE_SYSTEM = "org.apache.hadoop.fs.FileSystem"

DIRECTORY = -1
"""Stands in the place of a directory's length."""

Status = tuple[str, int, int]
"""The path, the length in bytes, or `DIRECTORY`, and the modification time in milliseconds."""


class FileStatuses:
    """What file systems say of paths, by one JVM. Threads may share it."""

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk
        self._qualified = bulk.zipped(bulk.method(FILE_SYSTEM, "makeQualified", PATH, [PATH]), PATH)
        self._paths = bulk.strings(bulk.method(FILE_STATUS, "getPath", PATH))
        self._lengths = bulk.integers(
            bulk.if_then_else(
                bulk.method(FILE_STATUS, "isDirectory", "boolean"),
                bulk.constant("long", DIRECTORY),
                bulk.method(FILE_STATUS, "getLen", "long"),
            )
        )
        self._times = bulk.integers(bulk.method(FILE_STATUS, "getModificationTime", "long"))
        self._filters: dict[str, Any] = {}

    @staticmethod
    def of(spark: SparkSession) -> FileStatuses:
        """That of Spark's JVM."""
        return _of(bulk_of(spark))

    def qualified(self, file_system: Any, paths: Any) -> list[str]:
        """The paths of a `Path[]`, each with the file system's scheme and authority."""
        return self._bulk.texts(self._qualified(len(paths), file_system, paths))

    def listed(self, file_system: Any, paths: Any, names: str) -> list[Status]:
        """What is in the directories of a `Path[]` and has a name that matches a pattern.

        One directory comes after the other. Raises JavaError if one cannot be listed.
        """
        found = file_system.listStatus(paths, self._filter(names))
        return list(zip(self._paths(found), self._lengths(found), self._times(found), strict=True))

    def _filter(self, names: str) -> Any:
        """A `PathFilter` of the paths whose last part matches the pattern."""
        if names not in self._filters:
            bulk = self._bulk
            matches = bulk.java("java.util.regex.Pattern").compile(names).asMatchPredicate()
            test = bulk.method("java.util.function.Predicate", "test", "boolean", ["Object"])
            by_name = bulk.then(bulk.method(PATH, "getName", "String"), test.bindTo(matches))
            self._filters[names] = bulk.implement("org.apache.hadoop.fs.PathFilter", by_name)
        return self._filters[names]


@lru_cache(maxsize=1)
def _of(bulk: Bulk) -> FileStatuses:
    return FileStatuses(bulk)
