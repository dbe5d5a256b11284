"""The changes of a source since a state, as DataFrames.

::

    plan = plan_changes(spark, pinned, since, footers)   # since=None: the whole snapshot as inserts
    plan.losses                                          # which changes are unknown, and why
    inserted_rows(spark, plan)                           # live rows that the state has not seen
    deleted_row_ids(spark, plan)                         # seen rows that were deleted since
    images = plan_before_images(spark, plan)             # where the values of deleted rows are
    deleted_rows(spark, plan, images)                    # the deleted rows with their values
    plan.state                                           # the state to keep with the target

Next to the table's columns there are `_change_type` (insert or delete), `_write_id` (of the
insert, or of the delete) and `_row_id`, a struct of `write_id` (the original one), `bucket` (the
bucket property), `row`, and `partition` (the partition's name as Hive writes it, empty for an
unpartitioned table). A row id is unique in the table, and NULL for insert-only tables.
"""

from __future__ import annotations

import json

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hiveacid.changes.diff import Kind
from hiveacid.changes.plan import CHANGE_TYPE, ROW_ID, WRITE_ID, ChangePlan
from hiveacid.formatting import quoted
from hiveacid.reader.columns import TableColumns, table_columns
from hiveacid.reader.deletes import (
    BUCKET,
    PARTITION,
    ROW,
    DeletedRows,
    delete_masks,
    in_bitmaps,
    is_in,
    is_valid,
    never_null,
    one_task_reads,
)
from hiveacid.reader.deletes import ROW_ID as ROW_ID_COLUMNS
from hiveacid.reader.deletes import WRITE_ID as WRITE_ID_COLUMN
from hiveacid.reader.full_acid import full_acid_rows, row_id_columns
from hiveacid.reader.insert_only import insert_only_rows
from hiveacid.reader.partition_lookup import partition_number
from hiveacid.reader.plan import ReadPlan
from hiveacid.reader.projection import project
from hiveacid.reader.read import no_rows, plan_locations
from hiveacid.reader.scan import acid_scan
from hiveacid.snapshots.tables import PinnedTable

_ROW_ID_TYPE = "struct<write_id: bigint, bucket: int, row: bigint, partition: string>"
_DELETER = "__hiveacid_deleter"
_BROADCAST_DELETES = 1_000_000
"""Most delete events that are broadcast to find their rows; about 100 MB."""


def inserted_rows(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    """Return the live rows that the state has not seen.

    Rows that were inserted and deleted since are left out.

    Raises:
        UnreadableTableError: a column or file cannot be read, or the files have changed.
    """
    if not plan.grown.data:
        return _live_rows(spark, plan.added)
    grown = _live_rows(spark, plan.grown)
    if plan.pinned.table.is_full_acid:
        # Directories that a compaction made hold rows of other write ids, too.
        grown = grown.where(is_in(F.col(WRITE_ID), plan.new_write_ids))
    return _live_rows(spark, plan.added).union(grown) if plan.added.data else grown


def no_changes(
    spark: SparkSession, columns: TableColumns, change_type: str = "insert"
) -> DataFrame:
    """Return an empty DataFrame with the columns of changes of a table with these columns."""
    names = map(quoted, columns.names)
    return no_rows(spark, columns).select(*names, *_change_columns(change_type))


def deleted_row_ids(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    """Return the seen rows that were deleted since, without the table's columns."""
    deleted = _deleted(spark, plan)
    if deleted is None:
        return spark.range(0).select(*_change_columns("delete"))
    return deleted.select(*_change_columns("delete", F.col(_DELETER), _row_id(plan.pinned)))


def deleted_rows(
    spark: SparkSession, plan: ChangePlan, images: ReadPlan, *, as_inserted: bool = False
) -> DataFrame:
    """Return the rows of `deleted_row_ids` with the values that they had: their before-images.

    The values come from the data files that can hold the rows, which `plan_before_images` gives.
    With `as_inserted` the rows have the `_change_type` and the `_write_id` of their insert, as
    `inserted_rows` returned them.

    Raises:
        UnreadableTableError: one of the files cannot be read exactly.
    """
    columns = table_columns(plan.pinned.table)
    names = [quoted(name) for name in columns.names]
    deleted = _deleted(spark, plan)
    rows = full_acid_rows(spark, images, columns, row_ids=True)
    if rows is None or deleted is None:
        return no_changes(spark, columns, "delete")
    found = _found(spark, plan, images, rows, deleted)
    kind, write_id = ("insert", WRITE_ID_COLUMN) if as_inserted else ("delete", _DELETER)
    change = _change_columns(kind, F.col(write_id), _row_id(plan.pinned))
    return found.select(*names, *change)


def rows_of_earlier_batches(spark: SparkSession, plan: ChangePlan, read: ReadPlan) -> DataFrame:
    """Return the live rows of the backlog's earlier batches, planned by `plan_earlier_batches`."""
    return _live_rows(spark, read).where(is_in(F.col(WRITE_ID), plan.earlier_batch_write_ids))


def reconcile_deletes(spark: SparkSession, plan: ChangePlan, target_ids: DataFrame) -> DataFrame:
    """Return the `_row_id` of a target's rows of lost locations that are no longer live.

    `target_ids` has the target's column `_row_id`.
    """
    live = _lost_locations_now(spark, plan).select(ROW_ID)
    return _in_lost_locations(plan, target_ids).join(live, ROW_ID, "left_anti")


def reconcile_inserts(spark: SparkSession, plan: ChangePlan, target_ids: DataFrame) -> DataFrame:
    """Return the live rows of lost locations that a target lacks, as `inserted_rows` does."""
    live = _lost_locations_now(spark, plan)
    missing = live.join(_in_lost_locations(plan, target_ids), ROW_ID, "left_anti")
    return missing.select(*map(quoted, live.columns))


def _in_lost_locations(plan: ChangePlan, target_ids: DataFrame) -> DataFrame:
    names = [loss.location for loss in plan.losses if loss.reconcilable]
    return target_ids.select(ROW_ID).where(F.col(f"{ROW_ID}.partition").isin(names))


def _lost_locations_now(spark: SparkSession, plan: ChangePlan) -> DataFrame:
    lost = [
        plan.location_of(change)
        for change in plan.changes
        if change.kind is Kind.LOST and change.loss is not None and change.loss.reconcilable
    ]
    read = plan_locations(spark, plan.pinned, lost, plan.footers, row_ids=True)
    return _live_rows(spark, read)


def _live_rows(spark: SparkSession, read: ReadPlan) -> DataFrame:
    """Return the rows of a plan as inserts."""
    table = read.pinned.table
    columns = table_columns(table)
    names = [quoted(name) for name in columns.names]
    if table.is_full_acid:
        rows = full_acid_rows(spark, read, columns, row_ids=True)
        row_id = _row_id(read.pinned)
    else:
        rows = insert_only_rows(spark, read, columns, write_ids=True)
        row_id = F.lit(None)
    if rows is None:
        return no_changes(spark, columns)
    return rows.select(*names, *_change_columns("insert", F.col(WRITE_ID_COLUMN), row_id))


def _found(
    spark: SparkSession, plan: ChangePlan, images: ReadPlan, rows: DataFrame, deleted: DataFrame
) -> DataFrame:
    """Return the rows that were deleted, with the write id `_DELETER`."""
    partitions = {data.partition for data in images.data} | {d.partition for d in plan.deletes}
    are_few = sum(delete.rows for delete in plan.deletes) <= _BROADCAST_DELETES
    bitmaps = DeletedRows().bitmaps(
        plan.deletes, lambda: delete_masks(deleted.drop(_DELETER), in_one_task=are_few)
    )
    if are_few:
        deleted = F.broadcast(deleted)
    if bitmaps is None:
        return rows.join(deleted, list(ROW_ID_COLUMNS))
    named = in_bitmaps(spark, rows, bitmaps, in_one_partition=len(partitions) == 1)
    # Each row has a match. Spark drops a left join of which no column is used.
    return named.join(deleted, list(ROW_ID_COLUMNS), "left")


def _change_columns(
    change_type: str, write_id: Column | None = None, row_id: Column | None = None
) -> list[Column]:
    null = F.lit(None)
    return [
        F.lit(change_type).alias(CHANGE_TYPE),
        (null if write_id is None else write_id).cast("bigint").alias(WRITE_ID),
        (null if row_id is None else row_id).cast(_ROW_ID_TYPE).alias(ROW_ID),
    ]


def _row_id(pinned: PinnedTable) -> Column:
    names = F.from_json(F.lit(json.dumps(pinned.location_names)), "array<string>")
    return F.struct(
        F.col(WRITE_ID_COLUMN).alias("write_id"),
        F.col(BUCKET).alias("bucket"),
        F.col(ROW).alias("row"),
        F.get(names, F.col(PARTITION)).alias("partition"),
    )


def _deleted(spark: SparkSession, plan: ChangePlan) -> DataFrame | None:
    """Return the row ids that were deleted since the state, each once, with `_DELETER`.

    `_DELETER` is the write id of the delete. A row that the state has seen deleted is left out,
    even if a second delete event names it.
    """
    if plan.since is None or not plan.deletes:
        return None
    seen = plan.since.write_ids
    frame, by_path = acid_scan(spark, [delete.file for delete in plan.deletes], StructType())
    writer = F.coalesce("currentTransaction", F.lit(-1))
    number = partition_number(by_path, plan.deletes)
    events = project(
        frame.where(is_valid(writer, plan.pinned.write_ids)),
        [
            *row_id_columns(plan.deletes),
            (PARTITION, number),
            (_DELETER, writer.cast("bigint")),
        ],
    )
    of_seen_rows = never_null(events).where(is_valid(F.col(WRITE_ID_COLUMN), seen))
    if one_task_reads(plan.deletes):
        of_seen_rows = of_seen_rows.coalesce(1)
    is_new = is_in(F.col(_DELETER), plan.new_write_ids)
    once = of_seen_rows.groupBy(*ROW_ID_COLUMNS).agg(
        F.max(_DELETER).alias(_DELETER), F.bool_and(is_new).alias("__hiveacid_is_new")
    )
    return once.where("__hiveacid_is_new").drop("__hiveacid_is_new")
