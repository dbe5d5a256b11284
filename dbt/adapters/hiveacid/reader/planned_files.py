"""Spark's index of exactly the planned files, made from what the listing has told.

By `spark.read.load(paths)` Spark asks the file system for every path again, one after the other,
and py4j sends each path by itself. Here the index of the files is Spark's own, too, but finds them
in its cache of file statuses. What the cache does not take (it has a limit, or is turned off) Spark
lists itself.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.reader.bulk import Bulk, bulk_of
from dbt.adapters.hiveacid.reader.file_statuses import FILE_STATUS, FILE_SYSTEM, PATH
from dbt.adapters.hiveacid.reader.hadoop import THREADS, batches, by_file_system
from dbt.adapters.hiveacid.spark.jvm import java, scala_seq

_SOURCES = "org.apache.spark.sql.execution.datasources"
_BLOCKS = "[org.apache.hadoop.fs.BlockLocation;"
_LOCATED = "org.apache.hadoop.fs.LocatedFileStatus"

_BATCH = 1_000
_BLOCK_SIZE = 128 << 20
"""Where a file is split matters to Spark by its own settings only."""

_KEPT_FILES = 200_000
"""Indexes are kept for so many files together: some 100 MB in Java."""


class FileIndexes:
    """Indexes by their files, the last ones used. The views of all sessions share them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[SparkContext, tuple[ListedFile, ...]], Any] = OrderedDict()

    def of(self, spark: SparkSession, files: Sequence[ListedFile]) -> Any:
        """The Java object: an `InMemoryFileIndex` of the files, in their order."""
        key = (spark.sparkContext, tuple(files))
        with self._lock:
            index = self._kept.get(key)
            if index is not None:
                self._kept.move_to_end(key)
                return index
        index = _file_index(spark, files)
        with self._lock:
            self._kept[key] = index
            while len(self._kept) > 1 and sum(len(f) for _, f in self._kept) > _KEPT_FILES:
                self._kept.popitem(last=False)
        return index


def with_files(spark: SparkSession, frame: DataFrame, index: Any) -> DataFrame:
    """A DataFrame as `frame`, a plain scan of one file, but of the files of `index`."""
    relation = frame._jdf.queryExecution().analyzed().relation()
    other = java(spark.sparkContext, f"{_SOURCES}.HadoopFsRelation")(
        index,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        spark._jsparkSession,
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(other), spark)


def _file_index(spark: SparkSession, files: Sequence[ListedFile]) -> Any:
    bulk = bulk_of(spark)
    # A cache of its own for each call: other indexes do not see what is put here.
    cache = bulk.java(f"{_SOURCES}.FileStatusCache").getOrCreate(spark._jsparkSession)
    for group in by_file_system(files, lambda file: file.path):
        _fill(spark, cache, group)
    scala = bulk.java("scala.Option")
    paths = bulk.to_list(bulk.paths([file.path for file in files]))
    no_partitions = bulk.java(f"{_SOURCES}.PartitionSpec").emptySpec()
    index = bulk.java(f"{_SOURCES}.InMemoryFileIndex")(
        spark._jsparkSession,
        scala_seq(spark.sparkContext, paths),
        bulk.java("scala.collection.immutable.Map$").__getattr__("MODULE$").empty(),
        scala.empty(),
        cache,
        bulk.java("scala.Some")(no_partitions),
        scala.empty(),
    )
    cache.invalidateAll()
    return index


def _fill(spark: SparkSession, cache: Any, files: Sequence[ListedFile]) -> None:
    """Put the statuses of files of one file system into the cache, each under its own path."""
    bulk = bulk_of(spark)
    put = _put(bulk)
    file_system = bulk.java(PATH)(files[0].path).getFileSystem(spark._jsc.hadoopConfiguration())

    def fill(part: Sequence[ListedFile]) -> None:
        lengths = bulk.longs([file.length for file in part])
        times = bulk.longs([file.modification_time for file in part])
        paths = bulk.paths([file.path for file in part])
        put(len(part), cache, file_system, lengths, times, paths)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(fill, batches(files, _BATCH)))


@lru_cache(maxsize=1)
def _put(bulk: Bulk) -> Callable[..., Any]:
    """The function that puts statuses of files into a cache.

    It takes the number of files, the cache, the file system, and arrays of the files' lengths,
    modification times and paths.
    """
    new = bulk.with_constants(
        bulk.constructor(FILE_STATUS, ["long", "boolean", "int", "long", "long", PATH]),
        1,
        False,
        1,
        bulk.java("java.lang.Long")(_BLOCK_SIZE),
    )
    put_leaf_files = bulk.method(
        f"{_SOURCES}.FileStatusCache", "putLeafFiles", "void", [PATH, f"[{FILE_STATUS};"]
    )
    put_one = bulk.collecting(put_leaf_files, f"[{FILE_STATUS};")
    path_of = bulk.method(FILE_STATUS, "getPath", PATH)
    put = bulk.permuted(bulk.on(put_one, 1, path_of), 0, 1, 1)
    return bulk.zipped(bulk.on(put, 1, bulk.on(_located(bulk), 1, new)), "long", "long", PATH)


def _located(bulk: Bulk) -> Any:
    """The function from a file system and a status to the status with where the blocks lie.

    Spark does so for its own. HDFS is asked once a file; object stores and the local file system
    know without asking.
    """
    blocks = bulk.method(
        FILE_SYSTEM, "getFileBlockLocations", _BLOCKS, [FILE_STATUS, "long", "long"]
    )
    from_start = bulk.with_constants(blocks, 2, bulk.java("java.lang.Long")(0))
    length = bulk.method(FILE_STATUS, "getLen", "long")
    blocks_of = bulk.permuted(bulk.on(from_start, 2, length), 0, 1, 1)
    located = bulk.on(bulk.constructor(_LOCATED, [FILE_STATUS, _BLOCKS]), 1, blocks_of)
    return bulk.permuted(located, 1, 0, 1)
