"""Delimited text as Hive's `LazySimpleSerDe` reads it: lines, their cells and nested values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor, Table, TableName
from hiveacid.reader.columns import TableColumns
from hiveacid.reader.file_headers import check_codecs
from hiveacid.reader.formats.base import (
    FileFormat,
    Layout,
    ScannedFiles,
    TableRead,
    columns_of_partitions,
    group,
)
from hiveacid.reader.formats.text_values import text_value
from hiveacid.reader.partition_columns import partition_columns
from hiveacid.reader.plan import DataFile
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.properties import file_properties, header_lines, not_read_yet, refuse_others
from hiveacid.reader.scan import BLOCK_START, FILE_PATH, scan
from hiveacid.reader.types import UnionType, depth, spark_type

_DELIMITERS = (
    "field.delim",
    "serialization.format",
    "collection.delim",
    "mapkey.delim",
    "escape.delim",
)
READ_BY = frozenset(
    {
        *_DELIMITERS,
        "colelction.delim",
        "serialization.null.format",
        "serialization.last.column.takes.rest",
        "skip.header.line.count",
    }
)
"""Properties that change which values the same files show, and that are implemented here. Tables
with any other property of this kind are refused."""


@dataclass(frozen=True)
class LineFormat:
    """Division of a line into cells (`LazySerDeParameters`).

    `separators` has one separator for each nesting level, starting with the separator of columns.
    `header` is the number of header lines at the beginning of each file. `is_hive_3` is the pinned
    table's.
    """

    separators: tuple[str, ...]
    escape: str | None = None
    null: str = "\\N"
    last_takes_rest: bool = False
    header: int = 0
    is_hive_3: bool | None = False


@dataclass(frozen=True)
class TextLayout(Layout):
    """Layout of delimited text: the division of a line into cells."""

    lines: LineFormat


class Text(FileFormat[TextLayout]):
    """Delimited text."""

    name = "text"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse nothing yet: `line_format` refuses properties of partitions that have files."""

    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[TextLayout, list[DataFile]]:
        """Group files by the properties and the columns of their partitions."""
        check_codecs(read.spark, [file.file for file in files])
        own = columns_of_partitions(read, partition_columns)
        of_partition = {
            number: TextLayout(
                own(number), line_format(read.table, read.storages[number], read.is_hive_3)
            )
            for number in {file.partition for file in files}
        }
        return group((of_partition[file.partition], file) for file in files)

    def scan(self, read: TableRead, layout: TextLayout, files: Sequence[DataFile]) -> ScannedFiles:
        """Read lines, and columns by their position in the line."""
        frame, by_path = scan(read.spark, self.name, [f.file for f in files], "value string")
        frame = in_utf8(without_header(frame, layout.lines.header), read.columns.table)
        return ScannedFiles(frame, by_path, text_columns(layout.columns, layout.lines))


def line_format(
    table: Table, storage: StorageDescriptor, is_hive_3: bool | None = False
) -> LineFormat:
    """Return the format of a table's or partition's text files.

    Raises:
        UnreadableTableError: the table has a property that is not understood here.
    """
    properties = file_properties(table, storage)
    harmless = (
        ("skip.footer.line.count", "0"),
        ("serialization.encoding", "UTF-8"),
        ("line.delim", "\n"),
        ("serialization.escape.crlf", "false"),
        ("hive.lazysimple.extended_boolean_literal", "false"),
        ("hive.serialization.extend.nesting.levels", "false"),
        ("hive.serialization.extend.additional.nesting.levels", "false"),
        ("timestamp.formats", ""),
        # Only one of Hive's two text readers obeys it.
        ("hive.serialization.decode.binary.as.base64", "true"),
        # The spelling of Hive 2 and 3; Hive 4 ignores it.
        ("colelction.delim", properties.get("collection.delim", "\x02")),
    )
    refuse_others(table.name, "text", properties, harmless)
    for name in _DELIMITERS:
        # Hive splits bytes: a character of several bytes separates nothing, and one of its bytes
        # is not a character.
        if not (_byte(properties, name) or "").isascii():
            raise not_read_yet(table.name, "text", name, properties[name])
    rest = properties.get("serialization.last.column.takes.rest", "false")
    escape = None
    if "escape.delim" in properties:
        escape = _byte(properties, "escape.delim") or "\\"
    # An empty property, as after ESCAPED BY '', means the default. Instead of a missing property,
    # another one may count, or there is no escape.
    field = "field.delim" if "field.delim" in properties else "serialization.format"
    collection = "collection.delim" if "collection.delim" in properties else "colelction.delim"
    return LineFormat(
        separators=(
            _byte(properties, field) or "\x01",
            _byte(properties, collection) or "\x02",
            _byte(properties, "mapkey.delim") or "\x03",
            *"\x04\x05\x06\x07\x08",
        ),
        escape=escape,
        null=properties.get("serialization.null.format", "\\N"),
        last_takes_rest=rest.lower() == "true",
        header=header_lines(table),
        is_hive_3=is_hive_3,
    )


def _byte(properties: Mapping[str, str], name: str) -> str | None:
    """Return a one-byte property, given as a character or a number (Hive's `LazyUtils.getByte`)."""
    value = properties.get(name)
    if not value:
        return None
    if re.fullmatch(r"[+-]?\d+", value) and -128 <= int(value) <= 127:
        return chr(int(value) % 256)
    return value[0]


def text_columns(columns: TableColumns, format: LineFormat) -> list[ColumnExpr]:
    """Return the table's columns, made of the line in the column `value`.

    Raises:
        UnreadableTableError: a column has more nesting levels than there are separators.
    """
    count = len(columns.data.fields)
    cells = _split(F.col("value"), format.separators[0], format.escape)
    selected: list[ColumnExpr] = []
    for i, (field, hive_type) in enumerate(
        zip(columns.data.fields, columns.data_types, strict=True)
    ):
        data_type = spark_type(hive_type, with_lengths=True)
        # A map needs two separators: between its entries, and between key and value.
        if depth(data_type, of_map=2) > len(format.separators) - 1:
            raise UnreadableTableError(
                f"{columns.table}: column {field.name} ({hive_type}) is nested deeper than text "
                "has separators. Store the table as ORC or Parquet.",
                code="HIVEACID_COLUMN_NESTED_TOO_DEEP",
            )
        cell = _cell(cells, i, count, format, 0)
        selected.append((field.name, _value(cell, data_type, format, 1)))
    return selected


def _cell(cells: Column, i: int, count: int, format: LineFormat, level: int) -> Column:
    """Return the cell of field `i` of `count` of a line or a struct (`LazyStruct`)."""
    if not format.last_takes_rest or i < count - 1:
        return F.get(cells, F.lit(i))
    rest = F.slice(cells, i + 1, F.greatest(F.size(cells) - i, F.lit(0)))
    return F.when(F.size(cells) > i, F.array_join(rest, format.separators[level]))


def without_header(frame: DataFrame, lines: int) -> DataFrame:
    """Return the lines of scanned text files without the first lines of each file.

    Spark does not number lines. Within a split the lines come in file order, in which
    `monotonically_increasing_id` grows; splits are ordered by their first byte.
    """
    if lines == 0:
        return frame
    order, number = "__hiveacid_order", "__hiveacid_line"
    window = Window.partitionBy(FILE_PATH).orderBy(BLOCK_START, order)
    numbered = frame.withColumn(order, F.monotonically_increasing_id())
    return numbered.withColumn(number, F.row_number().over(window)).where(F.col(number) > lines)


def in_utf8(frame: DataFrame, table: TableName) -> DataFrame:
    """Return the lines of scanned text files; a line that is not UTF-8 raises an error in Spark.

    Hive splits the bytes of a line and keeps the bytes of a value. Spark splits characters, and
    replaces invalid bytes by U+FFFD, so that different values become equal. The error is raised
    when the line is read.
    """
    line = F.col("value")
    if hasattr(F, "is_valid_utf8"):
        is_valid = F.is_valid_utf8(line)
    else:
        # PySpark 3.5
        is_valid = line.cast("binary") == F.encode(line, "UTF-8")
    message = F.concat(
        F.lit(
            f"[HIVEACID_TEXT_NOT_UTF8] {table} has text that is not UTF-8. Correct the file, or "
            "let Hive copy the table to one stored as ORC. The line in hexadecimal: "
        ),
        F.hex(line),
    )
    return frame.withColumn("value", F.when(is_valid, line).otherwise(F.raise_error(message)))


def _split(text: Column, separator: str, escape: str | None) -> Column:
    """Split a text at separators; an escape keeps the character after it."""
    quoted = re.escape(separator)
    if escape is None or escape == separator:
        return F.split(text, quoted)
    mark = re.escape(escape)
    other = f"[^{_in_class(separator)}{_in_class(escape)}]"
    # With a separator in front, each part matches exactly once, even an empty part.
    part = f"(?s){quoted}({other}*+(?:{mark}(?:.|\\z){other}*+)*+)"
    return F.regexp_extract_all(F.concat(F.lit(separator), text), F.lit(part), 1)


def _in_class(character: str) -> str:
    """Escape a character for use inside a regular expression's brackets."""
    return "\\" + character if character in "\\]^-[&" else character


def _value(cell: Column, data_type: DataType, format: LineFormat, level: int) -> Column:
    """Return the value in a cell; `level` is the nesting level of the separators in the cell.

    NULL is possible on every level (`LazyArray`, `LazyMap`, `LazyStruct`).
    """
    if isinstance(data_type, UnionType):
        parsed = _union(cell, data_type, format, level)
    elif isinstance(data_type, ArrayType):
        parsed = _array(cell, data_type, format, level)
    elif isinstance(data_type, MapType):
        parsed = _map(cell, data_type, format, level)
    elif isinstance(data_type, StructType):
        parts = _split(cell, format.separators[level], format.escape)
        fields = data_type.fields
        cells = [_cell(parts, i, len(fields), format, level) for i in range(len(fields))]
        parsed = F.struct(
            *(
                _value(cell, field.dataType, format, level + 1).alias(field.name)
                for cell, field in zip(cells, fields, strict=True)
            )
        )
    else:
        parsed = text_value(cell, data_type, format.escape, format.is_hive_3)
    return F.when(cell != format.null, parsed)


def _union(cell: Column, data_type: UnionType, format: LineFormat, level: int) -> Column:
    """Return the tag and the members of a union; an error where Hive fails (`LazyUnion`).

    The text before the first separator is the tag, and the rest is the value.
    """
    separator = F.lit(format.separators[level])
    before = F.instr(cell, format.separators[level]) - F.lit(1)
    tag = cell.substr(F.lit(1), before)
    rest = cell.substr(before + F.lit(2), F.length(cell))
    members = data_type.members
    tags = [str(number) for number in range(len(members))]
    values = [
        F.when(tag == number, _value(rest, member.dataType, format, level + 1)).alias(member.name)
        for number, member in zip(tags, members, strict=True)
    ]
    message = F.concat(
        F.lit("[HIVEACID_INVALID_UNION_TAG] "),
        F.col(FILE_PATH),
        F.lit(
            f" has a value of a uniontype that does not begin with its tag, 0 to {tags[-1]}. "
            "Correct the file. The value: "
        ),
        F.replace(cell, separator, F.lit("|")),
    )
    return F.when(tag.isin(tags), F.struct(tag.cast("tinyint").alias("tag"), *values)).otherwise(
        F.raise_error(message)
    )


def _array(cell: Column, data_type: ArrayType, format: LineFormat, level: int) -> Column:
    parts = F.when(cell != "", _split(cell, format.separators[level], format.escape))
    return F.transform(
        F.coalesce(parts, F.array().cast("array<string>")),
        lambda part: _value(part, data_type.elementType, format, level + 1),
    )


def _map(cell: Column, data_type: MapType, format: LineFormat, level: int) -> Column:
    """Return the entries whose key is not NULL; for a repeated key, the first entry."""
    parts = F.when(cell != "", _split(cell, format.separators[level], format.escape))
    separator = format.separators[level + 1]

    def entry(part: Column) -> Column:
        pieces = _split(part, separator, format.escape)
        key = F.get(pieces, F.lit(0))
        value = F.when(F.size(pieces) > 1, part.substr(F.length(key) + 2, F.lit(1 << 30)))
        return F.struct(
            _value(key, data_type.keyType, format, level).alias("key"),
            _value(value, data_type.valueType, format, level + 2).alias("value"),
        )

    entries = F.filter(
        F.transform(F.coalesce(parts, F.array().cast("array<string>")), entry),
        lambda entry: entry["key"].isNotNull(),
    )
    keys = F.transform(entries, lambda entry: entry["key"])

    def is_first(entry: Column, i: Column) -> Column:
        # PySpark 3.5's `array_position` takes no column as the value.
        return F.call_function("array_position", keys, entry["key"]) == i.cast("bigint") + 1

    return F.map_from_entries(F.filter(entries, is_first))
