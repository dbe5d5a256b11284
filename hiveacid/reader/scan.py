"""Spark's scan of exactly the planned files."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from types import MappingProxyType
from urllib.parse import unquote

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, LongType, StructField, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError, VanishedFileError
from hiveacid.formatting import first_few
from hiveacid.jvm.bulk import Bulk, bulk_of
from hiveacid.jvm.filesystem import (
    FILE_STATUS,
    PATH,
    THREADS,
    batches,
    by_file_system,
    with_blocks,
)
from hiveacid.jvm.java_types import JavaArray, JavaObject, JavaSession
from hiveacid.jvm.plans import plan_of
from hiveacid.jvm.py4j import java, scala_seq
from hiveacid.reader.pushdown import scan_options
from hiveacid.spark_versions import version_of

_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_BATCH = 1_000
_BLOCK_SIZE = 128 << 20
"""Block size in bytes. Any value works: Spark splits files by its own settings only."""

_KEPT_FILES = 200_000
"""Maximum number of files in cached indexes: about 100 MB in Java."""

_IndexKey = tuple[SparkContext, tuple[ListedFile, ...]]
_SessionKey = tuple[SparkContext, str, tuple[tuple[str, str | None], ...]]

_KEPT_SESSIONS = 64
"""Maximum number of cached Java sessions. Making one takes about 20 ms; scans hold on to theirs."""

FILE_PATH = "__hiveacid_file"
BLOCK_START = "__hiveacid_block_start"
BLOCK_LENGTH = "__hiveacid_block_length"
_FORMATS = {
    "orc": f"{_DATASOURCES}.orc.OrcFileFormat",
    "parquet": f"{_DATASOURCES}.parquet.ParquetFileFormat",
    "text": f"{_DATASOURCES}.text.TextFileFormat",
    "avro": "org.apache.spark.sql.avro.AvroFileFormat",
}
"""Classes of the readers: the meaning of the short names depends on settings
(`spark.sql.orc.impl`, `spark.sql.sources.useV1SourceList`)."""

_LISTING_THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"
_GLOB_CHARACTERS = re.compile(r"([{}\[\]*?\\,])")
_LISTED_BY_SPARK = 32
"""Maximum number of paths that Spark looks up itself, about a millisecond each."""

_FIXED = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "orc.skip.corrupt.data": "false",
    "orc.force.positional.evolution": "false",
}
"""Options that override settings of a session. Rows must not go missing because Spark or ORC skip
files or parts of files; and ORC must find columns by name, since the schema of a scan has the names
in the files, in Spark's order."""

_CASE_SENSITIVE = "spark.sql.caseSensitive"
_WHOLE_SCHEMA = {
    "orc.force.positional.evolution": "${orc.include.columns}",
    "orc.include.columns": "true",
}
"""Options that read all columns of a file, by position (`SparkVersion.whole_schema`)."""

_ABSENT = StructField("__hiveacid_none", BooleanType())
"""Field of `row` that no file has, so that reading the field costs nothing."""


class FileIndexes:
    """LRU cache of file indexes. The views of all sessions share the indexes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_IndexKey, JavaObject] = OrderedDict()

    def of(self, spark: SparkSession, files: Sequence[ListedFile]) -> JavaObject:
        """Return an `InMemoryFileIndex` of the files, in their order."""
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


def with_files(
    spark: SparkSession, frame: DataFrame, index: JavaObject, session: JavaSession | None = None
) -> DataFrame:
    """Return `frame`, a plain scan of one file, as a scan of the files of `index`.

    The files are read with the settings of the Java session `session`, by default of `spark`.
    """
    relation = plan_of(frame).relation()
    other = java(spark.sparkContext, f"{_DATASOURCES}.HadoopFsRelation")(
        index,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        session or spark._jsparkSession,
    )
    return DataFrame(spark._jsparkSession.baseRelationToDataFrame(other), spark)


def _file_index(spark: SparkSession, files: Sequence[ListedFile]) -> JavaObject:
    bulk = bulk_of(spark)
    # `FileStatusCache` makes a separate cache for each call: other indexes do not see its entries.
    cache = bulk.java(f"{_DATASOURCES}.FileStatusCache").getOrCreate(spark._jsparkSession)
    for group in by_file_system(files, lambda file: file.path):
        _fill(spark, cache, group)
    scala = bulk.java("scala.Option")
    paths = bulk.to_list(bulk.paths([file.path for file in files]))
    no_partitions = bulk.java(f"{_DATASOURCES}.PartitionSpec").emptySpec()
    index = bulk.java(f"{_DATASOURCES}.InMemoryFileIndex")(
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


def _fill(spark: SparkSession, cache: JavaObject, files: Sequence[ListedFile]) -> None:
    """Put the file statuses of one file system into the cache, each under its own path."""
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
def _put(bulk: Bulk) -> Callable[..., JavaArray]:
    """Return the function that puts file statuses into a cache.

    Its arguments are the number of files, the cache, the file system, and arrays of the files'
    lengths, modification times and paths.
    """
    new = bulk.with_constants(
        bulk.constructor(FILE_STATUS, ["long", "boolean", "int", "long", "long", PATH]),
        1,
        False,
        1,
        bulk.java("java.lang.Long")(_BLOCK_SIZE),
    )
    put_leaf_files = bulk.method(
        f"{_DATASOURCES}.FileStatusCache", "putLeafFiles", "void", [PATH, f"[{FILE_STATUS};"]
    )
    put_one = bulk.collecting(put_leaf_files, f"[{FILE_STATUS};")
    path_of = bulk.method(FILE_STATUS, "getPath", PATH)
    put = bulk.permuted(bulk.on(put_one, 1, path_of), 0, 1, 1)
    return bulk.zipped(bulk.on(put, 1, bulk.on(with_blocks(bulk), 1, new)), "long", "long", PATH)


class SessionsLike:
    """LRU cache of Java sessions with the settings of another session, apart from their own.

    Nothing else uses these sessions, so a user cannot change their own settings.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[_SessionKey, JavaSession] = OrderedDict()

    def of(self, spark: SparkSession, own: Mapping[str, str | None]) -> JavaSession:
        """Return a session with the present settings of `spark`, and the settings `own`.

        A setting that is None in `own` has Spark's default. In a cached session, the other settings
        are updated from `spark`.
        """
        like = spark._jsparkSession
        key = (spark.sparkContext, str(like.sessionUUID()), tuple(sorted(own.items())))
        with self._lock:
            session = self._kept.get(key)
            if session is None:
                session = self._kept[key] = like.newSession()
            self._kept.move_to_end(key)
            if len(self._kept) > _KEPT_SESSIONS:
                self._kept.popitem(last=False)
            # A copy: other threads may change the settings meanwhile.
            wanted = like.sessionState().conf().clone().settings()
            for name, value in own.items():
                if value is None:
                    wanted.remove(name)
                else:
                    wanted.put(name, value)
            # The settings `own` must never have other values, even briefly: statements may run.
            settings = session.sessionState().conf().settings()
            settings.putAll(wanted)
            settings.keySet().retainAll(wanted.keySet())
            return session


_INDEXES = FileIndexes()
_SESSIONS = SessionsLike()


def scan(
    spark: SparkSession,
    format: str,
    files: Sequence[ListedFile],
    schema: StructType | str,
    options: Mapping[str, str] = MappingProxyType({}),
    located: bool = True,
    settings: Mapping[str, str | None] = MappingProxyType({}),
) -> tuple[DataFrame, dict[str, ListedFile]]:
    """Return a scan of exactly the given files, with each row's file and split.

    Args:
        spark: the session.
        format: `orc`, `parquet`, `text` or `avro`.
        files: the planned files.
        schema: the read schema.
        options: further options of Spark's reader.
        located: add the columns of a row's file and split. Spark computes them even for a query
            that does not use them.
        settings: settings that replace the session's; None is Spark's default.

    Returns:
        The DataFrame, with the columns `FILE_PATH`, `BLOCK_START` and `BLOCK_LENGTH` (first byte
        and length in bytes of the row's split); and the planned files by their value of
        `FILE_PATH`.

    Raises:
        UnreadableTableError: Spark would read other files than the planned ones.
        VanishedFileError: a planned file is gone.
    """
    session = _session_with(spark, settings)
    looked_up = files if len(files) <= _LISTED_BY_SPARK and session is None else files[:1]
    paths = [_GLOB_CHARACTERS.sub(r"\\\1", file.path) for file in looked_up]
    with _listing_in_driver(spark, len(files)):
        try:
            reader = spark.read.format(_FORMATS[format]).schema(schema)
            frame = reader.options(**{**_FIXED, **options}).load(paths)
        except AnalysisException as error:
            if "[PATH_NOT_FOUND]" not in str(error):
                raise
            gone = str(error).partition("not exist: ")[2].partition(". SQLSTATE")[0]
            raise VanishedFileError(
                f"{gone} was in the plan of the read, and is gone. Take a new snapshot."
            ) from error
        if looked_up is not files or session is not None:
            index = _INDEXES.of(spark, files)
            frame = with_files(spark, frame, index, session)
            seen = bulk_of(spark).texts(index.inputFiles())
        else:
            seen = frame.inputFiles()
    by_path = _check(seen, files)
    if not located:
        return frame, by_path
    # Not by name: the table may have a column `_metadata`.
    metadata = _metadata_column(frame)
    return (
        frame.select(
            "*",
            metadata["file_path"].alias(FILE_PATH),
            metadata["file_block_start"].alias(BLOCK_START),
            metadata["file_block_length"].alias(BLOCK_LENGTH),
        ),
        by_path,
    )


def _session_with(spark: SparkSession, settings: Mapping[str, str | None]) -> JavaSession | None:
    """Return the Java session with which files are read; None for `spark` itself.

    Hive's names are case-insensitive, and a compaction on Tez writes the ACID columns in lower
    case. A case-sensitive session would show NULL.
    """
    own = dict(settings)
    if str(spark.conf.get(_CASE_SENSITIVE)).lower() == "true":
        own[_CASE_SENSITIVE] = "false"
    return _SESSIONS.of(spark, own) if own else None


def _metadata_column(frame: DataFrame) -> Column:
    if hasattr(DataFrame, "metadataColumn"):
        return frame.metadataColumn("_metadata")
    # PySpark 3.5 lacks this method of the Java object.
    return Column(frame._jdf.metadataColumn("_metadata"))


@contextmanager
def _listing_in_driver(spark: SparkSession, paths: int) -> Iterator[None]:
    """Let the driver look up the given files: for more than 32 Spark would start a cluster job."""
    before = spark.conf.get(_LISTING_THRESHOLD)
    spark.conf.set(_LISTING_THRESHOLD, str(paths + 1))
    try:
        yield
    finally:
        spark.conf.set(_LISTING_THRESHOLD, str(before))


def _check(seen: Sequence[str], files: Sequence[ListedFile]) -> dict[str, ListedFile]:
    """Refuse a scan whose files differ from the plan, and return the files by Spark's paths.

    Spark reads every path as a glob, and skips names that it treats as hidden.
    """
    planned = {_plain(file.path): file for file in files}
    found = {unquote(_plain(uri)): _plain(uri) for uri in seen}
    if len(seen) != len(files) or planned.keys() != found.keys():
        missing = sorted(planned.keys() - found.keys())
        surplus = sorted(found.keys() - planned.keys())
        raise UnreadableTableError(
            f"Spark would read {len(seen)} files where {len(files)} are planned; missing: "
            f"{first_few(missing, 3) or 'none'}; surplus: {first_few(surplus, 3) or 'none'}. "
            "Spark skips names that it treats as hidden: let Hive write the table again, or "
            "report the case.",
            code="HIVEACID_FILES_DIFFER_FROM_PLAN",
        )
    return {found[path]: file for path, file in planned.items()}


def _plain(path: str) -> str:
    """Return a path in the short form of `_metadata.file_path`.

    `file:///a` and `file:/a` are the same.
    """
    return path.replace("file:///", "file:/", 1) if path.startswith("file:///") else path


def acid_scan(
    spark: SparkSession,
    files: Sequence[ListedFile],
    row: StructType,
    located: bool = True,
    more_options: Mapping[str, str] = MappingProxyType({}),
) -> tuple[DataFrame, dict[str, ListedFile]]:
    """Return a `scan` of ACID files: their six columns, with the given fields of `row`.

    Raises:
        UnreadableTableError: Spark would read other files than the planned ones.
    """
    schema = (
        StructType()
        .add("operation", IntegerType())
        .add("originalTransaction", LongType())
        .add("bucket", IntegerType())
        .add("rowId", LongType())
        .add("currentTransaction", LongType())
        .add("row", StructType([_ABSENT, *row.fields]))
    )
    if version_of(spark.version).whole_schema:
        options = {**_WHOLE_SCHEMA, **scan_options(spark), **more_options}
        return scan(spark, "orc", files, schema, options, located)
    frame, by_path = scan(spark, "orc", files, schema, more_options, located)
    guard = F.coalesce(
        "operation",
        "originalTransaction",
        "bucket",
        "rowId",
        "currentTransaction",
        F.col(f"row.{_ABSENT.name}").cast("bigint"),
    )
    return frame.where(guard.isNotNull()), by_path
