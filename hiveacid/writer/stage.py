"""Spark's files of a write, in a hidden directory of the table, with the names that Hive wants."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DateType

from hiveacid.acid.layout import ACID_VERSION_FILE
from hiveacid.errors import PublicationError
from hiveacid.formatting import quoted
from hiveacid.jvm.filesystem import list_location
from hiveacid.reader.deletes import BUCKET, PARTITION, ROW, WRITE_ID
from hiveacid.reader.timestamps import has
from hiveacid.writer.buckets import BUCKET_NUMBER, with_bucket
from hiveacid.writer.files import Files
from hiveacid.writer.layout import (
    MOST_FILES,
    Kind,
    StagedDirectory,
    bucket_name,
    raw_name,
    task_of,
)
from hiveacid.writer.rows import fit, named_as_hive, on_hives_clock, without_zone
from hiveacid.writer.target import Target

_OPERATION_DELETE = 2
"""Value of the ACID column `operation` in delete events."""
_OF_PARTITION, _OF_FILE = "partition", "file"
"""Columns of delete events that Spark makes directories of: the numbers of partition and file."""

_REBASE = "spark.sql.parquet.datetimeRebaseModeInWrite"
_lock = threading.RLock()

_OPTIONS = {
    # One file a task, so that the file's number is the task's.
    "maxRecordsPerFile": "0",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
_WRITERS = {
    # By its class: `spark.sql.orc.impl` may name the writer of Hive 1.2.
    "orc": ("org.apache.spark.sql.execution.datasources.orc.OrcFileFormat", "zstd"),
    "parquet": ("parquet", "snappy"),
}
"""Spark's writer and a codec that Hive 4 reads, by file format."""


def stage_raw(
    target: Target, frame: DataFrame, root: str, kind: Kind, statement: int
) -> list[StagedDirectory]:
    """Stage rows in the table's own columns, below `root`.

    Hive makes their row ids of the directory and the file's name. The files of a bucketed table
    have the numbers of their buckets.
    """
    rows = fit(frame, target.columns)
    buckets = target.buckets
    if buckets:
        rows = with_bucket(rows, buckets, target.table.storage.num_buckets)
    shown = on_hives_clock if target.file_format == "orc" else without_zone
    rows = named_as_hive(shown(rows, target.columns.data.fields), target.columns)
    if buckets:
        return _stage_buckets(target, rows, root, kind, statement)
    _write(rows, target, root, target.keys)
    return _staged(rows.sparkSession, target, root, kind, statement)


def _stage_buckets(
    target: Target, rows: DataFrame, root: str, kind: Kind, statement: int
) -> list[StagedDirectory]:
    """Stage rows with a number of a bucket: one file for each bucket of a partition."""
    directories = [*target.keys, BUCKET_NUMBER]
    by_bucket = f"{root}_by_bucket"
    _write(rows.repartition(*map(quoted, directories)), target, by_bucket, directories)
    spark, files = rows.sparkSession, Files(rows.sparkSession)
    moved: dict[str, str] = {}
    for file in list_location(spark, by_bucket).files:
        partition, _, number = file.relative.rpartition("/")[0].rpartition(f"{BUCKET_NUMBER}=")
        partition = partition.rstrip("/")
        path = f"{root}/{partition}" if partition else root
        if path not in moved:
            files.make_directory(path)
            moved[path] = partition
        new = f"{path}/{raw_name(int(number), target.table.is_full_acid)}"
        # A second file of the bucket would take the place of the first on some file systems.
        files.check_absent(new)
        files.rename(file.path, new)
    return [StagedDirectory(path, name, kind, statement) for path, name in moved.items()]


def stage_deletes(
    target: Target,
    rows: DataFrame,
    partitions: Sequence[str],
    root: str,
    write_id: int,
    statement: int,
) -> list[StagedDirectory]:
    """Stage the delete events of rows below `root`.

    `rows` has the columns of a row id (`reader.deletes.ROW_ID`); `partitions` names the partitions
    by their numbers there. Hive applies the events of a file to data files of the same number, and
    none of a file that is not sorted.
    """
    events = rows.select(
        F.lit(_OPERATION_DELETE).cast("int").alias("operation"),
        F.col(WRITE_ID).cast("bigint").alias("originalTransaction"),
        F.col(BUCKET).cast("int").alias("bucket"),
        F.col(ROW).cast("bigint").alias("rowId"),
        F.lit(write_id).cast("bigint").alias("currentTransaction"),
        F.lit(None).cast(target.columns.data).alias("row"),
        F.col(PARTITION).cast("int").alias(_OF_PARTITION),
        F.expr(f"shiftright({BUCKET}, 16) & {MOST_FILES - 1}").alias(_OF_FILE),
    )
    directories = [_OF_PARTITION, _OF_FILE]
    placed = events.repartition(*directories)
    ordered = placed.sortWithinPartitions(*directories, "originalTransaction", "bucket", "rowId")
    _write(ordered, target, root, directories)
    spark, files = rows.sparkSession, Files(rows.sparkSession)
    moved: dict[str, str] = {}
    for file in list_location(spark, root).files:
        partition, number = (part.partition("=")[2] for part in file.relative.split("/")[:2])
        path = f"{root}/{partition}"
        if path not in moved:
            files.make_directory(path)
            moved[path] = partitions[int(partition)]
        files.rename(file.path, f"{path}/{bucket_name(int(number))}")
    for path in moved:
        # Says that the files have no updates among inserts, as those of Hive 2.
        files.write(f"{path}/{ACID_VERSION_FILE}", b"2")
    return [
        StagedDirectory(path, name, Kind.DELETE_DELTA, statement) for path, name in moved.items()
    ]


def _write(frame: DataFrame, target: Target, root: str, directories: Sequence[str]) -> None:
    name, codec = _WRITERS[target.file_format]
    writer = frame.write.format(name).mode("append").options(compression=codec, **_OPTIONS)
    if directories:
        writer = writer.partitionBy(*directories)
    has_days = name == "parquet" and has(frame.schema, DateType)
    with _days_as_hive(frame.sparkSession) if has_days else nullcontext():
        writer.save(root)


@contextmanager
def _days_as_hive(spark: SparkSession) -> Iterator[None]:
    """Make Spark write days before 1582-10-15 to Parquet by the calendar in which Hive reads them.

    Spark marks the files. In such a file the reader refuses timestamps before 1900, so it is not
    done for files without dates.
    """
    if spark.conf.get(_REBASE) == "LEGACY":
        yield
        return
    # Another thread must not mistake our setting for the session's own.
    with _lock:
        before = str(spark.conf.get(_REBASE))
        spark.conf.set(_REBASE, "LEGACY")
        try:
            yield
        finally:
            spark.conf.set(_REBASE, before)


def _staged(
    spark: SparkSession, target: Target, root: str, kind: Kind, statement: int
) -> list[StagedDirectory]:
    """Give Spark's files the names that Hive wants, and return their directories."""
    files, partitions = Files(spark), set()
    for file in list_location(spark, root).files:
        partition, _, own = file.relative.rpartition("/")
        task = task_of(own)
        if task is None:
            raise PublicationError(
                f"Spark has written {file.path}, whose name does not show its task. Use Spark's "
                "own commit protocol (spark.sql.sources.commitProtocolClass). Nothing was "
                "committed."
            )
        partitions.add(partition)
        name = raw_name(task, target.table.is_full_acid)
        files.rename(file.path, file.path.removesuffix(own) + name)
    return [
        StagedDirectory(f"{root}/{it}" if it else root, it, kind, statement)
        for it in sorted(partitions)
    ]
