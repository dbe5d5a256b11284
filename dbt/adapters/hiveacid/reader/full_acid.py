"""The rows of a full-ACID table: what the writers inserted, less what the delete events name.

A predicate that Spark can push down is evaluated on the *user's* columns. A predicate on an ACID
column would hit a user's column of the same name, so predicates on ACID columns stand inside
`coalesce`, which is not pushed down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList
from dbt.adapters.hiveacid.reader.acid_scan import acid_scan
from dbt.adapters.hiveacid.reader.columns import (
    TableColumns,
    orc_columns,
    partition_values,
    raw_column,
)
from dbt.adapters.hiveacid.reader.deletes import (
    BUCKET,
    PARTITION,
    ROW,
    ROW_ID,
    WRITE_ID,
    delete_masks,
    never_null,
    one_task_reads,
    without_bitmaps,
    without_masks,
)
from dbt.adapters.hiveacid.reader.file_index import partition_number
from dbt.adapters.hiveacid.reader.plan import DataFile, DeleteFile, ReadPlan
from dbt.adapters.hiveacid.reader.projection import Expression, Shown, as_column, named, project
from dbt.adapters.hiveacid.reader.raw_row_ids import with_raw_row_ids
from dbt.adapters.hiveacid.reader.scan import scan
from dbt.adapters.hiveacid.reader.timestamps import orc_clock
from dbt.adapters.hiveacid.reader.write_id_filter import is_valid


def full_acid_rows(
    spark: SparkSession, plan: ReadPlan, columns: TableColumns, row_ids: bool = False
) -> DataFrame | None:
    """The rows of the planned files with the table's columns; None if there is no file.

    With `row_ids`, for which the plan must be made, the columns of the row id follow.
    """
    delete_partitions = {delete.partition for delete in plan.deletes}
    keyed: list[DataFrame] = []
    plain: list[DataFrame] = []
    for (_, _, is_acid, hides_rows, deleted), files in _groups(
        plan.data, delete_partitions
    ).items():
        scanned = _acid_scan if is_acid else _raw_scan
        rows = scanned(spark, plan, columns, files, hides_rows, deleted or row_ids)
        (keyed if deleted else plain).append(rows)
    if keyed:
        live = _without_deleted(spark, plan, _union(keyed))
        shown = [*columns.names, *(ROW_ID if row_ids else ())]
        plain.append(project(live, [(name, named(name)) for name in shown]))
    if not plain:
        return None
    return never_null(_union(plain)) if row_ids else _union(plain)


_Group = tuple[tuple[str, ...] | None, tuple[int, ...], bool, bool, bool]


def _groups(data: Iterable[DataFile], delete_partitions: set[int]) -> dict[_Group, list[DataFile]]:
    """Files that one scan can read: the same columns, ACID or raw, and the same needs."""
    groups: dict[_Group, list[DataFile]] = {}
    for file in data:
        deleted = file.partition in delete_partitions and (file.is_acid or file.row_ids is not None)
        key = (file.columns, file.converted, file.is_acid, file.hides_rows, deleted)
        groups.setdefault(key, []).append(file)
    return groups


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, frames)


def _visible(frame: DataFrame, hides_rows: bool, write_ids: ValidWriteIdList) -> DataFrame:
    """Hide the rows of write ids that are not valid."""
    if not hides_rows:
        return frame
    return frame.where(is_valid(F.coalesce("currentTransaction", F.lit(-1)), write_ids))


def _acid_scan(
    spark: SparkSession,
    plan: ReadPlan,
    columns: TableColumns,
    files: Sequence[DataFile],
    hides_rows: bool,
    keyed: bool,
) -> DataFrame:
    """Files with ACID columns. The i-th field of `row` is the table's i-th column, as in Hive."""
    fields = list(zip(files[0].columns or (), columns.data.fields, strict=False))
    row = StructType([StructField(name, field.dataType) for name, field in fields])
    several_partitions = len({file.partition for file in files}) > 1
    frame, by_path = acid_scan(spark, [file.file for file in files], row, several_partitions)
    frame = _visible(frame, hides_rows, plan.pinned.write_ids)
    number = partition_number(by_path, files)
    held_back = any(name.lower() == "row" for name, _ in fields)
    present = [_row_field(name, held_back) for name, _ in fields]
    data = orc_columns(columns, present, orc_clock(spark, columns.data), files[0].converted)
    key = [*row_id_columns(files), (PARTITION, number)] if keyed else []
    return project(frame, [*data, *_parts(plan, columns, number), *key])


def row_id_columns(files: Iterable[DataFile | DeleteFile]) -> list[Shown]:
    """The row id without the partition, from the ACID columns of a scan of these files.

    A part that is the same in all rows, as the files' statistics say, is a literal: Spark need not
    decode it, nor compare it for each row. A filter by the columns alone would be pushed down: see
    `deletes.never_null`.
    """
    ranges = [file.row_id_range for file in files if file.row_id_range is not None]

    def part(name: str, type_: str, ends: Iterable[tuple[int, int]]) -> str:
        values = {value for pair in ends for value in pair}
        return f"cast({values.pop()} AS {type_})" if len(values) == 1 else name

    return [
        (WRITE_ID, part("originalTransaction", "bigint", (ids.write_id for ids in ranges))),
        (BUCKET, part("bucket", "int", (ids.bucket for ids in ranges))),
        (ROW, "rowId"),
    ]


def _row_field(name: str, held_back: bool) -> Expression:
    """A user's column; with `held_back`, one that no predicate is pushed down on.

    ORC looks for the `row.x` of a pushed predicate inside the user's own column `row`, if the file
    has one.
    """
    field = named("row", name)
    if not held_back:
        return field
    return F.when(F.coalesce("operation", "bucket").isNotNull(), as_column(field))


def _parts(plan: ReadPlan, columns: TableColumns, number: Column) -> list[Shown]:
    return partition_values(number, plan.pinned.partitions, columns)


def _raw_scan(
    spark: SparkSession,
    plan: ReadPlan,
    columns: TableColumns,
    files: Sequence[DataFile],
    hides_rows: bool,
    keyed: bool,
) -> DataFrame:
    """Files without ACID columns; where deletes may hit them, with row ids by position."""
    fields = list(zip(files[0].columns or (), columns.data.fields, strict=False))
    schema = StructType([StructField(name, field.dataType) for name, field in fields])
    frame, by_path = scan(spark, "orc", [file.file for file in files], schema)
    number = partition_number(by_path, files)
    present = [raw_column(field) for field in schema]
    data = orc_columns(columns, present, orc_clock(spark, columns.data), files[0].converted)
    selected = [*data, *_parts(plan, columns, number)]
    if not keyed:
        return project(frame, selected)

    row_ids = {file.file: file.row_ids for file in files if file.row_ids is not None}
    rows = with_raw_row_ids(frame, by_path, row_ids)
    key = [(name, name) for name in (WRITE_ID, BUCKET, ROW)]
    return project(rows, [*selected, *key, (PARTITION, number)])


def _without_deleted(spark: SparkSession, plan: ReadPlan, rows: DataFrame) -> DataFrame:
    def masks() -> DataFrame:
        return delete_masks(_delete_events(spark, plan), one_task_reads(plan.deletes))

    bitmaps = plan.deleted_rows.bitmaps(plan.deletes, masks)
    if bitmaps is None:
        return without_masks(rows, masks(), plan.delete_events)
    partitions = len({delete.partition for delete in plan.deletes})
    return without_bitmaps(spark, rows, bitmaps, in_one_partition=partitions == 1)


def _delete_events(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """The row ids of the delete events that the snapshot shows."""
    frames = []
    for hides_rows in sorted({delete.hides_rows for delete in plan.deletes}):
        files = [delete for delete in plan.deletes if delete.hides_rows == hides_rows]
        frame, by_path = acid_scan(spark, [file.file for file in files], StructType())
        frame = _visible(frame, hides_rows, plan.pinned.write_ids)
        number = partition_number(by_path, files)
        frames.append(project(frame, [*row_id_columns(files), (PARTITION, number)]))
    return _union(frames)
