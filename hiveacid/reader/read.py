"""Reading of a pinned table: its plan, its checks and its rows as a DataFrame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.acid.layout import ListedFile, Listing, without_directory
from hiveacid.acid.time_travel import compacted_part, write_ids_left_out
from hiveacid.acid.write_ids import WriteIdRanges
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.filesystem import list_locations
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.reader.acid_versions import check_versions
from hiveacid.reader.columns import TableColumns, table_columns
from hiveacid.reader.formats import ORC, file_format
from hiveacid.reader.full_acid import full_acid_rows, plan_full_acid
from hiveacid.reader.insert_only import insert_only_rows, plan_insert_only
from hiveacid.reader.locations import Location, locations
from hiveacid.reader.open_files import replace_open_files
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import ReadPlan
from hiveacid.snapshots.tables import PinnedTable


def plan_read(spark: SparkSession, pinned: PinnedTable, footers: OrcFooters) -> ReadPlan:
    """List the table's locations and choose the files of the snapshot.

    Runs a Spark job only for files whose footers do not show whether Hive 2 wrote them
    (`check_versions`).

    Raises:
        UnreadableTableError: the table cannot be read exactly; the message says why.
    """
    check_readable(pinned.table)
    listings = list_locations(spark, [storage.location for storage in pinned.storages])
    return plan_listed(spark, pinned, listings, footers)


def plan_listed(
    spark: SparkSession,
    pinned: PinnedTable,
    listings: Sequence[Listing],
    footers: OrcFooters,
    row_ids: bool = False,
) -> ReadPlan:
    """Choose the files of the snapshot from listings of the table's locations.

    For `row_ids` see `plan_locations`.

    Raises:
        UnreadableTableError: the table cannot be read exactly; the message says why.
    """
    check_readable(pinned.table)
    found = replace_open_files(spark, pinned, locations(pinned, listings))
    return plan_locations(spark, pinned, found, footers, row_ids)


def rows_with_ids(
    spark: SparkSession, pinned: PinnedTable, footers: OrcFooters
) -> DataFrame | None:
    """Return the rows of a full-ACID table with the columns of their row ids (`ROW_ID`).

    None for a table without files.

    Raises:
        UnreadableTableError: the table cannot be read exactly; the message says why.
    """
    check_readable(pinned.table)
    listings = list_locations(spark, [storage.location for storage in pinned.storages])
    plan = plan_listed(spark, pinned, listings, footers, row_ids=True)
    return full_acid_rows(spark, plan, table_columns(pinned.table), row_ids=True)


def plan_optimized(
    spark: SparkSession, pinned: PinnedTable, listings: Sequence[Listing], footers: OrcFooters
) -> tuple[ReadPlan, WriteIdRanges]:
    """Choose the bases and compacted deltas of the snapshot, without deltas of single writes.

    Returns:
        The plan, and the valid write ids of the directories that the plan skips.

    Raises:
        UnreadableTableError: the table cannot be read exactly; the message says why.
    """
    check_readable(pinned.table)
    whole = replace_open_files(spark, pinned, locations(pinned, listings))
    parts = [replace(location, state=compacted_part(location.state)) for location in whole]
    left = WriteIdRanges.of(
        piece
        for location, part in zip(whole, parts, strict=True)
        for piece in write_ids_left_out(location.state, part.state).ranges
    )
    valid = left.within(1, pinned.write_ids.high_watermark)
    behind = valid.without(WriteIdRanges.of_ids(pinned.write_ids.invalid))
    return plan_locations(spark, pinned, parts, footers), behind


def check_readable(table: Table) -> None:
    """Refuse tables whose rows are not in ACID files that can be read.

    Raises:
        UnreadableTableError: the message says why.
    """
    if table.table_type not in ("MANAGED_TABLE", "EXTERNAL_TABLE", "MATERIALIZED_VIEW"):
        raise UnreadableTableError(
            f"{table.name} is a {table.table_type}, whose rows are not in its own files. Name the "
            "tables behind it as sources instead.",
            code="HIVEACID_NOT_A_TABLE",
        )
    handler = table.parameters.get("storage_handler")
    if handler:
        raise UnreadableTableError(
            f"{table.name} is kept by the storage handler {handler}, whose rows are not in Hive's "
            "ACID files. Read it with Spark's connector for that storage.",
            code="HIVEACID_UNSUPPORTED_STORAGE_HANDLER",
        )
    if table.is_full_acid:
        _check_orc(table, table.storage)


def _check_orc(table: Table, storage: StorageDescriptor) -> None:
    if file_format(table.name, storage) is ORC:
        return
    what = str(table.name)
    if storage is not table.storage:
        what += f" has a partition in {storage.location} that"
    raise UnreadableTableError(
        f"{what} is full ACID but not stored as ORC ({storage.input_format}). "
        "Let Hive copy it to a table stored as ORC, and read the copy.",
        code="HIVEACID_NOT_STORED_AS_ORC",
    )


def plan_locations(
    spark: SparkSession,
    pinned: PinnedTable,
    locations: Sequence[Location],
    footers: OrcFooters,
    row_ids: bool = False,
) -> ReadPlan:
    """Plan the read of some locations of the table, or of parts of them.

    The locations must have no open files (`replace_open_files`). With `row_ids`, all raw files of a
    full-ACID table get their row ids, also files without deleted rows.

    Raises:
        UnreadableTableError: the files cannot be read exactly; the message says why.
    """
    table = pinned.table
    assert not any(location.state.open_files for location in locations)
    if table.is_full_acid:
        for location in locations:
            _check_orc(table, location.storage)
    orc = [
        file for location in locations if _is_orc(pinned, location) for file in location.orc_files()
    ]
    known = footers.read(spark, orc)
    if table.is_full_acid:
        check_versions(spark, table.name, locations, known, footers)
        return plan_full_acid(pinned, locations, known, row_ids)
    return plan_insert_only(pinned, locations, known)


def write_ids_without_directory(
    spark: SparkSession, pinned: PinnedTable, write_ids: frozenset[int]
) -> frozenset[int]:
    """Return the write ids, of the given committed ones, that no directory holds.

    Raises:
        UnreadableTableError: a location cannot be listed.
    """
    listings = list_locations(spark, [storage.location for storage in pinned.storages])
    return without_directory(write_ids, listings)


def _is_orc(pinned: PinnedTable, location: Location) -> bool:
    return file_format(pinned.table.name, location.storage) is ORC


def to_dataframe(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """Return the rows of the plan's snapshot with the table's columns, as a lazy DataFrame.

    Raises:
        UnreadableTableError: a column's type or a file's format cannot be read, or the files have
            changed since the plan was made.
    """
    table = plan.pinned.table
    columns = table_columns(table)
    rows = full_acid_rows if table.is_full_acid else insert_only_rows
    frame = rows(spark, plan, columns)
    return no_rows(spark, columns) if frame is None else frame


def no_rows(spark: SparkSession, columns: TableColumns) -> DataFrame:
    """Return an empty DataFrame with the table's columns."""
    fields = [*columns.shown.fields, *columns.partition.fields]
    nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in fields]
    return spark.range(0).select(*nulls)


def has_rows(
    spark: SparkSession,
    table: TableName,
    storage: StorageDescriptor,
    files: Sequence[ListedFile],
    footers: OrcFooters,
) -> bool:
    """Return whether any of the files of one location has a row. None has a length of 0.

    Hive leaves Parquet and Avro files without rows where it inserts nothing.

    Raises:
        UnreadableTableError: a file is missing, or has another format than the table.
    """
    return file_format(table, storage).has_rows(spark, files, footers)
