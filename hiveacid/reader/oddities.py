"""Files that Hive reads, and reads in another way than their row ids say (docs/hive-quirks.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from pyspark.sql import Column, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hiveacid.acid.layout import (
    DeltaDir,
    Listing,
    bucket_of_file,
    parse_directory,
    try_parse_directory,
)
from hiveacid.reader.deletes import DeleteFile, is_valid
from hiveacid.reader.partition_lookup import partition_number
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.scan import BLOCK_START, FILE_PATH, acid_scan

_KEY = ("originalTransaction", "bucket", "rowId")


def name_problems(listings: Iterable[Listing]) -> Iterator[str]:
    """Yield deltas that overlap: each has write ids that the other lacks. Hive takes both."""
    for listing in listings:
        names = {file.relative.partition("/")[0] for file in listing.files}
        found = map(try_parse_directory, sorted(names))
        deltas = [directory for directory in found if isinstance(directory, DeltaDir)]
        for one, other in combinations(deltas, 2):
            (low, middle), (start, end) = sorted([one.write_id_range, other.write_id_range])
            if one.is_delete == other.is_delete and low < start <= middle < end:
                yield f"{listing.location}/{one.name} and {other.name} overlap"


def row_id_problems(spark: SparkSession, plan: ReadPlan) -> Iterator[str]:
    """Yield files whose number is not the bucket of their row ids, and files out of order.

    Runs a Spark job with a shuffle for the data files, and one for the files of delete events.
    """
    data = [file for file in plan.data if file.is_acid]
    yield from _of_files(spark, data, "rows", "Hive contradicts itself on such files")
    events = "Hive finds only some of them, and counts by others"
    yield from _of_files(spark, plan.deletes, "delete events", events)
    if _has_statements(plan.deletes):
        yield from _deleted_twice(spark, plan)


def _of_files(
    spark: SparkSession, files: Sequence[DataFile | DeleteFile], what: str, consequence: str
) -> Iterator[str]:
    if not files:
        return
    frame, by_path = acid_scan(spark, [file.file for file in files], StructType())
    window = Window.partitionBy(FILE_PATH, BLOCK_START).orderBy("place")
    found = (
        frame.select(
            FILE_PATH,
            BLOCK_START,
            F.struct(*_KEY).alias("key"),
            _number().alias("number"),
            F.monotonically_increasing_id().alias("place"),
        )
        .withColumn("is_behind", F.col("key") < F.lag("key").over(window))
        .groupBy(FILE_PATH)
        .agg(
            F.count_if("is_behind").alias("behind"),
            F.min("number").alias("first"),
            F.max("number").alias("last"),
        )
        .collect()
    )
    for row in sorted(found, key=lambda row: str(row[FILE_PATH])):
        file = by_path[row[FILE_PATH]]
        number = bucket_of_file(file.name)
        if {row["first"], row["last"]} != {number}:
            yield (
                f"{file.path} has {what} of bucket {row['first']} to {row['last']}: Hive applies "
                "delete events only to files of the same number"
            )
        if row["behind"]:
            yield f"{file.path} has {row['behind']} {what} out of order: {consequence}"


def _number() -> Column:
    """Return the bucket that a value of the ACID column `bucket` has (`decode_bucket`)."""
    value = F.col("bucket")
    coded = F.shiftright(value, 16).bitwiseAND(F.lit(0xFFF))
    return F.when(F.shiftright(value, 29) == 0, value).otherwise(coded)


def _has_statements(deletes: Iterable[DeleteFile]) -> bool:
    """Tell whether one write id has delete events of several statements in a partition."""
    seen = set()
    for delete in deletes:
        directory = parse_directory(delete.file.relative.partition("/")[0])
        if isinstance(directory, DeltaDir):
            seen.add((delete.partition, directory))
    writes = [(partition, directory.write_id_range) for partition, directory in seen]
    return len(writes) != len(set(writes))


def _deleted_twice(spark: SparkSession, plan: ReadPlan) -> Iterator[str]:
    frame, by_path = acid_scan(spark, [it.file for it in plan.deletes], StructType())
    valid = is_valid(F.coalesce("currentTransaction", F.lit(-1)), plan.pinned.write_ids)
    number = partition_number(by_path, plan.deletes).alias("partition")
    twice = (
        frame.where(valid)
        .select(number, *_KEY, "currentTransaction")
        .groupBy("partition", *_KEY, "currentTransaction")
        .count()
        .where("count > 1")
    )
    count, first = twice.count(), twice.first()
    if first is not None:
        yield (
            f"{count} rows are deleted more than once by one write id, such as "
            f"({first['originalTransaction']}, {first['bucket']}, {first['rowId']}) by "
            f"{first['currentTransaction']}: Hive fails on the table"
        )
