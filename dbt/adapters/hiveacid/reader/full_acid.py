"""The rows of a full-ACID table: what the writers inserted, less what the delete events name.

Two properties of Spark's ORC reader shape the queries here.

* ORC's own library knows an ACID file by its six root columns. If a scan asks for fewer, the
  library takes the file for an ordinary one and fails, so every scan refers to all six: the
  *guard*. To keep the guard from reading the whole `row`, its schema begins with a field that no
  file has.
* A predicate that Spark can push down is evaluated on the *user's* columns. A predicate on an ACID
  column would hit a user's column of the same name, so the ACID columns stand inside `coalesce`,
  which is not pushed down.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, LongType, StructField, StructType

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList
from dbt.adapters.hiveacid.reader.columns import TableColumns, orc_columns, partition_values, quoted
from dbt.adapters.hiveacid.reader.file_index import lookup, numbers_column
from dbt.adapters.hiveacid.reader.plan import DataFile, DeleteFile, ReadPlan
from dbt.adapters.hiveacid.reader.scan import BLOCK_START, FILE_PATH, scan
from dbt.adapters.hiveacid.reader.timestamps import WallClock

_ABSENT = "__none"
"""The field of `row` that no file has, so that reading it costs nothing."""

_PARTITION = "__hiveacid_partition"
_WRITE_ID = "__hiveacid_write_id"
_BUCKET = "__hiveacid_bucket"
_ROW = "__hiveacid_row"
_MASK = "__hiveacid_mask"
_KEY = [_WRITE_ID, _BUCKET, _ROW]

_MAX_BROADCAST_DELETES = 1_000_000
"""Up to so many delete events the join broadcasts them: at most about 100 MB in each executor."""


def full_acid_rows(spark: SparkSession, plan: ReadPlan, columns: TableColumns) -> DataFrame | None:
    """The rows of the planned files with the table's columns; None if there is no file."""
    delete_partitions = {delete.partition for delete in plan.deletes}
    keyed: list[DataFrame] = []
    plain: list[DataFrame] = []
    for (_, _, is_acid, hides_rows, deleted), files in _groups(
        plan.data, delete_partitions
    ).items():
        scanned = _acid_scan if is_acid else _raw_scan
        rows = scanned(spark, plan, columns, files, hides_rows, deleted)
        (keyed if deleted else plain).append(rows)
    if keyed:
        live = _without_deleted(_union(keyed), _delete_masks(spark, plan), len_deletes(plan))
        plain.append(live.select(*[quoted(name) for name in columns.names]))
    return _union(plain) if plain else None


def len_deletes(plan: ReadPlan) -> int:
    """The number of delete events in the plan."""
    return sum(delete.rows for delete in plan.deletes)


_Group = tuple[tuple[str, ...] | None, tuple[int, ...], bool, bool, bool]


def _groups(data: Iterable[DataFile], delete_partitions: set[int]) -> dict[_Group, list[DataFile]]:
    """Files that one scan can read: the same columns, ACID or raw, and the same needs."""
    groups: dict[_Group, list[DataFile]] = {}
    for file in data:
        deleted = file.partition in delete_partitions and (file.is_acid or file.row_ids is not None)
        key = (file.columns, file.cut, file.is_acid, file.hides_rows, deleted)
        groups.setdefault(key, []).append(file)
    return groups


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, frames)


def _acid_schema(row: StructType) -> StructType:
    return (
        StructType()
        .add("operation", IntegerType())
        .add("originalTransaction", LongType())
        .add("bucket", IntegerType())
        .add("rowId", LongType())
        .add("currentTransaction", LongType())
        .add("row", row)
    )


def _guarded(frame: DataFrame, hides_rows: bool, write_ids: ValidWriteIdList) -> DataFrame:
    """Refer to all six ACID columns, and hide the rows of write ids that are not valid."""
    frame = frame.where(_guard().isNotNull())
    if hides_rows:
        writer = F.coalesce("currentTransaction", F.lit(-1))
        frame = frame.where(writer <= write_ids.high_watermark)
        if write_ids.invalid:
            frame = frame.where(~writer.isin(sorted(write_ids.invalid)))
    return frame


def _guard() -> Column:
    return F.coalesce(
        "operation",
        "originalTransaction",
        "bucket",
        "rowId",
        "currentTransaction",
        F.col(f"row.{_ABSENT}").cast("bigint"),
    )


def _partition_number(
    path: Column, by_path: dict[str, ListedFile], files: Iterable[DataFile | DeleteFile]
) -> Column:
    partitions = {file.file: file.partition for file in files}
    return lookup(path, {uri: partitions[file] for uri, file in by_path.items()})


def _acid_scan(
    spark: SparkSession,
    plan: ReadPlan,
    columns: TableColumns,
    files: Sequence[DataFile],
    hides_rows: bool,
    deleted: bool,
) -> DataFrame:
    """Files with ACID columns. The i-th field of `row` is the table's i-th column, as in Hive."""
    fields = list(zip(files[0].columns or (), columns.data.fields, strict=False))
    row = StructType([StructField(_ABSENT, BooleanType())])
    for name, field in fields:
        row.add(name, field.dataType)
    frame, by_path = scan(spark, "orc", [file.file for file in files], _acid_schema(row))
    frame = _guarded(frame, hides_rows, plan.pinned.write_ids)
    number = _partition_number(F.col(FILE_PATH), by_path, files)
    present = [_row_field(name) for name, _ in fields]
    data = orc_columns(columns, present, WallClock.of(spark), files[0].cut)
    key = []
    if deleted:
        key = [
            F.coalesce("originalTransaction", F.lit(-1).cast("bigint")).alias(_WRITE_ID),
            F.coalesce("bucket", F.lit(-1)).alias(_BUCKET),
            F.coalesce("rowId", F.lit(-1).cast("bigint")).alias(_ROW),
            number.alias(_PARTITION),
        ]
    return frame.select(*data, *_parts(plan, columns, number), *key)


def scan_row_ids(
    spark: SparkSession, files: Sequence[ListedFile]
) -> tuple[DataFrame, dict[str, ListedFile]]:
    """The ACID columns of all records in ACID files, without the rows themselves; see `scan`."""
    schema = _acid_schema(StructType([StructField(_ABSENT, BooleanType())]))
    frame, by_path = scan(spark, "orc", files, schema)
    return frame.where(_guard().isNotNull()), by_path


def _row_field(name: str) -> Column:
    column = F.col(f"row.{quoted(name)}")
    if name.lower() != "row":
        return column
    # ORC resolves a pushed predicate on `row.x` inside the user's own column `row`: keep it back.
    return F.when(F.coalesce("operation", "bucket").isNotNull(), column)


def _parts(plan: ReadPlan, columns: TableColumns, number: Column) -> list[Column]:
    return partition_values(number, plan.pinned.partitions, columns)


def _raw_scan(
    spark: SparkSession,
    plan: ReadPlan,
    columns: TableColumns,
    files: Sequence[DataFile],
    hides_rows: bool,
    deleted: bool,
) -> DataFrame:
    """Files without ACID columns; where deletes may hit them, with row ids by position.

    Spark does not tell a row's position in an ORC file. Within a split, rows come in file order,
    and `monotonically_increasing_id` grows along; splits are ordered by their first byte.
    """
    fields = list(zip(files[0].columns or (), columns.data.fields, strict=False))
    schema = StructType([StructField(name, field.dataType) for name, field in fields])
    frame, by_path = scan(spark, "orc", [file.file for file in files], schema)
    number = _partition_number(F.col(FILE_PATH), by_path, files)
    present = [F.col(quoted(name)) for name, _ in fields]
    data = orc_columns(columns, present, WallClock.of(spark), files[0].cut)
    selected = [*data, *_parts(plan, columns, number)]
    if not deleted:
        return frame.select(*selected)

    row_ids = {file.file: file.row_ids for file in files}
    ids = {uri: i for i, uri in enumerate(by_path)}
    known = [row_id for file in by_path.values() if (row_id := row_ids[file]) is not None]
    order = "__hiveacid_order"
    frame = frame.withColumn(order, F.monotonically_increasing_id())
    window = Window.partitionBy(FILE_PATH).orderBy(BLOCK_START, order)
    position = (F.row_number().over(window) - 1).cast("bigint")
    file_number = lookup(F.col(FILE_PATH), ids)

    def of_file(values: list[int], element: str) -> Column:
        return F.coalesce(F.get(numbers_column(values, element), file_number), F.lit(-1))

    return frame.select(
        *selected,
        of_file([r.write_id for r in known], "bigint").alias(_WRITE_ID),
        of_file([r.bucket for r in known], "int").alias(_BUCKET),
        (of_file([r.first_row for r in known], "bigint") + position).alias(_ROW),
        number.alias(_PARTITION),
    )


def _delete_masks(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """The delete events, 64 neighbouring row ids in one row with a bit mask.

    `_ROW` is the row id divided by 64. Deletes mostly hit neighbouring rows, and one broadcast row
    with a mask is then far cheaper than 64 keys.
    """
    frames = []
    for hides_rows in sorted({delete.hides_rows for delete in plan.deletes}):
        files = [delete for delete in plan.deletes if delete.hides_rows == hides_rows]
        schema = _acid_schema(StructType([StructField(_ABSENT, BooleanType())]))
        frame, by_path = scan(spark, "orc", [file.file for file in files], schema)
        frame = _guarded(frame, hides_rows, plan.pinned.write_ids)
        row = F.coalesce("rowId", F.lit(-1).cast("bigint"))
        frames.append(
            frame.select(
                F.coalesce("originalTransaction", F.lit(-1).cast("bigint")).alias(_WRITE_ID),
                F.coalesce("bucket", F.lit(-1)).alias(_BUCKET),
                F.shiftright(row, 6).alias(_ROW),
                _partition_number(F.col(FILE_PATH), by_path, files).alias(_PARTITION),
                F.expr("shiftleft(1L, cast(coalesce(rowId, -1) & 63 AS int))").alias(_MASK),
            )
        )
    events = _union(frames)
    if len_deletes(plan) <= _MAX_BROADCAST_DELETES:
        # One task reads them all: cheaper than a shuffle, which the aggregate then does not need.
        events = events.coalesce(1)
    return events.groupBy(*_KEY, _PARTITION).agg(F.bit_or(_MASK).alias(_MASK))


def _without_deleted(rows: DataFrame, masks: DataFrame, events: int) -> DataFrame:
    """The rows that no delete event names.

    The join key is one long, the cheapest to probe. Mixing the parts of the row id into it may
    collide, so the condition compares them once more, as differences: an equality would become
    part of the key and make it expensive.
    """
    strategy = "broadcast" if events <= _MAX_BROADCAST_DELETES else "shuffle_hash"
    live = rows.alias("live")
    gone = masks.alias("gone").hint(strategy)

    def mixed(side: str, row: Column) -> Column:
        part = F.shiftleft(F.col(f"{side}.{_PARTITION}").cast("bigint"), 48)
        bucket = F.shiftleft(F.col(f"{side}.{_BUCKET}").cast("bigint"), 34)
        write_id = F.shiftleft(F.col(f"{side}.{_WRITE_ID}"), 17)
        return row.bitwiseXOR(bucket).bitwiseXOR(write_id).bitwiseXOR(part)

    live_row = F.col(f"live.{_ROW}")
    live_block = F.shiftright(live_row, 6)
    condition = mixed("live", live_block) == mixed("gone", F.col(f"gone.{_ROW}"))
    for name in (_WRITE_ID, _BUCKET, _PARTITION):
        condition &= (F.col(f"gone.{name}") - F.col(f"live.{name}")) == 0
    condition &= (F.col(f"gone.{_ROW}") - live_block) == 0
    bit = F.expr(f"cast(live.{_ROW} & 63 AS int)")
    condition &= F.getbit(F.col(f"gone.{_MASK}"), bit) == 1
    return live.join(gone, condition, "left_anti")
