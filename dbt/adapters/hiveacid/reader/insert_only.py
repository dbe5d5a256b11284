"""The rows of an insert-only table: plain files of the valid deltas, in the table's own format."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import StorageDescriptor, TableName
from dbt.adapters.hiveacid.reader.columns import TableColumns, orc_columns, partition_values, quoted
from dbt.adapters.hiveacid.reader.file_index import lookup
from dbt.adapters.hiveacid.reader.plan import DataFile, ReadPlan, storages
from dbt.adapters.hiveacid.reader.scan import FILE_PATH, scan
from dbt.adapters.hiveacid.reader.text import TextFormat, text_columns, text_format
from dbt.adapters.hiveacid.reader.timestamps import WallClock

_FORMATS = {
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat": "orc",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": "parquet",
    "org.apache.hadoop.mapred.TextInputFormat": "text",
}
_TEXT_SERDE = "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe"


def file_format(table: TableName, storage: StorageDescriptor) -> str:
    """The format of a table's or partition's files: `orc`, `parquet` or `text`.

    Raises:
        UnreadableTableError: it is another one.
    """
    format = _FORMATS.get(storage.input_format or "")
    if format is None or (format == "text" and storage.serde != _TEXT_SERDE):
        raise UnreadableTableError(
            f"{table} is stored as {storage.input_format} with {storage.serde}, which cannot be "
            "read yet. Insert-only tables can be ORC, Parquet or delimited text."
        )
    return format


@dataclass(frozen=True)
class _Layout:
    """What files must have in common to be read by one scan."""

    format: str
    text: TextFormat | None
    names: tuple[str, ...] | None
    cut: tuple[int, ...]


def insert_only_rows(
    spark: SparkSession, plan: ReadPlan, columns: TableColumns
) -> DataFrame | None:
    """The rows of the planned files with the table's columns; None if there is no file.

    Raises:
        UnreadableTableError: a format or a column that cannot be read.
    """
    table = plan.pinned.table
    places = storages(plan.pinned)
    groups: dict[_Layout, list[DataFile]] = {}
    for file in plan.data:
        storage = places[file.partition]
        format = file_format(table.name, storage)
        delimited = text_format(table, storage) if format == "text" else None
        groups.setdefault(_Layout(format, delimited, file.columns, file.cut), []).append(file)

    rows: DataFrame | None = None
    for layout, files in groups.items():
        schema, data = _data_columns(spark, columns, layout)
        frame, by_path = scan(spark, layout.format, [file.file for file in files], schema)
        partitions = {file.file: file.partition for file in files}
        number = lookup(F.col(FILE_PATH), {u: partitions[f] for u, f in by_path.items()})
        parts = partition_values(number, plan.pinned.partitions, columns)
        selected = frame.select(*data, *parts)
        rows = selected if rows is None else rows.union(selected)
    return rows


def _data_columns(
    spark: SparkSession, columns: TableColumns, layout: _Layout
) -> tuple[StructType | str, list[Column]]:
    """The schema to scan with, and the table's columns from it.

    ORC goes by position, as in `full_acid`; Parquet by name; text by the place in the line.
    """
    fields = columns.data.fields
    if layout.text is not None:
        return "value string", text_columns(columns.table, columns.data, layout.text)
    if layout.names is None:
        return columns.data, [F.col(quoted(field.name)) for field in fields]
    present = list(zip(layout.names, fields, strict=False))
    schema = StructType([StructField(name, field.dataType) for name, field in present])
    data = [F.col(quoted(name)) for name, _ in present]
    return schema, orc_columns(columns, data, WallClock.of(spark), layout.cut)
