"""The row ids of raw files, which follow from the place of each row in its file.

Spark tells no row's position in an ORC file, only the split that it is from. A task reads its
splits one after the other, each in file order, and `monotonically_increasing_id` counts the task's
rows. So the scan is run twice: once without any column, for the first number and the rows of each
split, and once for the rows. Sorting the rows would do as well, but takes them all through a
shuffle, whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.reader.deletes import BUCKET, ROW, WRITE_ID
from dbt.adapters.hiveacid.reader.file_index import numbers_column, path_hash
from dbt.adapters.hiveacid.reader.plan import RawRowIds
from dbt.adapters.hiveacid.reader.scan import BLOCK_START, FILE_PATH

_NUMBER = "__hiveacid_number"
_TASK = "__hiveacid_task"
_FILE = "__hiveacid_file_hash"
_FIRST = "__hiveacid_first"
_ROWS = "__hiveacid_rows"
_SHIFT = "__hiveacid_shift"

_OWN = [_NUMBER, _TASK, _FIRST, _ROWS, _SHIFT]


def with_raw_row_ids(
    frame: DataFrame, by_path: Mapping[str, ListedFile], row_ids: Mapping[ListedFile, RawRowIds]
) -> DataFrame:
    """Add the columns of a row id to the rows of raw files.

    The numbers are not deterministic to Spark, which therefore pushes no filter below them: both
    runs read all rows, in the same splits. A row that the first run has not seen is an error.

    Args:
        frame: what `scan` gives for the files, unfiltered.
        by_path: the files, as `scan` gives them.
        row_ids: where the numbering of each file begins.
    """
    number = F.monotonically_increasing_id()
    rows = frame.withColumn(_NUMBER, number)
    rows = rows.withColumn(_TASK, F.shiftright(_NUMBER, 33))
    splits = _splits(frame.withColumn(_NUMBER, number), by_path, row_ids)
    at = F.col(_NUMBER) - F.col(_FIRST)
    in_split = (F.col(f"rows.{_TASK}") == F.col(f"splits.{_TASK}")) & (at >= 0)
    in_split &= at < F.col(_ROWS)
    found = rows.alias("rows").join(F.broadcast(splits.alias("splits")), in_split, "left")
    lost = F.raise_error(
        F.lit("hiveacid: Spark has divided original files differently while it numbered their rows")
    )
    write_id = F.coalesce(WRITE_ID, lost.cast("bigint"))
    row = F.col(_NUMBER) + F.col(_SHIFT)
    return found.withColumns({WRITE_ID: write_id, ROW: row}).drop(*_OWN)


def _splits(
    frame: DataFrame, by_path: Mapping[str, ListedFile], row_ids: Mapping[ListedFile, RawRowIds]
) -> DataFrame:
    """One row a split: its task, its first number and its rows; what to add to a number to get
    the row's own in the row id; the rest of the row id."""
    # Grouping by the path itself would cost several times as much.
    splits = frame.groupBy(F.xxhash64(FILE_PATH).alias(_FILE), BLOCK_START).agg(
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
        F.shiftright(_FIRST, 33).alias(_TASK),
        _FIRST,
        _ROWS,
        (of_file([r.first_row for r in known], "bigint") + before - F.col(_FIRST)).alias(_SHIFT),
        of_file([r.write_id for r in known], "bigint").alias(WRITE_ID),
        of_file([r.bucket for r in known], "int").alias(BUCKET),
    )
