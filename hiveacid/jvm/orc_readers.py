"""ORC's own `Reader`, for many files at once: the contents of their footers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from pyspark.sql import SparkSession

from hiveacid.jvm.bulk import Bulk, bulk_of
from hiveacid.jvm.filesystem import FILE_SYSTEM, PATH
from hiveacid.jvm.java_types import JavaArray, MethodHandle

_ACID_VERSION_KEY = "hive.acid.version"
_OPTIONS = "org.apache.orc.OrcFile$ReaderOptions"
_BUFFER = "java.nio.ByteBuffer"
_CONFIGURATION = "org.apache.hadoop.conf.Configuration"
_READER = "org.apache.orc.Reader"
_STATISTICS = "org.apache.orc.ColumnStatistics"
_INTEGERS = "org.apache.orc.IntegerColumnStatistics"
_SCHEMA = "org.apache.orc.TypeDescription"
_OPERATION, _ORIGINAL_WRITE_ID, _BUCKET, _ROW = 1, 2, 3, 4
"""ORC's column ids of `operation` and of the row id's parts; the root has 0."""

_STRIPE = re.compile(r"offset: (\d+) data: \d+ rows: (\d+)")
"""Beginning of the text of `StripeInformation.toString`."""


class Stripe(NamedTuple):
    """Stripe of an ORC file: its first byte, and its number of rows."""

    offset: int
    rows: int


class OrcReaders:
    """Functions on arrays of ORC's `Reader` in one JVM. Threads may share the object.

    A function raises JavaError if Java throws for any of the files.
    """

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk
        self._open = bulk.zipped(_open(bulk), PATH, "long")
        self.rows = bulk.integers(bulk.method(_READER, "getNumberOfRows", "long"))
        self.schemas = bulk.strings(bulk.method(_READER, "getSchema", _SCHEMA))
        self._stripes = bulk.strings(bulk.method(_READER, "getStripes", "java.util.List"))
        # An `Object[]` of each file's statistics. ORC makes it in each call, so call once.
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

        # They raise for the statistics of a column that is not an integer, as they should.
        # Without statistics the minimum is above the maximum (`RowIdRange.of`).
        def ends(column: int) -> list[Callable[[JavaArray], list[int]]]:
            of_column = bulk.element(_STATISTICS, column)
            return [
                bulk.integers(bulk.then(of_column, bulk.method(_INTEGERS, name, "long")))
                for name in ("getMinimum", "getMaximum")
            ]

        self._row_ids = [*ends(_ORIGINAL_WRITE_ID), *ends(_BUCKET), *ends(_ROW)]
        self._operations = ends(_OPERATION)
        self._texts: dict[int, Callable[[JavaArray], list[str]]] = {}

    @staticmethod
    def of(spark: SparkSession) -> OrcReaders:
        """Return the object for Spark's JVM."""
        return _readers_of(bulk_of(spark))

    def opener(
        self, spark: SparkSession, path: str
    ) -> Callable[[Sequence[str], Sequence[int]], JavaArray]:
        """Return a function from paths and lengths of files to their readers, already closed.

        `path` is any path on the files' file system.
        """
        configuration = spark._jsc.hadoopConfiguration()
        file_system = self._bulk.java(PATH)(path).getFileSystem(configuration)

        def open_(paths: Sequence[str], lengths: Sequence[int]) -> JavaArray:
            bulk = self._bulk
            arrays = bulk.paths(paths), bulk.longs(lengths)
            return self._open(len(paths), configuration, file_system, *arrays)

        return open_

    def acid_versions(self, readers: JavaArray) -> list[int | None]:
        """Return the ACID version that each file states; None if a file states none.

        A version is one ASCII digit.
        """
        said = self._says_version(readers)
        members = [i for i, says in enumerate(said) if says]
        found: list[int | None] = [None] * len(said)
        digits = self._versions(self.some(readers, members, len(said)))
        for i, digit in zip(members, digits, strict=True):
            found[i] = digit - ord("0")
        return found

    def stripes(self, readers: JavaArray) -> list[tuple[Stripe, ...]]:
        """Return the stripes of each file, in their order."""
        return [
            tuple(Stripe(int(offset), int(rows)) for offset, rows in _STRIPE.findall(text))
            for text in self._stripes(readers)
        ]

    def row_ids(self, statistics: JavaArray) -> list[tuple[int, ...]]:
        """Return the lowest and highest write id, bucket property and row of each file."""
        return list(zip(*(column(statistics) for column in self._row_ids), strict=True))

    def operations(self, statistics: JavaArray) -> list[tuple[int, int] | None]:
        """Return the lowest and highest `operation` of each file; None without statistics."""
        lows, highs = (end(statistics) for end in self._operations)
        pairs = zip(lows, highs, strict=True)
        return [(low, high) if low <= high else None for low, high in pairs]

    def texts(self, number: int, statistics: JavaArray) -> list[str]:
        """Return the statistics of the column id `number` as text, for each file."""
        if number not in self._texts:
            self._texts[number] = self._bulk.strings(self._bulk.element(_STATISTICS, number))
        return self._texts[number](statistics)

    def some(self, array: JavaArray, members: Sequence[int], length: int) -> JavaArray:
        """Return the elements at the indexes `members` of an array of the given length."""
        return array if len(members) == length else self._bulk.some(array, members)


@lru_cache(maxsize=1)
def _readers_of(bulk: Bulk) -> OrcReaders:
    return OrcReaders(bulk)


def _open(bulk: Bulk) -> MethodHandle:
    """Return a function from a configuration, file system, path and length to a closed reader."""
    # New options for each file: ORC stores the file's footer in them. The length comes from the
    # listing, so that ORC does not ask the file system again.
    options = bulk.on(
        bulk.method(_OPTIONS, "filesystem", _OPTIONS, [FILE_SYSTEM]),
        0,
        bulk.constructor(_OPTIONS, [_CONFIGURATION]),
    )
    options = bulk.on(bulk.method(_OPTIONS, "maxLength", _OPTIONS, ["long"]), 0, options)
    create = bulk.static("org.apache.orc.OrcFile", "createReader", _READER, [PATH, _OPTIONS])
    open_ = bulk.permuted(bulk.on(create, 1, options), 2, 0, 1, 3)
    # The reader is closed at once, since the footer is in memory: an open file has buffers (64 KB
    # by Spark's default), and the number of open files is limited.
    return bulk.then(open_, bulk.after(bulk.method(_READER, "close", "void")))
