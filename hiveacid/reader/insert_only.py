"""Insert-only tables: the files of a snapshot, in any format, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.layout import BaseDir, DeltaDir, ListedFile, parse_directory
from hiveacid.acid.selection import SelectedDir, is_compacted
from hiveacid.metastore.models import partition_name
from hiveacid.reader.columns import TableColumns, partition_values
from hiveacid.reader.deletes import WRITE_ID
from hiveacid.reader.formats import file_format
from hiveacid.reader.formats.base import FileFormat, TableRead
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_columns import converted_columns, in_table_order
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.reader.partition_columns import as_in_table
from hiveacid.reader.partition_lookup import number_by_path, numbers_column, partition_number
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.projection import ColumnExpr, as_column, project
from hiveacid.reader.scan import FILE_PATH
from hiveacid.snapshots.tables import PinnedTable


def plan_insert_only(
    pinned: PinnedTable,
    locations: Sequence[Location],
    footers: Mapping[ListedFile, OrcFooter],
) -> ReadPlan:
    """Plan the read of an insert-only table. `footers` may lack files that are not ORC.

    Raises:
        UnreadableTableError: the table has a delete delta, or a directory with rows of visible and
            invisible write ids, which cannot be distinguished.
    """
    data: list[DataFile] = []
    for location in locations:
        if location.state.delete_deltas:
            name = location.state.delete_deltas[0].directory.name
            raise pinned.refusal(
                f"{location.path}/{name} is a delete delta in an insert-only table"
            )
        location.check_depth(pinned)
        files: list[ListedFile] = list(location.state.originals)
        for directory in location.state.of_rows:
            _check_whole(pinned, location, directory)
            files.extend(directory.files)
        for file in files:
            footer = footers.get(file)
            footer = footer and in_table_order(pinned, file, footer)
            columns = footer.columns if footer else None
            converted = converted_columns(pinned, file, footer) if footer else ()
            data.append(
                DataFile(
                    file,
                    location.partition,
                    columns,
                    is_acid=False,
                    converted=converted,
                    nanoseconds=footer.nanoseconds if footer else (),
                )
            )
    return ReadPlan.of_locations(pinned, locations, data)


def _check_whole(pinned: PinnedTable, location: Location, directory: SelectedDir) -> None:
    """Refuse a directory with rows that the snapshot must not show.

    A compaction leaves out aborted write ids, but never open ones. A compaction that the snapshot
    may see began when all its write ids were committed or aborted. If it has write ids above the
    high-water mark, the mark has gone back since (docs/hive-quirks.md). The base of an overwrite or
    a truncate holds only the rows of its own write id.
    """
    low, high = directory.write_id_range
    if isinstance(directory.directory, BaseDir) and not is_compacted(
        location.listing, directory.directory
    ):
        low = high
    open_ids = sorted(i for i in pinned.write_ids.open if low <= i <= high)
    is_above = high > pinned.write_ids.high_watermark
    if open_ids or (is_above and not directory.directory.visibility_txn):
        raise pinned.refusal(
            f"{location.path}/{directory.directory.name} holds rows of write ids that "
            f"this snapshot must not show (open: {open_ids}, high-water mark "
            f"{pinned.write_ids.high_watermark}), and insert-only rows carry no write id"
        )


def insert_only_rows(
    spark: SparkSession, plan: ReadPlan, columns: TableColumns, write_ids: bool = False
) -> DataFrame | None:
    """Return the rows of the planned files with the table's columns; None without files.

    With `write_ids`, the column `deletes.WRITE_ID` follows: the highest write id in the name of the
    row's directory, 0 for original files.

    Raises:
        UnreadableTableError: a format or a column cannot be read.
    """
    pinned = plan.pinned
    read = TableRead(
        spark,
        pinned.table,
        pinned.storages,
        columns,
        pinned.gregorian,
        {"parquet": pinned.parquet_time_zone, "avro": pinned.avro_time_zone},
        pinned.is_hive_3,
    )
    rows: list[DataFrame] = []
    for format, planned in _by_format(read, plan.data).items():
        for layout, files in format.layouts(read, planned).items():
            scanned = format.scan(read, layout, files)
            number = partition_number(scanned.by_path, files)
            parts = partition_values(number, plan.pinned.partitions, columns)
            writer = [(WRITE_ID, _write_id(scanned.by_path))] if write_ids else []
            partition = _partition_of(files[0], plan, columns)
            own = as_in_table(scanned.columns, layout.columns, columns, partition)
            own = _as_shown(own, columns)
            rows.append(project(scanned.frame, [*own, *parts, *writer]))
    return reduce(DataFrame.union, rows) if rows else None


def _as_shown(data: Sequence[ColumnExpr], columns: TableColumns) -> list[ColumnExpr]:
    """Give struct fields the names that Hive shows; files are read by the metastore's names."""
    return [
        (name, value if shown == field else as_column(value).cast(shown.dataType))
        for (name, value), field, shown in zip(data, columns.data, columns.shown, strict=True)
    ]


def _by_format(read: TableRead, data: Iterable[DataFile]) -> dict[FileFormat[Any], list[DataFile]]:
    """Check the storage of each partition, and return the planned files of each format."""
    formats = [file_format(read.table.name, storage) for storage in read.storages]
    for format in dict.fromkeys(formats):
        format.check_spark(read)
    for format, storage in zip(formats, read.storages, strict=True):
        format.check(read, storage)
    files: dict[FileFormat[Any], list[DataFile]] = {}
    for file in data:
        files.setdefault(formats[file.partition], []).append(file)
    return files


def _partition_of(file: DataFile, plan: ReadPlan, columns: TableColumns) -> str:
    """Return the name of a file's partition; empty in an unpartitioned table."""
    if not plan.pinned.partitions:
        return ""
    return partition_name(columns.partition.names, plan.pinned.partitions[file.partition].values)


def _write_id(by_path: Mapping[str, ListedFile]) -> Column:
    """Return the write id of the directory that a row is in, from the scan's `FILE_PATH`."""
    of_path = {}
    for path, file in by_path.items():
        directory = parse_directory(file.relative.partition("/")[0])
        if isinstance(directory, DeltaDir):
            of_path[path] = directory.max_write_id
        else:
            of_path[path] = max(directory.write_id, 0) if directory else 0
    known = sorted(set(of_path.values()))
    numbers = {path: known.index(write_id) for path, write_id in of_path.items()}
    return F.get(numbers_column(known, "bigint"), number_by_path(F.col(FILE_PATH), numbers))
