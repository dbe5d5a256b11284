"""Splits of raw files, and scans in which every split is a partition of its own.

Spark divides a file into splits of one size, whatever is in the file, and packs splits into
partitions. A stripe belongs to the split in which it begins. So the footers tell how many rows are
in the file before a split, and how many are in it.

How Spark divides and packs follows from settings, which belong to the session of the *relation*.
Here the relation gets a session of ours (`scan`), in which a file costs more to open than a
partition may hold. What the user sets, before a statement or while it runs, changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.reader.plan import DataFile

_FILES = "spark.sql.files"
_LEAST_STRIPE = 1 << 20
"""Bytes of a split at least, where splits are made to be as large as stripes."""

_SIGNIFICANT_BITS = 4
"""Split sizes are rounded, so that tables of about the same size share a session."""


class Split(NamedTuple):
    """Part of a file: its bytes, the number of rows before it in the file, and its own rows."""

    file: ListedFile
    start: int
    length: int
    rows_before: int
    rows: int


@dataclass(frozen=True)
class Division:
    """Bytes of a split, and the number of tasks that Spark would start for splits of the size."""

    split_bytes: int
    tasks: int

    @classmethod
    def by_session(cls, spark: SparkSession, files: Sequence[ListedFile]) -> Division:
        """Divide as Spark would with the session's settings (`FilePartition.maxSplitBytes`)."""
        session = spark._jsparkSession
        conf = session.sessionState().conf()
        least, most = conf.filesMinPartitionNum(), conf.filesMaxPartitionNum()
        cores = least.get() if least.isDefined() else session.leafNodeDefaultParallelism()
        open_cost, largest = conf.filesOpenCostInBytes(), conf.filesMaxPartitionBytes()
        total = sum(file.length + open_cost for file in files)
        size = min(largest, _rounded_up(max(open_cost, total // cores, 1)))
        tasks = -(-total // size)
        return cls(size, min(tasks, most.get()) if most.isDefined() else tasks)


def _rounded_up(size: int) -> int:
    unit = 1 << max(0, size.bit_length() - _SIGNIFICANT_BITS)
    return -(-size // unit) * unit


def stripe_bytes(files: Sequence[DataFile]) -> int:
    """Return a size of splits with about one stripe each, of the file with the largest stripes."""
    largest = max(data.file.length // max(1, len(data.stripes)) for data in files)
    return _rounded_up(max(largest, _LEAST_STRIPE))


def stripes_of(data: DataFile) -> list[Split]:
    """Return the stripes of a raw file, as splits."""
    ends = [*(stripe.offset for stripe in data.stripes[1:]), data.file.length]
    splits, before = [], 0
    for stripe, end in zip(data.stripes, ends, strict=False):
        splits.append(Split(data.file, stripe.offset, end - stripe.offset, before, stripe.rows))
        before += stripe.rows
    return splits


def divide(files: Sequence[DataFile], split_bytes: int) -> list[Split]:
    """Return the splits of raw files in the order in which Spark numbers their partitions.

    Spark takes the longest splits first, and of equally long ones those of the first file
    (`FileSourceScanExec.createReadRDD`).
    """
    splits = []
    for data in files:
        length, stripes, at, before = data.file.length, data.stripes, 0, 0
        for start in range(0, length, split_bytes):
            rows = 0
            while at < len(stripes) and stripes[at].offset < start + split_bytes:
                rows += stripes[at].rows
                at += 1
            splits.append(Split(data.file, start, min(split_bytes, length - start), before, rows))
            before += rows
    return sorted(splits, key=lambda split: -split.length)


def split_settings(split_bytes: int) -> dict[str, str | None]:
    """Return the settings of a relation with such splits, each a partition of its own."""
    return {
        f"{_FILES}.maxPartitionBytes": str(split_bytes),
        f"{_FILES}.openCostInBytes": str(split_bytes + 1),
        f"{_FILES}.minPartitionNum": None,
        f"{_FILES}.maxPartitionNum": None,
        # Spark 4.3 may read as many small files in one task: by default one.
        "spark.sql.optimizer.singleTaskExecution.maxNumFiles": None,
    }
