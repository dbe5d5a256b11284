"""ORC's own readers of many files at once, and what is asked of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.reader.bulk import Bulk, bulk_of
from dbt.adapters.hiveacid.reader.file_statuses import FILE_SYSTEM, PATH

_ACID_VERSION_KEY = "hive.acid.version"

_OPTIONS = "org.apache.orc.OrcFile$ReaderOptions"
_BUFFER = "java.nio.ByteBuffer"
_CONFIGURATION = "org.apache.hadoop.conf.Configuration"
_READER = "org.apache.orc.Reader"
_STATISTICS = "org.apache.orc.ColumnStatistics"
_INTEGERS = "org.apache.orc.IntegerColumnStatistics"
_SCHEMA = "org.apache.orc.TypeDescription"

_ORIGINAL_WRITE_ID, _BUCKET, _ROW = 2, 3, 4
"""The numbers of the statistics of the row id's parts: 0 is the root, 1 is `operation`."""


class OrcReaders:
    """Functions of arrays of ORC's `Reader`, of one JVM. Threads may share it.

    They raise JavaError for what Java throws for any of the files.
    """

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk
        self._open = bulk.zipped(_open(bulk), PATH, "long")
        self.rows = bulk.integers(bulk.method(_READER, "getNumberOfRows", "long"))
        self.schemas = bulk.strings(bulk.method(_READER, "getSchema", _SCHEMA))
        # An `Object[]` of each file's statistics: made anew by each call, so ask once.
        self.statistics = bulk.map(bulk.method(_READER, "getStatistics", f"[{_STATISTICS};"))
        says_version = bulk.method(_READER, "hasMetadataValue", "boolean", ["String"])
        self._says_version = bulk.booleans(bulk.with_constants(says_version, 1, _ACID_VERSION_KEY))
        version = bulk.method(_READER, "getMetadataValue", _BUFFER, ["String"])
        first_byte = bulk.method(_BUFFER, "get", "byte", ["int"])
        self._versions = bulk.integers(
            bulk.then(
                bulk.with_constants(version, 1, _ACID_VERSION_KEY),
                bulk.with_constants(first_byte, 1, 0),
            )
        )
        # From statistics of a column that does not hold integers these raise, as they should.
        # Without statistics the lowest is above the highest (`RowIdRange.of`).
        self._row_ids = [
            bulk.integers(
                bulk.then(bulk.element(_STATISTICS, column), bulk.method(_INTEGERS, name, "long"))
            )
            for column in (_ORIGINAL_WRITE_ID, _BUCKET, _ROW)
            for name in ("getMinimum", "getMaximum")
        ]
        self._texts: dict[int, Callable[[Any], list[str]]] = {}

    @staticmethod
    def of(spark: SparkSession) -> OrcReaders:
        """That of Spark's JVM."""
        return _of(bulk_of(spark))

    def opener(
        self, spark: SparkSession, path: str
    ) -> Callable[[Sequence[str], Sequence[int]], Any]:
        """The function from paths and lengths of files to their readers, which are closed.

        `path` is any path on the files' file system.
        """
        configuration = spark._jsc.hadoopConfiguration()
        file_system = self._bulk.java(PATH)(path).getFileSystem(configuration)

        def open_(paths: Sequence[str], lengths: Sequence[int]) -> Any:
            bulk = self._bulk
            arrays = bulk.paths(paths), bulk.longs(lengths)
            return self._open(len(paths), configuration, file_system, *arrays)

        return open_

    def acid_versions(self, readers: Any) -> list[int | None]:
        """What the ACID writer says of its format, one digit in ASCII; None if it says nothing."""
        said = self._says_version(readers)
        members = [i for i, says in enumerate(said) if says]
        found: list[int | None] = [None] * len(said)
        digits = self._versions(self.some(readers, members, len(said)))
        for i, digit in zip(members, digits, strict=True):
            found[i] = digit - ord("0")
        return found

    def row_ids(self, statistics: Any) -> list[tuple[int, ...]]:
        """Of each file the lowest and the highest write id, bucket property and row."""
        return list(zip(*(column(statistics) for column in self._row_ids), strict=True))

    def texts(self, number: int, statistics: Any) -> list[str]:
        """The texts of the statistics with that number of each file."""
        if number not in self._texts:
            self._texts[number] = self._bulk.strings(self._bulk.element(_STATISTICS, number))
        return self._texts[number](statistics)

    def some(self, array: Any, members: Sequence[int], length: int) -> Any:
        """The elements with these numbers of an array of that length."""
        return array if len(members) == length else self._bulk.some(array, members)


@lru_cache(maxsize=1)
def _of(bulk: Bulk) -> OrcReaders:
    return OrcReaders(bulk)


def _open(bulk: Bulk) -> Any:
    """The function from a configuration, a file system, a path and a length to a closed reader."""
    # New options for each file: ORC's library keeps the file's footer in them. The length is known
    # from the listing, so that nobody asks the file system again.
    options = bulk.on(
        bulk.method(_OPTIONS, "filesystem", _OPTIONS, [FILE_SYSTEM]),
        0,
        bulk.constructor(_OPTIONS, [_CONFIGURATION]),
    )
    options = bulk.on(bulk.method(_OPTIONS, "maxLength", _OPTIONS, ["long"]), 0, options)
    create = bulk.static("org.apache.orc.OrcFile", "createReader", _READER, [PATH, _OPTIONS])
    open_ = bulk.permuted(bulk.on(create, 1, options), 2, 0, 1, 3)
    # All that is asked is in memory then: an open file has buffers (64 KB by Spark's default), and
    # there are limits of how many are open.
    return bulk.then(open_, bulk.after(bulk.method(_READER, "close", "void")))
