"""From the snapshots of an insert-only table's locations to the files of a read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from hiveacid.acid.layout import BaseDir, DeltaDir, ListedFile, parse_directory
from hiveacid.acid.selection import SelectedDir, Skipped, is_compacted
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor, TableName, partition_name
from hiveacid.reader.columns import TableColumns, orc_columns, partition_values, raw_column
from hiveacid.reader.deletes import WRITE_ID
from hiveacid.reader.file_headers import FileHeader, check_codecs, file_headers
from hiveacid.reader.formats.avro import (
    AVRO_OPTIONS,
    avro_columns,
    avro_schema,
    check_avro,
    check_avro_module,
)
from hiveacid.reader.formats.json import json_columns, with_members
from hiveacid.reader.formats.parquet import parquet_columns
from hiveacid.reader.formats.text import (
    TEXT_INPUT_FORMAT,
    TextFormat,
    header_lines,
    in_utf8,
    text_columns,
    text_format,
    without_header,
)
from hiveacid.reader.locations import (
    Location,
    check_depth,
    missing,
    paths_to_be_lost,
    refusal,
    skipped_entries,
)
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.reader.partition_columns import (
    as_in_table,
    parquet_partition_columns,
    partition_columns,
)
from hiveacid.reader.partition_lookup import number_by_path, numbers_column, partition_number
from hiveacid.reader.plan import DataFile, ReadPlan, converted_columns
from hiveacid.reader.projection import ColumnExpr, project
from hiveacid.reader.properties import file_properties, not_read_yet, refuse_others
from hiveacid.reader.scan import FILE_PATH, scan
from hiveacid.reader.stored_types import StoredTypes, stored_types
from hiveacid.reader.timestamps import WriterTimes, orc_clock, writer_times
from hiveacid.snapshots.tables import PinnedTable


def plan_insert_only(
    pinned: PinnedTable,
    places: Sequence[Location],
    footers: Mapping[ListedFile, OrcFooter],
) -> ReadPlan:
    """Plan the read of an insert-only table. `footers` may lack files that are not ORC.

    Raises:
        UnreadableTableError: a delete delta in an insert-only table, or a directory that mixes
            write ids to be seen with others, whose rows cannot be told apart, or original files,
            which Hive shows or not, as one of its settings says.
    """
    data: list[DataFile] = []
    skipped: list[Skipped] = []
    to_be_lost: list[str] = []
    for place in places:
        if place.state.delete_deltas:
            name = place.state.delete_deltas[0].directory.name
            raise refusal(
                pinned, f"{place.listing.location}/{name} is a delete delta in an insert-only table"
            )
        check_depth(pinned, place, is_insert_only=True)
        if place.state.originals:
            raise UnreadableTableError(
                f"{pinned.table.name} cannot be read: {place.state.originals[0].path} is in no "
                "base and no delta. In an insert-only table Hive passes over such files, unless "
                "its setting hive.mm.allow.originals is true. Move them away, or into the table "
                "with LOAD DATA, and run again."
            )
        files: list[ListedFile] = []
        for directory in place.state.of_rows:
            _check_whole(pinned, place, directory)
            files.extend(directory.files)
        for file in files:
            footer = footers.get(file)
            columns = footer.columns if footer else None
            converted = converted_columns(pinned, file, footer) if footer else ()
            data.append(
                DataFile(
                    file,
                    place.partition,
                    columns,
                    is_acid=False,
                    converted=converted,
                    nanoseconds=footer.nanoseconds if footer else (),
                )
            )
        skipped.extend(skipped_entries(place))
        to_be_lost.extend(paths_to_be_lost(place))
    return ReadPlan(pinned, tuple(data), (), tuple(skipped), tuple(to_be_lost), missing(places))


def _check_whole(pinned: PinnedTable, place: Location, directory: SelectedDir) -> None:
    """A compaction leaves out what was aborted, but never what is still open.

    One that the snapshot may see began when all its write ids had ended. If they go on above the
    high-water mark, that has gone back since (docs/hive-quirks.md). The base of an overwrite or a
    truncate holds what that wrote and nothing else.
    """
    low, high = directory.write_id_range
    if isinstance(directory.directory, BaseDir) and not is_compacted(
        place.listing, directory.directory
    ):
        low = high
    open_ids = sorted(i for i in pinned.write_ids.open if low <= i <= high)
    is_above = high > pinned.write_ids.high_watermark
    if open_ids or (is_above and not directory.directory.visibility_txn):
        raise refusal(
            pinned,
            f"{place.listing.location}/{directory.directory.name} holds rows of write ids that "
            f"this snapshot must not show (open: {open_ids}, high-water mark "
            f"{pinned.write_ids.high_watermark}), and insert-only rows carry no write id",
        )


_FORMATS = {
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat": "orc",
    "org.apache.hadoop.hive.ql.io.parquet.MapredParquetInputFormat": "parquet",
    "org.apache.hadoop.hive.ql.io.avro.AvroContainerInputFormat": "avro",
}

_LINES = {
    "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe": "text",
    "org.apache.hadoop.hive.serde2.JsonSerDe": "json",
}
"""The formats of `TextInputFormat` by serde."""

_HARMLESS = {
    # By position instead of by name.
    "parquet": [("parquet.column.index.access", "false")],
    "json": [
        ("skip.header.line.count", "0"),
        ("skip.footer.line.count", "0"),
        ("json.binary.format", "base64"),
        ("timestamp.formats", ""),
        ("text.null.empty.line", "false"),
    ],
}
"""Properties that change what Hive shows, with the values that do not; for text: `text_format`."""

_BY_PARTITION = {
    "text": partition_columns,
    "json": partition_columns,
    "parquet": parquet_partition_columns,
}
"""The formats that Hive reads with columns of the partition, which may be older."""


def file_format(table: TableName, storage: StorageDescriptor) -> str:
    """The format of a table's or partition's files: `orc`, `parquet`, `avro`, `text` or `json`.

    Raises:
        UnreadableTableError: it is another one.
    """
    if storage.input_format == TEXT_INPUT_FORMAT:
        format = _LINES.get(storage.serde or "")
    else:
        format = _FORMATS.get(storage.input_format or "")
    if format is None:
        raise UnreadableTableError(
            f"{table} is stored as {storage.input_format} with {storage.serde}, which cannot be "
            "read yet. Insert-only tables can be ORC, Parquet, Avro, JSON or delimited text."
        )
    return format


@dataclass(frozen=True)
class _Layout:
    """What files must have in common to be read by one scan.

    `own` are the columns that the files are read with: the partition's in some formats. `stored`
    are those of them that are converted from other types.
    """

    format: str
    text: TextFormat | None
    names: tuple[str, ...] | None
    converted: tuple[int, ...]
    own: TableColumns
    times: WriterTimes | None
    stored: StoredTypes = ()


def insert_only_rows(
    spark: SparkSession, plan: ReadPlan, columns: TableColumns, write_ids: bool = False
) -> DataFrame | None:
    """The rows of the planned files with the table's columns; None if there is no file.

    With `write_ids`, the column `deletes.WRITE_ID` follows: the highest write id that the row's
    directory stands for, 0 for original files.

    Raises:
        UnreadableTableError: a format or a column that cannot be read.
    """
    rows: DataFrame | None = None
    for layout, files in _groups(spark, plan, columns).items():
        schema, options, data = _data_columns(spark, layout)
        listed = [file.file for file in files]
        format = "text" if layout.format == "json" else layout.format
        frame, by_path = scan(spark, format, listed, schema, options)
        if layout.format == "json":
            frame = with_members(frame, layout.own)
        if layout.text is not None:
            frame = in_utf8(without_header(frame, layout.text.header), columns.table)
        number = partition_number(by_path, files)
        parts = partition_values(number, plan.pinned.partitions, columns)
        writer = [(WRITE_ID, _write_id(by_path))] if write_ids else []
        own = as_in_table(data, layout.own, columns, _partition_of(files[0], plan, columns))
        selected = project(frame, [*own, *parts, *writer])
        rows = selected if rows is None else rows.union(selected)
    return rows


def _partition_of(file: DataFile, plan: ReadPlan, columns: TableColumns) -> str:
    """The name of a file's partition; empty in a table without any."""
    if not plan.pinned.partitions:
        return ""
    return partition_name(columns.partition.names, plan.pinned.partitions[file.partition].values)


def _write_id(by_path: Mapping[str, ListedFile]) -> Column:
    """The write id of the directory that a row of a scan is in, from the scan's `FILE_PATH`."""
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


def _groups(
    spark: SparkSession, plan: ReadPlan, columns: TableColumns
) -> dict[_Layout, list[DataFile]]:
    table = plan.pinned.table
    places = plan.pinned.storages
    formats = [file_format(table.name, storage) for storage in places]
    times: dict[ListedFile, WriterTimes | None] = {}
    headers: dict[ListedFile, FileHeader] = {}
    for format in sorted({"parquet", "avro"}.intersection(formats)):
        files = [file.file for file in plan.data if formats[file.partition] == format]
        if format == "avro":
            check_avro_module(spark, table.name)
        found = file_headers(spark, format, files)
        times.update(writer_times(spark, format, found, columns.data))
        headers.update(found)
    for storage, format in zip(places, formats, strict=True):
        if format == "avro":
            check_avro(table, storage)
        if format in _HARMLESS:
            properties = file_properties(table, storage)
            refuse_others(table.name, format, properties, _HARMLESS[format])
    others = sorted(set(_FORMATS.values()).intersection(formats))
    if others and (skipped := header_lines(table)):
        # Hive leaves out as many rows of each of their files.
        name = "skip.header.line.count"
        raise not_read_yet(table.name, f"a partition in {others[0]}", name, str(skipped))
    lines = [file.file for file in plan.data if formats[file.partition] in ("text", "json")]
    check_codecs(spark, lines)
    case_sensitive = spark.conf.get("spark.sql.caseSensitive") == "true"

    @cache
    def of_partition(number: int) -> tuple[str, TextFormat | None, TableColumns]:
        format, storage = formats[number], places[number]
        text = text_format(table, storage) if format == "text" else None
        own = columns
        if format in _BY_PARTITION and storage.columns != table.storage.columns:
            own = _BY_PARTITION[format](columns, storage)
        return format, text, own

    groups: dict[_Layout, list[DataFile]] = {}
    for file in plan.data:
        format, text, own = of_partition(file.partition)
        header = headers.get(file.file)
        stored: StoredTypes = ()
        if header is not None:
            stored = stored_types(own, format, file.file, header.columns, case_sensitive)
        layout = _Layout(
            format, text, file.columns, file.converted, own, times.get(file.file), stored
        )
        groups.setdefault(layout, []).append(file)
    return groups


def _data_columns(
    spark: SparkSession, layout: _Layout
) -> tuple[StructType | str, Mapping[str, str], list[ColumnExpr]]:
    """The schema and options to scan with, and the columns `layout.own` from the scan.

    ORC goes by position, as in `full_acid`; text by the place in the line; the others by name.
    """
    columns = layout.own
    if layout.format == "json":
        return "value string", {}, json_columns(columns)
    if layout.format == "avro":
        shown = avro_columns(spark, columns, layout.times, layout.stored)
        return avro_schema(columns, layout.stored), AVRO_OPTIONS, shown
    if layout.text is not None:
        return "value string", {}, text_columns(columns, layout.text)
    if layout.format == "parquet":
        return parquet_columns(spark, columns, layout.times, layout.stored)
    present = list(zip(layout.names or (), columns.data.fields, strict=False))
    schema = StructType([StructField(name, field.dataType) for name, field in present])
    data = [raw_column(field) for field in schema]
    return schema, {}, orc_columns(columns, data, orc_clock(spark, columns.data), layout.converted)
