"""Delimited text as Hive's `LazySimpleSerDe` reads it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StringType, StructType

from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import StorageDescriptor, Table, TableName


@dataclass(frozen=True)
class TextFormat:
    """How a line falls into fields (serde properties `field.delim`, `escape.delim` and
    `serialization.null.format`)."""

    delimiter: str = "\x01"
    escape: str | None = None
    null: str = "\\N"


def text_format(table: Table, storage: StorageDescriptor) -> TextFormat:
    """The format of a table's or partition's text files.

    Raises:
        UnreadableTableError: the table has a property that is not understood here.
    """
    properties = {**table.parameters, **storage.serde_parameters}
    for name, harmless in (
        ("skip.header.line.count", "0"),
        ("skip.footer.line.count", "0"),
        ("serialization.encoding", "UTF-8"),
        ("line.delim", "\n"),
        ("serialization.last.column.takes.rest", "false"),
    ):
        if properties.get(name, harmless).lower() != harmless.lower():
            raise UnreadableTableError(
                f"{table.name}: text with {name} = {properties[name]!r} cannot be read yet. Store "
                "the table as ORC or Parquet."
            )
    return TextFormat(
        delimiter=_byte(properties, "field.delim")
        or _byte(properties, "serialization.format")
        or "\x01",
        escape=_byte(properties, "escape.delim"),
        null=properties.get("serialization.null.format", "\\N"),
    )


def _byte(properties: Mapping[str, str], name: str) -> str | None:
    """A one-byte property, given as the character or as its number (Hive's `LazyUtils.getByte`)."""
    value = properties.get(name)
    if not value:
        return None
    if re.fullmatch(r"[+-]?\d+", value) and -128 <= int(value) <= 127:
        return chr(int(value) % 256)
    return value[0]


def text_columns(table: TableName, data: StructType, format: TextFormat) -> list[Column]:
    """The table's columns from a line in the column `value`.

    Raises:
        UnreadableTableError: a column is nested or binary, which is not read from text yet.
    """
    line = F.col("value")
    delimiter = re.escape(format.delimiter)
    if format.escape is None:
        cells = F.split(line, delimiter)
    else:
        escape = re.escape(format.escape)
        pattern = f"((?:[^{_in_class(format.delimiter)}{_in_class(format.escape)}]|{escape}.)*)"
        cells = F.regexp_extract_all(line, F.lit(f"{pattern}(?:{delimiter}|$)"), 1)
    columns = []
    for i, field in enumerate(data.fields):
        if isinstance(field.dataType, ArrayType | MapType | StructType | BinaryType):
            raise UnreadableTableError(
                f"{table}: column {field.name} ({field.dataType.simpleString()}) cannot be read "
                "from a text file yet. Store the table as ORC or Parquet."
            )
        cell = F.get(cells, F.lit(i))
        value = F.when(cell != format.null, _unescaped(cell, format.escape))
        if not isinstance(field.dataType, StringType):
            value = value.try_cast(field.dataType)
        columns.append(value.alias(field.name))
    return columns


def _in_class(character: str) -> str:
    """A character for use inside a regular expression's brackets."""
    return "\\" + character if character in "\\]^-[&" else character


def _unescaped(cell: Column, escape: str | None) -> Column:
    """Take the escapes out; an escaped `r` or `n` is a carriage return or a line feed."""
    if escape is None:
        return cell
    quoted = re.escape(escape)
    placeholder = "\x00"
    text = F.replace(cell, F.lit(escape * 2), F.lit(placeholder))
    text = F.regexp_replace(text, f"{quoted}r", "\r")
    text = F.regexp_replace(text, f"{quoted}n", "\n")
    text = F.regexp_replace(text, f"{quoted}(.)", "$1")
    return F.replace(text, F.lit(placeholder), F.lit(escape))
