"""The reader's two steps: plan what to read, then describe it to Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.acid.traces import without_directory
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import StorageDescriptor, Table
from dbt.adapters.hiveacid.reader.acid_version import check_acid_versions
from dbt.adapters.hiveacid.reader.columns import TableColumns, table_columns
from dbt.adapters.hiveacid.reader.full_acid import full_acid_rows
from dbt.adapters.hiveacid.reader.full_acid_plan import plan_full_acid
from dbt.adapters.hiveacid.reader.hadoop import list_locations
from dbt.adapters.hiveacid.reader.insert_only import file_format, insert_only_rows
from dbt.adapters.hiveacid.reader.insert_only_plan import plan_insert_only
from dbt.adapters.hiveacid.reader.locations import Location, locations
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooters
from dbt.adapters.hiveacid.reader.plan import ReadPlan
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable


def plan_read(spark: SparkSession, pinned: PinnedTable, footers: OrcFooters) -> ReadPlan:
    """List the table's locations and choose the files of the snapshot. Runs no Spark job.

    Raises:
        UnreadableTableError: the table cannot be read exactly; the message says why.
    """
    check_readable(pinned.table)
    listings = list_locations(spark, [storage.location for storage in pinned.storages])
    return plan_places(spark, pinned, locations(pinned, listings), footers)


def check_readable(table: Table) -> None:
    """Refuse tables whose rows are not in ACID files that can be read.

    Raises:
        UnreadableTableError: the message says why.
    """
    if table.table_type not in ("MANAGED_TABLE", "EXTERNAL_TABLE"):
        raise UnreadableTableError(
            f"{table.name} is a {table.table_type}, whose rows are not in its own files. Name the "
            "tables behind it as sources instead."
        )
    handler = table.parameters.get("storage_handler")
    if handler:
        raise UnreadableTableError(
            f"{table.name} is kept by the storage handler {handler}, whose rows are not in Hive's "
            "ACID files. Read it with Spark's connector for that storage."
        )
    if table.is_full_acid:
        _check_orc(table, table.storage)


def _check_orc(table: Table, storage: StorageDescriptor) -> None:
    if file_format(table.name, storage) == "orc":
        return
    what = str(table.name)
    if storage is not table.storage:
        what += f" has a partition in {storage.location} that"
    raise UnreadableTableError(
        f"{what} is full ACID but not stored as ORC ({storage.input_format}). "
        "Let Hive copy it to a table stored as ORC, and read that one."
    )


def plan_places(
    spark: SparkSession,
    pinned: PinnedTable,
    places: Sequence[Location],
    footers: OrcFooters,
    row_ids: bool = False,
) -> ReadPlan:
    """Plan the read of some of the table's locations, or of parts of them.

    With `row_ids`, raw files of a full-ACID table get their row ids, deleted from or not.

    Raises:
        UnreadableTableError: the files cannot be read exactly; the message says why.
    """
    table = pinned.table
    if table.is_full_acid:
        for place in places:
            _check_orc(table, place.storage)
    orc = [file for place in places if _is_orc(pinned, place) for file in place.orc_files()]
    known = footers.read(spark, orc)
    check_acid_versions(spark, table.name, known)
    if table.is_full_acid:
        return plan_full_acid(pinned, places, known, row_ids)
    return plan_insert_only(pinned, places, known)


def write_ids_without_directory(
    spark: SparkSession, pinned: PinnedTable, write_ids: frozenset[int]
) -> frozenset[int]:
    """Which of some committed write ids of a table left nothing on disk (`acid.traces`).

    Raises:
        UnreadableTableError: a location cannot be listed.
    """
    listings = list_locations(spark, [storage.location for storage in pinned.storages])
    return without_directory(write_ids, listings)


def _is_orc(pinned: PinnedTable, place: Location) -> bool:
    return file_format(pinned.table.name, place.storage) == "orc"


def to_dataframe(spark: SparkSession, plan: ReadPlan) -> DataFrame:
    """The table's rows in the plan's snapshot, lazily, with the table's columns in order.

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
    """A DataFrame with the table's columns and no row."""
    fields = [*columns.data.fields, *columns.partition.fields]
    nulls = [F.lit(None).cast(field.dataType).alias(field.name) for field in fields]
    return spark.range(0).select(*nulls)
