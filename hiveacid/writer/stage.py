"""Spark's files of a write, in a hidden directory of the table, with the names that Hive wants."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.layout import ACID_VERSION_FILE
from hiveacid.errors import PublicationError
from hiveacid.jvm.filesystem import list_location
from hiveacid.reader.deletes import BUCKET, PARTITION, ROW, WRITE_ID
from hiveacid.writer.files import Files
from hiveacid.writer.layout import (
    MOST_FILES,
    Kind,
    StagedDirectory,
    bucket_name,
    raw_name,
    task_of,
)
from hiveacid.writer.rows import fit, on_hives_clock
from hiveacid.writer.target import Target

_OPERATION_DELETE = 2
"""Value of the ACID column `operation` in delete events."""
_OF_PARTITION, _OF_FILE = "partition", "file"
"""Columns of delete events that Spark makes directories of: the numbers of partition and file."""

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

    Hive makes their row ids of the directory and the file's name. Insert-only tables have no row
    ids, and keep Spark's names.
    """
    rows = fit(frame, target.columns)
    if target.file_format == "orc":
        rows = on_hives_clock(rows, [*target.columns.data, *target.columns.partition])
    _write(rows, target, root, target.keys)
    name = raw_name if target.table.is_full_acid else None
    return _staged(rows.sparkSession, root, kind, statement, name)


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
    writer.save(root)


def _staged(
    spark: SparkSession,
    root: str,
    kind: Kind,
    statement: int,
    name: Callable[[int], str] | None,
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
        if name is not None:
            files.rename(file.path, file.path.removesuffix(own) + name(task))
    return [
        StagedDirectory(f"{root}/{it}" if it else root, it, kind, statement)
        for it in sorted(partitions)
    ]
