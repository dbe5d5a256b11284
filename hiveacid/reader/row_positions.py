"""Row ids of raw files, which follow from the position of each row in its file.

Spark does not say a row's position in an ORC file. But a partition of a numbered scan is one split
(`splits`), and Spark's reader of ORC hands over the rows of a split in the order of the file, all
of them as long as no filter reaches it. So a row's position is the number of rows in the file
before the split, which the footers tell, and the row's place in the partition.

`monotonically_increasing_id` counts the rows of a partition of the scan itself, before anything
moves rows: a retried or speculative task counts the same rows from 0 again, and a user's limit,
union, coalesce or join is above the count. The count is not deterministic to Spark, so that Spark
pushes no filter below it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.layout import ListedFile
from hiveacid.formatting import quoted
from hiveacid.reader.deletes import (
    BUCKET,
    PARTITION,
    ROW,
    WRITE_ID,
    Bitmap,
    fits_in_a_query,
    longs_literal,
)
from hiveacid.reader.partition_lookup import path_hash
from hiveacid.reader.plan import DataFile, RowPositions
from hiveacid.reader.scan import BLOCK_START, FILE_PATH
from hiveacid.reader.splits import Split

_PLACE = "__hiveacid_place"
_SPLIT = "__hiveacid_split"
_BIT = "__hiveacid_bit"
_IN_PARTITION = (1 << 33) - 1
"""Bits of `monotonically_increasing_id` that count the rows of a partition."""


@dataclass(frozen=True)
class PlacedRows:
    """Rows of raw files, each with its split and its place in the split.

    `files` are the planned files, all with `row_ids`; `splits` their splits, by the number of the
    partition.
    """

    spark: SparkSession
    frame: DataFrame
    files: Sequence[DataFile]
    splits: Sequence[Split]

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        frame: DataFrame,
        by_path: Mapping[str, ListedFile],
        files: Sequence[DataFile],
        splits: Sequence[Split],
    ) -> PlacedRows:
        """Count the rows that `scan` gives for the files, unfiltered, each split a partition.

        The first row of a partition must be of the planned split, and no partition may have more
        rows than its split. Otherwise the statement fails. Both is checked before any filter of the
        statement can take the row away.
        """
        hashes = {file: path_hash(path) for path, file in by_path.items()}
        number, place = F.spark_partition_id(), F.col(_PLACE)
        is_planned = number < len(splits)
        is_planned &= place < _of_split(spark, [split.rows for split in splits], number)
        starts, paths = [it.start for it in splits], [hashes[it.file] for it in splits]
        is_of_split = F.col(BLOCK_START) == _of_split(spark, starts, number)
        is_of_split &= F.xxhash64(FILE_PATH) == _of_split(spark, paths, number)
        # The path is looked at once a partition: its hash would cost more than all the rest.
        is_planned &= F.when(place == 0, is_of_split).otherwise(F.lit(True))
        wrong = F.raise_error(
            F.lit("hiveacid: Spark has divided original files in another way than planned")
        )
        counted = F.monotonically_increasing_id().bitwiseAND(F.lit(_IN_PARTITION))
        rows = frame.select("*", counted.alias(_PLACE))
        # Both selects are not deterministic to Spark: no filter comes before the check either.
        checked = F.when(is_planned, place).otherwise(wrong.cast("bigint"))
        others = [F.col(quoted(name)) for name in frame.columns]
        rows = rows.select(*others, checked.alias(_PLACE), number.alias(_SPLIT))
        return cls(spark, rows, files, splits)

    def with_row_ids(self) -> DataFrame:
        """Return the rows with the columns of a row id."""
        planned = {data.file: data for data in self.files}
        ids = self._row_ids
        firsts = [ids[split.file].first_row + split.rows_before for split in self.splits]
        write_ids = [ids[split.file].write_id for split in self.splits]
        buckets = [ids[split.file].bucket for split in self.splits]
        partitions = [planned[split.file].partition for split in self.splits]
        return self.frame.withColumns(
            {
                ROW: self._of_split(firsts) + F.col(_PLACE),
                WRITE_ID: self._of_split(write_ids),
                BUCKET: self._of_split(buckets).cast("int"),
                PARTITION: self._of_split(partitions).cast("int"),
            }
        ).drop(_PLACE, _SPLIT)

    def live(self, bitmaps: Mapping[tuple[int, int, int], Bitmap]) -> DataFrame | None:
        """Return the rows that no bitmap names, with the column `PARTITION`.

        One array has the masks of all splits with deleted rows, one split after the other, so that
        one look-up finds the bit of a row, however many bitmaps there are.

        Args:
            bitmaps: by partition, write id and bucket.

        Returns:
            None where the array would be too large.
        """
        planned = {data.file: data for data in self.files}
        masks, first_bits = array("q"), list[int | None]()
        for split in self.splits:
            ids, partition = self._row_ids[split.file], planned[split.file].partition
            bitmap = bitmaps.get((partition, ids.write_id, ids.bucket))
            first = ids.first_row + split.rows_before
            end = first + split.rows
            if bitmap is None or not bitmap.has_any(first, end):
                first_bits.append(None)
                continue
            low, high = first >> 6, (end - 1) >> 6
            if not fits_in_a_query(len(masks) + high - low + 1):
                return None
            first_bits.append(64 * len(masks) + (first & 63))
            masks += bitmap.between(low, high)
        partition_numbers = [planned[split.file].partition for split in self.splits]
        rows = self.frame.withColumn(PARTITION, self._of_split(partition_numbers).cast("int"))
        if masks:
            nowhere = 64 * len(masks)
            firsts = [nowhere if bit is None else bit for bit in first_bits]
            rows = rows.withColumn(_BIT, self._of_split(firsts) + F.col(_PLACE))
            block = F.shiftright(_BIT, 6).cast("int")
            mask = F.get(longs_literal(self.spark, masks), block)
            is_deleted = F.getbit(mask, F.expr(f"cast({_BIT} & 63 AS int)")) == 1
            # There are no masks where a split has no deleted row.
            rows = rows.where(~F.coalesce(is_deleted, F.lit(False)))
        return rows.drop(_PLACE, _SPLIT, _BIT)

    @property
    def _row_ids(self) -> Mapping[ListedFile, RowPositions]:
        return {data.file: data.row_ids for data in self.files if data.row_ids is not None}

    def _of_split(self, values: Sequence[int]) -> Column:
        return _of_split(self.spark, values, F.col(_SPLIT))


def _of_split(spark: SparkSession, values: Sequence[int], number: Column) -> Column:
    """Return the value of a split by its number."""
    if len(set(values)) == 1:
        return F.lit(values[0]).cast("bigint")
    return F.get(longs_literal(spark, array("q", values)), number)
