"""Spark's files of a write, in a hidden directory of the table, with the names that Hive wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from hiveacid.acid.layout import ACID_VERSION_FILE
from hiveacid.errors import PublicationError
from hiveacid.formatting import quoted
from hiveacid.jvm.filesystem import list_location
from hiveacid.metastore.models import partition_name
from hiveacid.reader.columns import NULL_PARTITION
from hiveacid.reader.deletes import BUCKET, PARTITION, ROW, WRITE_ID
from hiveacid.writer.buckets import BUCKET_NUMBER, with_bucket
from hiveacid.writer.files import Files
from hiveacid.writer.layout import (
    MOST_FILES,
    Kind,
    StagedDirectory,
    bucket_name,
    partition_values,
    raw_name,
    task_of,
)
from hiveacid.writer.rows import fit, named_as_hive, on_hives_clock, with_checked_dates
from hiveacid.writer.target import Target

_OPERATION_DELETE = 2
"""Value of the ACID column `operation` in delete events."""
_OPERATION_INSERT = 0
"""Value of the ACID column `operation` in new rows."""
_VERSION_OF_BUCKET_PROPERTY = 1 << 29
_ROWS_OF_TASK = (1 << 33) - 1
"""The bits of `monotonically_increasing_id` that count the rows of a task."""
_KEY = "hiveacid_key_{}"
"""Names of partition columns beside ACID columns, which may have the same names."""
_OF_PARTITION, _OF_FILE = "partition", "file"
"""Columns of delete events that Spark makes directories of: the numbers of partition and file."""

_OPTIONS = {
    # One file a task, so that the file's number is the task's.
    "maxRecordsPerFile": "0",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
STRICT = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
"""Options of reads of what is staged."""
_WRITERS = {
    # By its class: `spark.sql.orc.impl` may name the writer of Hive 1.2.
    "orc": "org.apache.spark.sql.execution.datasources.orc.OrcFileFormat",
    "parquet": "parquet",
}
"""Spark's writer, by file format."""


def stage_raw(
    target: Target, frame: DataFrame, root: str, kind: Kind, statement: int
) -> list[StagedDirectory]:
    """Stage rows in the table's own columns, below `root`.

    Hive makes their row ids of the directory and the file's name. The files of a bucketed table
    have the numbers of their buckets.
    """
    rows = _on_disk(target, frame)
    if target.buckets:
        return _stage_buckets(target, rows, root, kind, statement)
    _write(rows, target, root, target.keys)
    return [
        StagedDirectory(f"{root}/{it}" if it else root, it, kind, statement)
        for it in _renamed(
            rows.sparkSession, root, partial(raw_name, is_full_acid=target.table.is_full_acid)
        )
    ]


def _on_disk(target: Target, frame: DataFrame) -> DataFrame:
    """Return rows with the columns, types and values that files get, and their buckets."""
    rows, columns = fit(frame, target.columns), target.columns
    if target.file_format == "orc" and not target.server.marks_calendars:
        rows = with_checked_dates(rows, [*columns.data, *columns.partition])
    if target.buckets:
        rows = with_bucket(rows, target.buckets, target.table.storage.num_buckets)
    if target.file_format == "orc":
        rows = on_hives_clock(rows, columns.data.fields)
    return named_as_hive(rows, columns)


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


def stage_to_wrap(target: Target, frame: DataFrame, root: str) -> None:
    """Stage rows below `root` for `stage_wrapped`, which needs their write id."""
    _write(_on_disk(target, frame), target, root, ())


def stage_wrapped(
    spark: SparkSession,
    target: Target,
    source: str,
    root: str,
    kind: Kind,
    statement: int,
    write_id: int,
) -> list[StagedDirectory]:
    """Stage the rows in `source` (`stage_to_wrap`) with ACID columns, below `root`."""
    schema = StructType([*target.columns.data, *target.columns.partition])
    reader = spark.read.format(_WRITERS["orc"]).options(**STRICT).schema(schema)
    data = [F.col(quoted(name)) for name in target.columns.data.names]
    keys = {key: _KEY.format(number) for number, key in enumerate(target.keys)}
    bucket = f"{_VERSION_OF_BUCKET_PROPERTY | statement} | shiftleft(spark_partition_id(), 16)"
    rows = reader.load(source).select(
        F.lit(_OPERATION_INSERT).cast("int").alias("operation"),
        F.lit(write_id).cast("bigint").alias("originalTransaction"),
        F.expr(bucket).cast("int").alias("bucket"),
        F.expr(f"monotonically_increasing_id() & {_ROWS_OF_TASK}L").alias("rowId"),
        F.lit(write_id).cast("bigint").alias("currentTransaction"),
        F.struct(*data).alias("row"),
        *(_never_null(target, key).alias(alias) for key, alias in keys.items()),
    )
    # Else Spark sorts by the keys alone.
    ordered = rows.sortWithinPartitions(*keys.values(), "rowId") if keys else rows
    _write(ordered, target, root, [*keys.values()])
    staged, files = [], Files(spark)
    for relative in _renamed(spark, root, bucket_name):
        path = f"{root}/{relative}" if relative else root
        files.write(f"{path}/{ACID_VERSION_FILE}", b"2")
        name = partition_name(target.keys, partition_values(relative)) if keys else ""
        staged.append(StagedDirectory(path, name, kind, statement))
    return staged


def _never_null(target: Target, key: str) -> Column:
    """Return a partition column; of a text, NULL is the name of its directory.

    Else Spark changes the column below its writer, and sorts by the keys alone.
    """
    column = F.col(quoted(key))
    if not isinstance(target.columns.partition[key].dataType, StringType):
        return column
    is_null = column.isNull() | (column == F.lit(""))
    return F.when(is_null, F.lit(NULL_PARTITION)).otherwise(F.coalesce(column, F.lit("")))


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
        name = f"{path}/{bucket_name(int(number))}"
        if target.is_of_hive_3:
            # It counts the delete events by this (`OrcAcidUtils.parseAcidStats`).
            counts = f"0,0,{files.rows_of(file.path)}"
            files.copy_with_metadata(file.path, name, {"hive.acid.stats": counts})
        else:
            files.rename(file.path, name)
    for path in moved:
        # Says that the files have no updates among inserts, as those of Hive 2.
        files.write(f"{path}/{ACID_VERSION_FILE}", b"2")
    return [
        StagedDirectory(path, name, Kind.DELETE_DELTA, statement) for path, name in moved.items()
    ]


def _write(frame: DataFrame, target: Target, root: str, directories: Sequence[str]) -> None:
    # Hive 3's ORC has no zstd.
    codec = "zstd" if target.file_format == "orc" and not target.is_of_hive_3 else "snappy"
    writer = frame.write.format(_WRITERS[target.file_format]).mode("append")
    writer = writer.options(compression=codec, **_OPTIONS)
    if directories:
        writer = writer.partitionBy(*directories)
    writer.save(root)


def _renamed(spark: SparkSession, root: str, name: Callable[[int], str]) -> list[str]:
    """Give Spark's files the names that Hive wants; return their directories, below `root`."""
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
        files.rename(file.path, file.path.removesuffix(own) + name(task))
    return sorted(partitions)
