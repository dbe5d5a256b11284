"""Row ids of raw files, which follow from the position of each row in its file.

Spark does not say a row's position in an ORC file, only the split that the row is from. A task
reads its splits one after the other, each in file order, and `monotonically_increasing_id` counts
the task's rows. So the scan is run twice: once without any column, for the first number and the
rows of each split, and once for the rows. Sorting the rows would do as well, but takes all the rows
through a shuffle, with all their columns.

Both runs must divide the files alike. `_keep_division` sees to it, and every row is checked: each
task reads its splits in one order, so where all rows up to one come from splits that the first run
has in the same task, they are as many as in the first run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from hiveacid.acid.layout import ListedFile
from hiveacid.reader.deletes import BUCKET, ROW, WRITE_ID
from hiveacid.reader.partition_lookup import numbers_column, path_hash
from hiveacid.reader.plan import RowPositions
from hiveacid.reader.scan import BLOCK_LENGTH, BLOCK_START, FILE_PATH

_NUMBER = "__hiveacid_number"
_TASK = "__hiveacid_task"
_FILE = "__hiveacid_file_hash"
_SPLIT = "__hiveacid_split_hash"
_FIRST = "__hiveacid_first"
_ROWS = "__hiveacid_rows"
_SHIFT = "__hiveacid_shift"
_OWN = [_NUMBER, _TASK, _SPLIT, _FIRST, _ROWS, _SHIFT]
_LEAST_TASKS = "spark.sql.files.minPartitionNum"
_SET_BY_US = "spark.hiveacid.min_partition_num"


def with_row_positions(
    frame: DataFrame, by_path: Mapping[str, ListedFile], row_ids: Mapping[ListedFile, RowPositions]
) -> DataFrame:
    """Add the columns of a row id to the rows of raw files.

    The numbers are not deterministic to Spark. So Spark pushes no filter below them, and both runs
    read all rows, in the same splits. A row that the first run has not seen is an error.

    Args:
        frame: the rows that `scan` gives for the files, unfiltered.
        by_path: the files, as `scan` gives them.
        row_ids: where the numbering of each file begins.
    """
    _keep_division(frame.sparkSession)
    number = F.monotonically_increasing_id()
    file = F.xxhash64(FILE_PATH).alias(_FILE)
    rows = frame.select("*", number.alias(_NUMBER), file)
    rows = rows.select("*", _task(_NUMBER), _split()).drop(_FILE)
    splits = _splits(frame.withColumn(_NUMBER, number), by_path, row_ids)
    at = F.col(_NUMBER) - F.col(_FIRST)
    # One number to join by is faster than two. Splits with the same hash stay apart.
    in_split = F.col(f"rows.{_SPLIT}") == F.col(f"splits.{_SPLIT}")
    in_split &= F.col(f"rows.{_TASK}") == F.col(f"splits.{_TASK}")
    in_split &= (at >= 0) & (at < F.col(_ROWS))
    found = rows.alias("rows").join(F.broadcast(splits.alias("splits")), in_split, "left")
    lost = F.raise_error(
        F.lit("hiveacid: Spark has divided original files differently while it numbered their rows")
    )
    # Not deterministic to Spark, so that no filter of a statement comes before the check.
    always = F.spark_partition_id() >= 0
    write_id = F.coalesce(F.when(always, F.col(WRITE_ID)), lost.cast("bigint"))
    row = F.col(_NUMBER) + F.col(_SHIFT)
    return found.withColumns({WRITE_ID: write_id, ROW: row}).drop(*_OWN)


def _keep_division(spark: SparkSession) -> None:
    """Let Spark divide files by the number of cores that there are now.

    Otherwise Spark asks for the number each time that a scan starts, and executors come and go.
    """
    conf = spark.conf
    if conf.get(_LEAST_TASKS, None) == conf.get(_SET_BY_US, None):
        number = conf.get("spark.sql.leafNodeDefaultParallelism", None)
        number = number or str(spark.sparkContext.defaultParallelism)
        conf.set(_SET_BY_US, number)
        conf.set(_LEAST_TASKS, number)


def _task(number: str) -> Column:
    return F.shiftright(number, 33).alias(_TASK)


def _split() -> Column:
    return F.xxhash64(_FILE, BLOCK_START, BLOCK_LENGTH).alias(_SPLIT)


def _splits(
    frame: DataFrame, by_path: Mapping[str, ListedFile], row_ids: Mapping[ListedFile, RowPositions]
) -> DataFrame:
    """Return one row a split.

    A row has the split's task, its hash, its first number and its count of rows; the number to add
    to a number to get the row's own in the row id; and the rest of the row id.
    """
    # Grouping by the path itself would cost several times as much.
    splits = frame.groupBy(F.xxhash64(FILE_PATH).alias(_FILE), BLOCK_START, BLOCK_LENGTH).agg(
        F.min(_NUMBER).alias(_FIRST), F.count(F.lit(1)).alias(_ROWS)
    )
    earlier = Window.partitionBy(_FILE).orderBy(BLOCK_START)
    earlier = earlier.rowsBetween(Window.unboundedPreceding, -1)
    before = F.coalesce(F.sum(_ROWS).over(earlier), F.lit(0))
    hashes = numbers_column([path_hash(path) for path in by_path], "bigint")
    # PySpark 3.5's own function of the name takes no column.
    file = (F.call_function("array_position", hashes, F.col(_FILE)) - 1).cast("int")

    def of_file(values: Sequence[int], element: str) -> Column:
        return F.get(numbers_column(values, element), file)

    known = [row_ids[file] for file in by_path.values()]
    return splits.select(
        _task(_FIRST),
        _split(),
        _FIRST,
        _ROWS,
        (of_file([r.first_row for r in known], "bigint") + before - F.col(_FIRST)).alias(_SHIFT),
        of_file([r.write_id for r in known], "bigint").alias(WRITE_ID),
        of_file([r.bucket for r in known], "int").alias(BUCKET),
    )
