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

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.layout import ListedFile
from hiveacid.reader.deletes import BUCKET, PARTITION, ROW, WRITE_ID, longs_literal
from hiveacid.reader.partition_lookup import path_hash
from hiveacid.reader.plan import DataFile
from hiveacid.reader.scan import BLOCK_START, FILE_PATH
from hiveacid.reader.splits import Split

_PLACE = "__hiveacid_place"
_SPLIT = "__hiveacid_split"
_IN_PARTITION = (1 << 33) - 1
"""Bits of `monotonically_increasing_id` that count the rows of a partition."""


def with_row_positions(
    spark: SparkSession,
    frame: DataFrame,
    by_path: Mapping[str, ListedFile],
    files: Sequence[DataFile],
    splits: Sequence[Split],
) -> DataFrame:
    """Add the columns of a row id to the rows of raw files.

    The first row of a partition must be of the planned split, and no partition may have more rows
    than its split. Otherwise the statement fails. Both is checked before any filter of the
    statement can take the row away.

    Args:
        spark: the session.
        frame: the rows that `scan` gives for the files, unfiltered, each split a partition.
        by_path: the files, as `scan` gives them.
        files: the same files, as planned, all with `row_ids`.
        splits: the splits of the files, by the number of the partition.
    """
    planned = {data.file: data for data in files}
    ids = {data.file: data.row_ids for data in files if data.row_ids is not None}
    hashes = {file: path_hash(path) for path, file in by_path.items()}

    def of_split(values: Sequence[int], number: Column) -> Column:
        if len(set(values)) == 1:
            return F.lit(values[0]).cast("bigint")
        return F.get(longs_literal(spark, array("q", values)), number)

    firsts = [ids[split.file].first_row + split.rows_before for split in splits]
    ends = [first + split.rows for first, split in zip(firsts, splits, strict=True)]
    number = F.spark_partition_id()
    row = of_split(firsts, number) + F.col(_PLACE)
    is_planned = (number < len(splits)) & (row < of_split(ends, number))
    is_of_split = F.col(BLOCK_START) == of_split([split.start for split in splits], number)
    is_of_split &= F.xxhash64(FILE_PATH) == of_split([hashes[it.file] for it in splits], number)
    # The path is looked at once a partition: its hash would cost more than all the rest.
    is_planned &= F.when(F.col(_PLACE) == 0, is_of_split).otherwise(F.lit(True))
    wrong = F.raise_error(
        F.lit("hiveacid: Spark has divided original files in another way than planned")
    )
    place = F.monotonically_increasing_id().bitwiseAND(F.lit(_IN_PARTITION))
    rows = frame.select("*", place.alias(_PLACE))
    # Both selects are not deterministic to Spark: no filter comes before the check either.
    checked = F.when(is_planned, row).otherwise(wrong.cast("bigint"))
    rows = rows.select("*", checked.alias(ROW), number.alias(_SPLIT))
    split_number = F.col(_SPLIT)
    write_ids = [ids[split.file].write_id for split in splits]
    buckets = [ids[split.file].bucket for split in splits]
    partitions = [planned[split.file].partition for split in splits]
    return rows.withColumns(
        {
            WRITE_ID: of_split(write_ids, split_number),
            BUCKET: of_split(buckets, split_number).cast("int"),
            PARTITION: of_split(partitions, split_number).cast("int"),
        }
    ).drop(_PLACE, _SPLIT)
