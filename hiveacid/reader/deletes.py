"""Rows without the deleted ones: delete events as bitmaps or joins, and filters by write id."""

from __future__ import annotations

import itertools
import math
import sys
import threading
from array import array
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.layout import ListedFile
from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges
from hiveacid.jvm.py4j import java
from hiveacid.reader.orc_footers import RowIdRange
from hiveacid.spark_versions import version_of

_SQL = "org.apache.spark.sql"
WRITE_ID = "__hiveacid_write_id"
BUCKET = "__hiveacid_bucket"
ROW = "__hiveacid_row"
PARTITION = "__hiveacid_partition"
ROW_ID = (WRITE_ID, BUCKET, ROW, PARTITION)
"""Row id of a row, as columns: original write id, bucket property, row, number of partition."""

MASK = "__hiveacid_mask"
_BIT_OF_ROW = f"shiftleft(1L, cast({ROW} & 63 AS int))"
"""SQL of the bit of a row in its mask."""

_MAX_BROADCAST_DELETES = 1_000_000
"""Maximum number of delete events in a broadcast join: about 100 MB in each executor."""

_FEW_FILES = 64
"""Maximum number of delete event files that one task reads. More files are read in parallel."""

_MAX_WRITES = 16
"""Maximum number of bitmaps, one for each (partition, write id, bucket). Each row is compared with
every bitmap in turn."""

_PER_RAW_FILE = 256
"""Factor on `_MAX_WRITES` where raw files are hit: their rows are looked up by position."""

_FEW_DELETES = 100_000
"""Maximum number of delete events whose masks are collected without `are_near`."""

_MAX_BLOCKS = 1 << 19
"""Maximum number of blocks in all bitmaps together: 4 MB, sent to each executor once a query. They
hold up to 33 million deleted rows."""


def longs_literal(spark: SparkSession, values: array[int]) -> Column:
    """Return an `array<bigint>` of signed 64-bit values as one constant.

    PySpark's own `lit` makes an object of each value. Spark unboxes the objects for every row, and
    prints them in every plan. The constant here is a flat block of memory (`UnsafeArrayData`).
    """
    context = spark.sparkContext
    gateway = context._gateway
    assert gateway is not None and values.typecode == "q"
    longs = gateway.new_array(java(context, "long"), len(values))
    order = java(context, "java.nio.ByteOrder")
    native = order.LITTLE_ENDIAN if sys.byteorder == "little" else order.BIG_ENDIAN
    content = java(context, "java.nio.ByteBuffer").wrap(bytearray(values.tobytes())).order(native)
    content.asLongBuffer().get(longs)
    catalyst = f"{_SQL}.catalyst.expressions"
    types = java(context, f"{_SQL}.types.DataTypes")
    literal = java(context, f"{catalyst}.Literal")(
        java(context, f"{catalyst}.UnsafeArrayData").fromPrimitiveArray(longs),
        types.createArrayType(types.LongType, False),
    )
    if version_of(spark.version).has_classic_package:
        return Column(java(context, f"{_SQL}.classic.ExpressionUtils").column(literal))
    return Column(java(context, f"{_SQL}.Column")(literal))


def is_valid(write_id: Column, write_ids: ValidWriteIdList) -> Column:
    """Return whether a write id is valid in `write_ids`."""
    valid = write_id <= write_ids.high_watermark
    return valid & ~write_id.isin(sorted(write_ids.invalid)) if write_ids.invalid else valid


def is_in(write_id: Column, ranges: WriteIdRanges) -> Column:
    """Return whether a write id is in `ranges`."""
    single = [last for after, last in ranges.ranges if after + 1 == last]
    conditions = [write_id.isin(single)] if single else []
    conditions += [
        (write_id > after) & (write_id <= last) for after, last in ranges.ranges if after + 1 < last
    ]
    return any_of(conditions)


def any_of(conditions: list[Column]) -> Column:
    """Return the OR of conditions as a balanced tree: Spark walks expressions recursively."""
    while len(conditions) > 2:
        pairs = [conditions[i : i + 2] for i in range(0, len(conditions), 2)]
        conditions = [reduce(Column.__or__, pair) for pair in pairs]
    return reduce(Column.__or__, conditions, F.lit(False))


@dataclass(frozen=True)
class Bitmap:
    """Deleted rows of one write id and bucket in one partition.

    Bit i of `masks[n]` (as a signed bigint) says whether row `64 * (first_block ^ n) + i` is
    deleted. `first_block` has zeros for bits wherever a valid n has bits, so that XOR is a
    subtraction: Spark checks a subtraction for overflow, which costs more than the rest of a
    look-up.
    """

    partition: int
    write_id: int
    bucket: int
    first_block: int
    masks: array[int]

    def has_any(self, first: int, end: int) -> bool:
        """Return whether any of the rows `first`..`end` - 1 is deleted."""
        if first >= end:
            return False
        low, high = first >> 6, (end - 1) >> 6
        bits = dict.fromkeys((low, high), (1 << 64) - 1)
        bits[low] &= -1 << (first & 63)
        bits[high] &= (2 << ((end - 1) & 63)) - 1
        between = self.masks[max(low + 1 - self.first_block, 0) : max(high - self.first_block, 0)]
        return any(self._mask(block) & wanted for block, wanted in bits.items()) or any(between)

    def between(self, low: int, high: int) -> array[int]:
        """Return the masks of the blocks `low`..`high`: 0 for a block outside the bitmap."""
        first, last = self.first_block, self.first_block + len(self.masks) - 1
        start, end = max(low, first), min(high, last)
        if start > end:
            return array("q", bytes(8 * (high - low + 1)))
        inside = self.masks[start - first : end + 1 - first]
        return array("q", bytes(8 * (start - low))) + inside + array("q", bytes(8 * (high - end)))

    def _mask(self, block: int) -> int:
        index = block - self.first_block
        return self.masks[index] if 0 <= index < len(self.masks) else 0


def bitmap_range(lowest: int, highest: int) -> tuple[int, int]:
    """Return the `first_block` of a bitmap for the blocks `lowest`..`highest`, and its length."""
    bits = (lowest ^ highest).bit_length()
    first = lowest >> bits << bits
    return first, highest - first + 1


def build_bitmap(
    partition: int, write_id: int, bucket: int, blocks: Sequence[int], masks: Sequence[int]
) -> Bitmap:
    """Return the bitmap of some distinct blocks, as one array of masks without gaps."""
    first, length = bitmap_range(min(blocks), max(blocks))
    spread = array("q", bytes(8 * length))
    for block, mask in zip(blocks, masks, strict=True):
        spread[block - first] = mask
    return Bitmap(partition, write_id, bucket, first, spread)


@dataclass(frozen=True)
class DeleteFile:
    """File of `rows` delete events, which name rows in `row_id_range`.

    `row_id_range` is None for a file without delete events.
    """

    file: ListedFile
    partition: int
    rows: int
    hides_rows: bool
    row_id_range: RowIdRange | None


@dataclass
class DeletedRows:
    """Bitmaps of one plan, read once for all sessions that use the plan."""

    _lock: threading.Lock = field(default_factory=threading.Lock)
    _read: bool = False
    _bitmaps: tuple[Bitmap, ...] | None = None

    def bitmaps(
        self,
        files: Sequence[DeleteFile],
        masks: Callable[[], DataFrame],
        hits_raw_files: bool = False,
    ) -> tuple[Bitmap, ...] | None:
        """Return the bitmaps, or None where the deleted rows need a join.

        Args:
            files: the files of delete events.
            masks: returns the result of `delete_masks`, which a Spark job collects.
            hits_raw_files: the bitmaps may be too many for `without_bitmaps`.
        """
        most = _MAX_WRITES * (_PER_RAW_FILE if hits_raw_files else 1)
        with self._lock:
            if not self._read:
                events = sum(file.rows for file in files)
                partitions = {file.partition for file in files}
                if events <= 64 * _MAX_BLOCKS and len(partitions) <= most:
                    are_few = events <= _FEW_DELETES or are_near(files, most)
                    self._bitmaps = _collect(masks(), are_few, most)
                self._read = True
            return self._bitmaps


def are_near(files: Iterable[DeleteFile], most: int) -> bool:
    """Return whether the files' row id ranges prove that bitmaps are few and small enough.

    `most` is the maximum number of bitmaps.
    """
    extents: dict[tuple[int, int, int], tuple[int, int]] = {}
    for file in files:
        ids = file.row_id_range
        if ids is None:
            continue
        ends = (ids.write_id, ids.bucket)
        if math.prod(high - low + 1 for low, high in ends) > most:
            return False
        writes, buckets = (range(low, high + 1) for low, high in ends)
        first, last = (row >> 6 for row in ids.row)
        for key in itertools.product([file.partition], writes, buckets):
            before = extents.get(key, (first, last))
            extents[key] = min(first, before[0]), max(last, before[1])
    return _fit(list(extents.values()), most)


def _collect(masks: DataFrame, are_few: bool, most: int) -> tuple[Bitmap, ...] | None:
    key = [PARTITION, WRITE_ID, BUCKET]
    if not are_few:
        first, last = F.min(ROW), F.max(ROW)
        writes = masks.groupBy(*key).agg(first.alias("first"), last.alias("last"))
        sizes = writes.limit(most + 1).collect()
        if not _fit([(row["first"], row["last"]) for row in sizes], most):
            return None
    lists = masks.groupBy(*key).agg(F.collect_list(F.struct(ROW, MASK)).alias("masks"))
    rows = lists.select(*key, F.col(f"masks.{ROW}"), F.col(f"masks.{MASK}")).collect()
    if not _fit([(min(row[ROW]), max(row[ROW])) for row in rows], most):
        return None
    return tuple(build_bitmap(*row) for row in rows)


def _fit(ranges: Sequence[tuple[int, int]], most: int) -> bool:
    """Return whether bitmaps of these first and last blocks are few and small enough."""
    blocks = sum(bitmap_range(first, last)[1] for first, last in ranges)
    return len(ranges) <= most and blocks <= _MAX_BLOCKS


def one_task_reads(files: Sequence[DeleteFile]) -> bool:
    """Return whether reading all delete events in one task is cheaper than a shuffle."""
    events = sum(file.rows for file in files)
    return events <= _MAX_BROADCAST_DELETES and len(files) <= _FEW_FILES


def delete_masks(events: DataFrame, in_one_task: bool) -> DataFrame:
    """Aggregate delete events, one row id a row, into masks of blocks of 64 rows.

    `ROW` of the result is the number of the block: the row divided by 64. With `in_one_task`, one
    task reads all events, which saves a shuffle.
    """
    packed = events.select(
        WRITE_ID,
        BUCKET,
        F.shiftright(ROW, 6).alias(ROW),
        PARTITION,
        F.expr(_BIT_OF_ROW).alias(MASK),
    )
    if in_one_task:
        packed = packed.coalesce(1)
    return packed.groupBy(WRITE_ID, BUCKET, ROW, PARTITION).agg(F.bit_or(MASK).alias(MASK))


def are_few(bitmaps: Sequence[Bitmap]) -> bool:
    """Return whether `without_bitmaps` may compare every row with each of the bitmaps."""
    return len(bitmaps) <= _MAX_WRITES


def fits_in_a_query(blocks: int) -> bool:
    """Return whether the masks of this number of blocks may be constants in a query."""
    return blocks <= _MAX_BLOCKS


def without_bitmaps(
    spark: SparkSession, rows: DataFrame, bitmaps: Sequence[Bitmap], in_one_partition: bool
) -> DataFrame:
    """Return the rows, which have the columns of a row id, that no bitmap names.

    `in_one_partition`: all rows belong to the same partition.
    """
    if not bitmaps:
        return rows
    return rows.where(_bit(spark, bitmaps, in_one_partition) == 0)


def in_bitmaps(
    spark: SparkSession, rows: DataFrame, bitmaps: Sequence[Bitmap], in_one_partition: bool
) -> DataFrame:
    """Return the rows that a bitmap names. The arguments are those of `without_bitmaps`."""
    if not bitmaps:
        return rows.limit(0)
    return rows.where(_bit(spark, bitmaps, in_one_partition) != 0)


def _bit(spark: SparkSession, bitmaps: Sequence[Bitmap], in_one_partition: bool) -> Column:
    """Return the bit of a row in the bitmap of its write id and bucket; 0 without a bitmap."""
    mask: Column | None = None
    for bitmap in bitmaps:
        is_its_row = (F.col(WRITE_ID) == bitmap.write_id) & (F.col(BUCKET) == bitmap.bucket)
        if not in_one_partition:
            is_its_row &= F.col(PARTITION) == bitmap.partition
        block = F.shiftright(ROW, 6).bitwiseXOR(F.lit(bitmap.first_block).cast("bigint"))
        found = F.get(longs_literal(spark, bitmap.masks), block.cast("int"))
        mask = F.when(is_its_row, found) if mask is None else mask.when(is_its_row, found)
    assert mask is not None
    # Around the whole expression: Spark would push down filters that it infers on the columns.
    return F.coalesce(mask.bitwiseAND(F.expr(_BIT_OF_ROW)), F.lit(0).cast("bigint"))


def without_masks(rows: DataFrame, masks: DataFrame, events: int) -> DataFrame:
    """Return the rows, which have the columns of a row id, that no mask names.

    The join key is one long, the cheapest type to probe. It mixes the parts of the row id, so that
    different row ids can have the same key; the join condition compares the parts again. It
    compares them as differences: Spark would make an equality part of the key, and the key
    expensive.
    """
    strategy = "broadcast" if events <= _MAX_BROADCAST_DELETES else "shuffle_hash"
    live = never_null(rows).alias("live")
    gone = never_null(masks).alias("gone").hint(strategy)

    def mixed(side: str, row: Column) -> Column:
        part = F.shiftleft(F.col(f"{side}.{PARTITION}").cast("bigint"), 48)
        bucket = F.shiftleft(F.col(f"{side}.{BUCKET}").cast("bigint"), 34)
        write_id = F.shiftleft(F.col(f"{side}.{WRITE_ID}"), 17)
        return row.bitwiseXOR(bucket).bitwiseXOR(write_id).bitwiseXOR(part)

    live_block = F.shiftright(F.col(f"live.{ROW}"), 6)
    condition = mixed("live", live_block) == mixed("gone", F.col(f"gone.{ROW}"))
    for name in (WRITE_ID, BUCKET, PARTITION):
        condition &= (F.col(f"gone.{name}") - F.col(f"live.{name}")) == 0
    condition &= (F.col(f"gone.{ROW}") - live_block) == 0
    bit = F.expr(f"cast(live.{ROW} & 63 AS int)")
    condition &= F.getbit(F.col(f"gone.{MASK}"), bit) == 1
    return live.join(gone, condition, "left_anti")


def never_null(frame: DataFrame) -> DataFrame:
    """Return the same row ids as expressions through which Spark pushes no filter."""
    return frame.withColumns(
        {
            name: F.coalesce(name, F.lit(-1).cast(element))
            for name, element in ((WRITE_ID, "bigint"), (BUCKET, "int"), (ROW, "bigint"))
        }
    )
