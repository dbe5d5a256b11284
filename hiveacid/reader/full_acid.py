"""Full-ACID tables: the files of a snapshot, and their rows without the deleted ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hiveacid.acid.layout import ListedFile, bucket_of, bucket_of_file, is_bucket_file
from hiveacid.acid.selection import SelectedDir
from hiveacid.acid.write_ids import RangeResponse, ValidWriteIdList
from hiveacid.reader.columns import TableColumns, partition_values, refuse_unions_in_orc
from hiveacid.reader.deletes import (
    BUCKET,
    PARTITION,
    ROW,
    ROW_ID,
    WRITE_ID,
    Bitmap,
    DeleteFile,
    are_few,
    delete_masks,
    is_valid,
    never_null,
    one_task_reads,
    without_bitmaps,
    without_masks,
)
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_columns import (
    converted_columns,
    in_table_order,
    orc_columns,
    own_fields,
    refuse_without_names,
)
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.reader.partition_lookup import partition_number
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.projection import ColumnExpr, Expression, as_column, named, project
from hiveacid.reader.raw_files import Bitmaps, Hit, by_key, hit_files, hit_of, raw_data_files
from hiveacid.reader.raw_rows import RawScan
from hiveacid.reader.scan import acid_scan
from hiveacid.reader.timestamps import orc_calendar, orc_clock
from hiveacid.snapshots.tables import PinnedTable


def plan_full_acid(
    pinned: PinnedTable,
    locations: Sequence[Location],
    footers: Mapping[ListedFile, OrcFooter],
    row_ids: bool = False,
) -> ReadPlan:
    """Plan the read of a full-ACID table. With `row_ids`, every raw file gets its row ids.

    Raises:
        UnreadableTableError: a file does not fit its directory or name.
    """
    data: list[DataFile] = []
    deletes: list[DeleteFile] = []
    for location in locations:
        location.check_depth(pinned)
        its_deletes = _delete_files(pinned, location, footers)
        lowest = 0 if row_ids else _lowest_deleted(its_deletes)
        deletes.extend(its_deletes)
        its_data = list(_data_files(pinned, location, footers, lowest))
        _check_numbers(pinned, its_data, its_deletes)
        data.extend(its_data)
    return ReadPlan.of_locations(pinned, locations, data, deletes)


def _lowest_deleted(deletes: Iterable[DeleteFile]) -> int | None:
    """Return the lowest original write id of delete events; None without delete events."""
    known = (delete.row_id_range for delete in deletes)
    return min((ids.write_id[0] for ids in known if ids is not None), default=None)


def _delete_files(
    pinned: PinnedTable, location: Location, footers: Mapping[ListedFile, OrcFooter]
) -> list[DeleteFile]:
    deletes = []
    for directory in location.state.delete_deltas:
        hides_rows = _hides_rows(directory, pinned.write_ids)
        for file in directory.files:
            footer = footers[file]
            if not footer.is_acid or not is_bucket_file(file.name):
                raise pinned.refusal(f"{file.path} is in a delete delta but is not a delete file")
            deletes.append(
                DeleteFile(file, location.partition, footer.rows, hides_rows, footer.row_id_range)
            )
    return deletes


def _data_files(
    pinned: PinnedTable,
    location: Location,
    footers: Mapping[ListedFile, OrcFooter],
    lowest_deleted: int | None,
) -> Iterator[DataFile]:
    """Yield the data files of one location.

    `lowest_deleted` is the lowest original write id of the location's delete events: only rows of
    that write id or a higher one need a row id.
    """
    for directory in location.state.of_rows:
        hides_rows = _hides_rows(directory, pinned.write_ids)
        raw = []
        for file in directory.files:
            footer = footers[file]
            if not footer.is_acid:
                raw.append(file)
            elif not is_bucket_file(file.name):
                raise pinned.refusal(f"{file.path} is not named as an ACID file (bucket_N)")
            else:
                refuse_without_names(pinned, file, footer)
                footer = in_table_order(pinned, file, footer)
                yield DataFile(
                    file,
                    location.partition,
                    footer.columns,
                    is_acid=True,
                    hides_rows=hides_rows,
                    converted=converted_columns(pinned, file, footer),
                    nanoseconds=footer.nanoseconds,
                    row_id_range=footer.row_id_range,
                )
        if raw:
            yield from raw_data_files(pinned, location, footers, raw, lowest_deleted, directory)
    yield from raw_data_files(
        pinned, location, footers, location.state.originals, lowest_deleted, None
    )


def _hides_rows(directory: SelectedDir, write_ids: ValidWriteIdList) -> bool:
    low, high = directory.write_id_range
    return write_ids.is_range_valid(low, high) is not RangeResponse.ALL


def _check_numbers(
    pinned: PinnedTable, data: Sequence[DataFile], deletes: Sequence[DeleteFile]
) -> None:
    """Refuse delete events for rows in a file with another bucket number in its name.

    For the rows of `bucket_00007` Hive reads only the delete files with the number 7
    (`ColumnizedDeleteEventRegistry`). It fails, or shows rows that other delete files delete. Hive
    3 reads all delete files if the table has no buckets. Change tracking would miss this, because
    it compares row ids. For files whose rows have the bucket of the file's name, as Hive writes
    them, the check is one comparison a file. A file without statistics is assumed to match.
    """
    if not pinned.deletes_by_number:
        return
    for file, delete in _of_other_numbers(data, deletes):
        raise pinned.refusal(
            f"{file.file.path} may have rows that {delete.file.path} deletes. Hive applies "
            "delete events only to files of the same number: it shows these rows, or fails. "
            "If Hive shows the rows, run a major compaction there"
        )


def _of_other_numbers(
    data: Sequence[DataFile], deletes: Sequence[DeleteFile]
) -> Iterator[tuple[DataFile, DeleteFile]]:
    """Yield pairs of files with different numbers that can have a row id in common."""
    odd_data = [file for file in data if file.is_acid and _is_misnamed(file)] if deletes else []
    odd_deletes = [delete for delete in deletes if _is_misnamed(delete)]
    pairs = [(file, delete) for file in odd_data for delete in deletes]
    pairs += [(file, delete) for delete in odd_deletes for file in data]
    for file, delete in pairs:
        ids, deleted = file.row_id_range, delete.row_id_range
        if ids is None or deleted is None:
            continue
        number, other = _number_of(file), _number_of(delete)
        (low, high), (first, last) = _buckets_of(file, number), _buckets_of(delete, other)
        if number != other and low <= last and first <= high:
            if ids.intersects(deleted):
                yield file, delete


def _is_misnamed(file: DataFile | DeleteFile) -> bool:
    number = _number_of(file)
    return _buckets_of(file, number) != (number, number)


def _number_of(file: DataFile | DeleteFile) -> int:
    number = bucket_of_file(file.file.name)
    assert number is not None, "the plan has refused the file"
    return number


def _buckets_of(file: DataFile | DeleteFile, number: int) -> tuple[int, int]:
    """Return the lowest and highest bucket in a file's row ids; if unknown, the file's number."""
    ids = file.row_id_range
    if ids is None or not ids.is_known:
        return number, number
    low, high = ids.bucket
    return bucket_of(low), bucket_of(high)


def full_acid_rows(
    spark: SparkSession, plan: ReadPlan, columns: TableColumns, row_ids: bool = False
) -> DataFrame | None:
    """Return the rows of the planned files with the table's columns; None without files.

    With `row_ids`, the columns of the row id follow. The plan must be made with `row_ids`, too.
    """
    if plan.data:
        refuse_unions_in_orc(columns)
    bitmaps, raw_hits = _raw_hits(spark, plan)
    keyed: list[DataFrame] = []
    plain: list[DataFrame] = []
    for key, files in _groups(plan, raw_hits).items():
        raw = RawScan(spark, plan, columns, files)
        needs_key = row_ids or key.hit is not Hit.NONE
        if key.is_acid:
            rows = _acid_scan(spark, plan, columns, files, key.hides_rows, needs_key)
        elif not row_ids and bitmaps and (live := _live(raw, key.hit, bitmaps)):
            plain.extend(live)
            continue
        else:
            rows = raw.numbered() if needs_key else raw.rows()
        (plain if key.hit is Hit.NONE else keyed).append(rows)
    if keyed:
        visible = _without_deleted(spark, plan, _union(keyed))
        shown = [*columns.names, *(ROW_ID if row_ids else ())]
        plain.append(project(visible, [(name, named(name)) for name in shown]))
    if not plain:
        return None
    return never_null(_union(plain)) if row_ids else _union(plain)


def _live(raw: RawScan, hit: Hit, bitmaps: Bitmaps) -> Sequence[DataFrame] | None:
    """Return the rows of raw files that no bitmap names; None if bitmaps cannot find the rows."""
    if hit is Hit.FEW_STRIPES:
        return raw.few_live(bitmaps)
    rows = raw.live(bitmaps) if hit is Hit.ANY else None
    return None if rows is None else [rows]


def _raw_hits(spark: SparkSession, plan: ReadPlan) -> tuple[Bitmaps | None, dict[ListedFile, Hit]]:
    """Return the bitmaps, and for each raw file that delete events can name how it is hit.

    The bitmaps are None if the deleted rows need a join, or if no raw file can be hit.
    """
    can_be_hit = hit_files(plan.data, plan.deletes)
    # The bitmaps are read for the filter on deleted rows anyway.
    found = _bitmaps(spark, plan) if can_be_hit else None
    bitmaps = None if found is None else by_key(found)
    return bitmaps, {file.file: hit_of(file, bitmaps) for file in can_be_hit}


class _Group(NamedTuple):
    """Key by which files are grouped: one scan reads the files of one group."""

    columns: tuple[str | None, ...] | None
    converted: tuple[int, ...]
    is_acid: bool
    hides_rows: bool
    hit: Hit


def _groups(plan: ReadPlan, raw_hits: Mapping[ListedFile, Hit]) -> dict[_Group, list[DataFile]]:
    partitions = {delete.partition for delete in plan.deletes}
    groups: dict[_Group, list[DataFile]] = {}
    for file in plan.data:
        if file.is_acid:
            hit = Hit.ANY if file.partition in partitions else Hit.NONE
        else:
            hit = raw_hits.get(file.file, Hit.NONE)
        key = _Group(file.columns, file.converted, file.is_acid, file.hides_rows, hit)
        groups.setdefault(key, []).append(file)
    return groups


def _union(frames: Sequence[DataFrame]) -> DataFrame:
    return reduce(DataFrame.union, frames)


def _visible(frame: DataFrame, hides_rows: bool, write_ids: ValidWriteIdList) -> DataFrame:
    """Filter out the rows of write ids that are not valid."""
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
    """Read files with ACID columns. The i-th field of `row` is the table's i-th column."""
    fields = own_fields(files[0].columns, columns.data)
    row = StructType([field for field in fields if field is not None])
    several_partitions = len({file.partition for file in files}) > 1
    listed, calendar = [file.file for file in files], orc_calendar(plan.pinned.gregorian)
    frame, by_path = acid_scan(spark, listed, row, several_partitions, calendar)
    frame = _visible(frame, hides_rows, plan.pinned.write_ids)
    number = partition_number(by_path, files)
    held_back = any(field.name.lower() == "row" for field in row)
    present = [None if field is None else _row_field(field.name, held_back) for field in fields]
    data = orc_columns(columns, present, orc_clock(spark, columns.data), files[0].converted)
    key = [*row_id_columns(files), (PARTITION, number)] if keyed else []
    return project(frame, [*data, *_parts(plan, columns, number), *key])


def row_id_columns(files: Iterable[DataFile | DeleteFile]) -> list[ColumnExpr]:
    """Return the row id without the partition, from the ACID columns of a scan of these files.

    A part that has one value in all rows by the files' statistics is a literal: Spark does not
    decode it, nor compare it for each row. The other parts are plain columns, on which Spark would
    push down filters: see `deletes.never_null`.
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
    """Return a user's column. With `held_back`, Spark pushes down no predicate on the column.

    If the file has a user's column `row`, ORC would resolve the `row.x` of a pushed predicate
    inside this column.
    """
    field = named("row", name)
    if not held_back:
        return field
    return F.when(F.coalesce("operation", "bucket").isNotNull(), as_column(field))


def _parts(plan: ReadPlan, columns: TableColumns, number: Column) -> list[ColumnExpr]:
    return partition_values(number, plan.pinned.partitions, columns)


def _without_deleted(spark: SparkSession, plan: ReadPlan, rows: DataFrame) -> DataFrame:
    bitmaps = _bitmaps(spark, plan)
    if bitmaps is None or not are_few(bitmaps):
        return without_masks(rows, _masks(spark, plan), plan.delete_events)
    partitions = len({delete.partition for delete in plan.deletes})
    return without_bitmaps(spark, rows, bitmaps, in_one_partition=partitions == 1)


def _bitmaps(spark: SparkSession, plan: ReadPlan) -> tuple[Bitmap, ...] | None:
    hits_raw_files = bool(hit_files(plan.data, plan.deletes))
    return plan.deleted_rows.bitmaps(plan.deletes, lambda: _masks(spark, plan), hits_raw_files)


def _masks(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    return delete_masks(_delete_events(spark, plan), one_task_reads(plan.deletes))


def _delete_events(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """Return the row ids of the delete events that the snapshot shows."""
    frames = []
    for hides_rows in sorted({delete.hides_rows for delete in plan.deletes}):
        files = [delete for delete in plan.deletes if delete.hides_rows == hides_rows]
        frame, by_path = acid_scan(spark, [file.file for file in files], StructType())
        frame = _visible(frame, hides_rows, plan.pinned.write_ids)
        number = partition_number(by_path, files)
        frames.append(project(frame, [*row_id_columns(files), (PARTITION, number)]))
    return _union(frames)
