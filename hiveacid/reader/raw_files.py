"""Raw files in a plan: the row ids of their rows, their splits, and which have deleted rows.

Spark divides a file into splits of one size, whatever is in the file, and packs splits into
partitions. A stripe belongs to the split in which it begins. So the footers show how many rows are
in the file before a split, and how many are in the split.

How Spark divides and packs depends on settings of the session of the *relation*. Here the relation
has its own session (`scan`), in which the cost to open a file is higher than the maximum of a
partition: each split becomes a partition. The user's settings, before a statement or while it runs,
have no effect.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from pyspark.sql import SparkSession

from hiveacid.acid.layout import BaseDir, BucketProperty, ListedFile, bucket_of_file
from hiveacid.acid.selection import SelectedDir
from hiveacid.reader.deletes import Bitmap, DeleteFile
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_columns import converted_columns, in_table_order
from hiveacid.reader.orc_footers import OrcFooter, RowIdRange
from hiveacid.reader.plan import DataFile, RowPositions
from hiveacid.snapshots.tables import PinnedTable

_FILES = "spark.sql.files"
_LEAST_STRIPE = 1 << 20
"""Minimum size in bytes of a split that is made as large as a stripe."""

_SIGNIFICANT_BITS = 4
"""Number of bits to which split sizes are rounded up, so that similar tables share a session."""

_FEW_ROWS = 20
"""`Hit.FEW_STRIPES` means that stripes with deleted rows have at most one row of this number in a
file. They are read separately, with all columns, so that filters reach the other stripes."""

Bitmaps = Mapping[tuple[int, int, int], Bitmap]
"""Bitmaps by partition, write id and bucket."""


class Hit(Enum):
    """Extent of the deleted rows in a file: none, only in few of its stripes, or anywhere."""

    NONE = 0
    FEW_STRIPES = 1
    ANY = 2


def raw_data_files(
    pinned: PinnedTable,
    location: Location,
    footers: Mapping[ListedFile, OrcFooter],
    files: Iterable[ListedFile],
    lowest_deleted: int | None,
    directory: SelectedDir | None,
) -> Iterator[DataFile]:
    """Yield raw files of one location for a plan, with the row ids of their rows.

    The row numbers of one bucket continue from file to file, in the order of the paths. Original
    files (`directory` is None) have write id 0. `lowest_deleted` is the lowest original write id of
    the location's delete events: only rows of this write id or a higher one need a row id.

    Raises:
        UnreadableTableError: a file does not fit its directory or name.
    """
    write_id, statement_id = 0, 0
    if directory is not None:
        low, write_id = directory.write_id_range
        if not isinstance(directory.directory, BaseDir):
            statement_id = directory.directory.statement_id or 0
            if low != write_id:
                raise pinned.refusal(
                    f"{location.path}/{directory.directory.name} spans write ids {low} to "
                    f"{write_id} but holds files without ACID columns"
                )
    needs_ids = lowest_deleted is not None and lowest_deleted <= write_id
    next_row: dict[int, int] = {}
    for file in sorted(files, key=lambda file: file.relative):
        footer = footers[file]
        if footer.is_acid:
            raise pinned.refusal(f"{file.path} has ACID columns outside of an ACID directory")
        footer = in_table_order(pinned, file, footer)
        bucket = bucket_of_file(file.name)
        row_ids = None
        if bucket is None:
            # Hive fails, too, with or without deleted rows: "Bucket ID out of range: -1".
            raise pinned.refusal(f"the name of {file.path} has no bucket number")
        if needs_ids:
            first_row = next_row.get(bucket, 0)
            next_row[bucket] = first_row + footer.rows
            try:
                bucket_property = BucketProperty(bucket, statement_id).encode()
            except ValueError as error:
                raise pinned.refusal(f"the name of {file.path} is not valid: {error}") from error
            row_ids = RowPositions(write_id, bucket_property, first_row)
        yield DataFile(
            file,
            location.partition,
            footer.columns,
            is_acid=False,
            row_ids=row_ids,
            converted=converted_columns(pinned, file, footer),
            nanoseconds=footer.nanoseconds,
            row_id_range=row_ids.of(footer.rows) if row_ids else None,
            stripes=footer.stripes if row_ids else (),
        )


class Split(NamedTuple):
    """Part of a file: its bytes, the number of rows in the file before it, and in itself."""

    file: ListedFile
    start: int
    length: int
    rows_before: int
    rows: int


@dataclass(frozen=True)
class Division:
    """Size of a split in bytes, and the number of tasks that Spark would start with this size."""

    split_bytes: int
    tasks: int

    @classmethod
    def by_session(cls, spark: SparkSession, files: Sequence[ListedFile]) -> Division:
        """Return Spark's division with the session's settings (`FilePartition.maxSplitBytes`)."""
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
    """Return a split size in bytes of about one stripe, in the file with the largest stripes."""
    largest = max(data.file.length // max(1, len(data.stripes)) for data in files)
    return _rounded_up(max(largest, _LEAST_STRIPE))


def stripes_of(data: DataFile) -> list[Split]:
    """Return one split for each stripe of a raw file."""
    ends = [*(stripe.offset for stripe in data.stripes[1:]), data.file.length]
    splits, before = [], 0
    for stripe, end in zip(data.stripes, ends, strict=False):
        splits.append(Split(data.file, stripe.offset, end - stripe.offset, before, stripe.rows))
        before += stripe.rows
    return splits


def divide(files: Sequence[DataFile], split_bytes: int) -> list[Split]:
    """Return the splits of raw files in the order in which Spark numbers their partitions.

    Spark sorts splits by length, the longest first; splits of equal length stay in the order of the
    files (`FileSourceScanExec.createReadRDD`).
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
    """Return the settings with which a relation has splits of this size, one in each partition."""
    return {
        f"{_FILES}.maxPartitionBytes": str(split_bytes),
        f"{_FILES}.openCostInBytes": str(split_bytes + 1),
        f"{_FILES}.minPartitionNum": None,
        f"{_FILES}.maxPartitionNum": None,
        # Maximum number of small files that Spark 4.3 reads in one task; 1 by default.
        "spark.sql.optimizer.singleTaskExecution.maxNumFiles": None,
    }


def hit_files(data: Iterable[DataFile], deletes: Iterable[DeleteFile]) -> list[DataFile]:
    """Return the raw files with rows that delete events can name, by the files' statistics."""
    named: dict[int, dict[tuple[int, int], RowIdRange]] = {}
    for delete in deletes:
        if (ids := delete.row_id_range) is not None:
            of_partition = named.setdefault(delete.partition, {})
            before = of_partition.get(ids.bucket)
            of_partition[ids.bucket] = ids if before is None else before.union(ids)
    return [
        file
        for file in data
        if file.row_ids is not None
        and (ids := file.row_id_range) is not None
        and any(ids.intersects(other) for other in named.get(file.partition, {}).values())
    ]


def by_key(bitmaps: Iterable[Bitmap]) -> Bitmaps:
    """Return bitmaps by partition, write id and bucket."""
    return {(bitmap.partition, bitmap.write_id, bitmap.bucket): bitmap for bitmap in bitmaps}


def hit_of(file: DataFile, bitmaps: Bitmaps | None) -> Hit:
    """Return the extent of a raw file's deleted rows; without bitmaps it is `Hit.ANY`."""
    if bitmaps is None:
        return Hit.ANY
    stripes = stripes_of(file)
    hit = sum(stripe.rows for stripe in stripes if has_any(file, bitmaps, stripe))
    if not hit:
        return Hit.NONE
    return Hit.FEW_STRIPES if _FEW_ROWS * hit <= sum(it.rows for it in stripes) else Hit.ANY


def has_any(file: DataFile, bitmaps: Bitmaps, split: Split) -> bool:
    """Return whether bitmaps name any row in a split of a raw file."""
    ids = file.row_ids
    assert ids is not None
    bitmap = bitmaps.get((file.partition, ids.write_id, ids.bucket))
    first = ids.first_row + split.rows_before
    return bitmap is not None and bitmap.has_any(first, first + split.rows)
