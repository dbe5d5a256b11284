"""Result of the check of one table: counts, and problems without an explanation.

The problems include files that Hive reads differently than their row ids say
(docs/hive-quirks.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import combinations

from pyspark.sql import Column, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hiveacid.acid.layout import (
    DeltaDir,
    ListedFile,
    Listing,
    bucket_of_file,
    parse_directory,
    try_parse_directory,
)
from hiveacid.reader.deletes import DeleteFile, is_valid
from hiveacid.reader.partition_lookup import partition_number
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.scan import BLOCK_START, FILE_PATH, acid_scan

SHOWN = 20
"""Maximum number of skipped names, and of problems, that are printed one by one."""

_KEY = ("originalTransaction", "bucket", "rowId")


@dataclass(frozen=True)
class DeleteEvents:
    """Counts of the delete events that the snapshot may see.

    `hits` is the number of rows that they delete. `repeated` counts the events for a row that
    another event deletes, too. `explained` counts the events for rows that do not exist, by the
    reason why this is correct.
    """

    total: int = 0
    hits: int = 0
    repeated: int = 0
    explained: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Verification:
    """Result of the check of one table in one snapshot.

    `listed` is the number of listed files. `rows` is the number of rows in the data files. `hidden`
    counts the rows in them whose write id the snapshot must not show. `shown` is the number of rows
    that the reader returns. `problems` is empty for a table that is as Hive writes it and is read
    correctly. `nanoseconds` counts the timestamps in the data files that Spark cuts to
    microseconds, by column.
    """

    plan: ReadPlan
    listed: int
    rows: int
    hidden: int
    shown: int
    events: DeleteEvents
    problems: tuple[str, ...]
    nanoseconds: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the printed report."""
        plan, write_ids = self.plan, self.plan.pinned.write_ids
        yield (
            f"{plan.pinned.table.name} in transaction {plan.pinned.transaction_id}: write ids up "
            f"to {write_ids.high_watermark}; open: {_ids(write_ids.open)}; aborted: "
            f"{_ids(write_ids.aborted)}"
        )
        yield (
            f"files: {self.listed} listed, {len(plan.data)} read for rows, {len(plan.deletes)} for "
            f"delete events; {len(plan.skipped)} directories and files not read"
        )
        for skipped in plan.skipped[:SHOWN]:
            yield f"  not read: {skipped.relative}: {skipped.reason}"
        yield from _and_more(len(plan.skipped))
        yield (
            f"rows: {self.rows} in the files, {self.hidden} of write ids not to be seen, "
            f"{self.events.hits} deleted, {self.shown} shown"
        )
        yield (
            f"delete events: {self.events.total}, of which {self.events.repeated} repeat "
            "another one"
        )
        for reason, count in sorted((self.events.explained or {}).items()):
            yield f"  without a row: {count}: {reason}"
        for column, count in self.nanoseconds.items():
            yield f"timestamps: {count} of {column} have nanoseconds, which Spark cuts"
        for path in plan.rows_hive_will_drop[:SHOWN]:
            yield f"to be lost: a compaction has left {path} empty; Hive will remove what it covers"
        yield from _and_more(len(plan.rows_hive_will_drop))
        for problem in self.problems[:SHOWN]:
            yield f"PROBLEM: {problem}"
        yield from _and_more(len(self.problems))
        if not self.problems:
            yield "every check passed"

    def __str__(self) -> str:
        """Return the printed report."""
        return "\n".join(self.lines())


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "none"


def _and_more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"  and {count - SHOWN} more"


def directory_problems(plan: ReadPlan) -> Iterator[str]:
    """Yield directories that Hive 3.1 and 4 disagree on, and those that make Hive fail."""
    for path in plan.ignored_directories:
        yield (
            f"{path} has no visible file: Hive 4 shows the rows that its name covers, Hive 3.1 "
            "does not"
        )
    seen = set()
    for delete in plan.deletes:
        directory, number = delete.file.path.rpartition("/")[0], bucket_of_file(delete.file.name)
        if (directory, number) in seen:
            yield (
                f"{directory} has two files of bucket {number}, as of two attempts of one task: "
                "Hive 4 fails on the table (Duplicate key)"
            )
        seen.add((directory, number))


def file_problems(
    plan: ReadPlan, listings: Iterable[Listing], still_there: Set[str]
) -> Iterator[str]:
    """Yield listed files that the plan neither reads nor skips by name, and files it reads twice.

    `still_there` are the paths of the files that a later listing found again.
    """
    planned = Counter(f.file.path for files in (plan.data, plan.deletes) for f in files)
    skipped = {item.relative for item in plan.skipped}
    for listing in listings:
        for file in listing.files:
            top = file.relative.partition("/")[0]
            named = {f"{listing.location}/{part}" for part in (top, file.relative)}
            if file.path not in planned and not named & skipped and file.path in still_there:
                yield f"{file.path} is neither read nor named as skipped"
    for path, times in sorted(planned.items()):
        if times > 1:
            yield f"{path} is read {times} times"


def count_problems(
    files: Iterable[ListedFile],
    expected: Mapping[ListedFile, int],
    counted: Mapping[ListedFile, int],
) -> Iterator[str]:
    """Yield files in which Spark read another number of rows than their footers have."""
    for file in files:
        found = counted.get(file, 0)
        if found != expected[file]:
            yield f"{file.path} has {expected[file]} rows by its footer, but Spark read {found}"


def numbering_problems(files: Sequence[DataFile], rows: Mapping[ListedFile, int]) -> Iterator[str]:
    """Yield raw files of one partition that have row ids in common."""
    by_bucket: dict[tuple[int, int, int], list[tuple[int, int, str]]] = {}
    for file in files:
        if file.row_ids is not None:
            ids = file.row_ids
            key = (file.partition, ids.write_id, ids.bucket)
            end = ids.first_row + rows[file.file]
            by_bucket.setdefault(key, []).append((ids.first_row, end, file.file.path))
    for ranges in by_bucket.values():
        ordered = sorted(ranges)
        for (_, end, path), (first, _, other) in zip(ordered, ordered[1:], strict=False):
            if first < end:
                yield f"{path} and {other} have row ids in common"


def name_problems(listings: Iterable[Listing]) -> Iterator[str]:
    """Yield deltas that overlap: each has write ids that the other lacks. Hive reads both."""
    for listing in listings:
        names = {file.relative.partition("/")[0] for file in listing.files}
        found = map(try_parse_directory, sorted(names))
        deltas = [directory for directory in found if isinstance(directory, DeltaDir)]
        for one, other in combinations(deltas, 2):
            (low, middle), (start, end) = sorted([one.write_id_range, other.write_id_range])
            if one.is_delete == other.is_delete and low < start <= middle < end:
                yield f"{listing.location}/{one.name} and {other.name} overlap"


def row_id_problems(spark: SparkSession, plan: ReadPlan) -> Iterator[str]:
    """Yield files whose bucket number differs from their row ids', and files out of order.

    Also yield rows that one write id deletes twice. Runs a Spark job with a shuffle for the data
    files, and one for the files of delete events.
    """
    data = [file for file in plan.data if file.is_acid]
    yield from _row_ids_of_files(spark, data, "rows", "Hive contradicts itself on such files")
    events = "Hive finds only some of them, and counts by others"
    yield from _row_ids_of_files(spark, plan.deletes, "delete events", events)
    if _has_statements(plan.deletes):
        yield from _deleted_twice(spark, plan)


def _row_ids_of_files(
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
            _bucket_number().alias("number"),
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


def _bucket_number() -> Column:
    """Return the bucket number in the ACID column `bucket` (`decode_bucket`)."""
    value = F.col("bucket")
    coded = F.shiftright(value, 16).bitwiseAND(F.lit(0xFFF))
    return F.when(F.shiftright(value, 29) == 0, value).otherwise(coded)


def _has_statements(deletes: Iterable[DeleteFile]) -> bool:
    """Return whether one write id has delete events of several statements in a partition."""
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
