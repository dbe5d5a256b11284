"""Columns of ORC files in the order and with the types of the table.

Hive 4 finds a table's columns in an ORC file by position. Hive 3 finds them by name, unless its
setting `orc.force.positional.evolution` is true (ORC's `SchemaEvolution`). So Hive 3 shows NULL for
a renamed column in the files that were written before the change. The files are the same, so only
the setting decides what Hive shows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DoubleType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.reader.columns import TableColumns, within_length
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.reader.projection import ColumnExpr, Expression, as_column, named
from hiveacid.reader.timestamps import WallClock, has
from hiveacid.reader.types import INTEGERS, differ_in_case
from hiveacid.snapshots.tables import OrcColumns, PinnedTable

_NO_NAME = re.compile(r"_col\d+")

_NOT_FILTERED = (FloatType, DoubleType, StringType, TimestampType)
"""Types for which ORC skips rows that Spark's own filter would keep. ORC sorts -0.0 below 0.0,
changes a timestamp with microseconds or before 1582-10-15, and compares texts in the order of
UTF-16, while its statistics are in the order of UTF-8 (seen)."""


def in_table_order(pinned: PinnedTable, file: ListedFile, footer: OrcFooter) -> OrcFooter:
    """Return the footer with its columns in the table's order; None for a column it lacks.

    Raises:
        UnreadableTableError: the file has other names than the table, and no setting says whether
            Hive finds columns by position or by name.
    """
    if pinned.orc_columns is OrcColumns.POSITION:
        return footer
    names = tuple(column.name for column in pinned.table.storage.columns)
    is_same = all(a == b for a, b in zip(footer.columns, names, strict=False))
    if is_same or not _has_names(footer):
        return footer
    if pinned.orc_columns is OrcColumns.UNKNOWN:
        found = next((a, b) for a, b in zip(footer.columns, names, strict=False) if a != b)
        raise UnreadableTableError(
            f"{pinned.table.name} cannot be read: {file.path} has a column {found[0]} where "
            f"the table has {found[1]}. Hive 3 shows NULL for {found[1]} by default, and the "
            "values if orc.force.positional.evolution is true. Set orc_columns to `name` for "
            "NULL, or to `position` for the values.",
            code="HIVEACID_RENAMED_ORC_COLUMN",
        )
    positions = {name: i for i, name in enumerate(footer.columns)}
    order = [positions.get(name) for name in names]
    return replace(
        footer,
        columns=tuple(None if i is None else footer.columns[i] for i in order),
        types=tuple("" if i is None else footer.types[i] for i in order),
        nanoseconds=tuple(at for at, i in enumerate(order) if i in footer.nanoseconds),
    )


def refuse_without_names(pinned: PinnedTable, file: ListedFile, footer: OrcFooter) -> None:
    """Refuse an ACID file whose columns ORC finds by position, wrong for a subset of the columns.

    ORC does so if all names look like the names that Hive once generated
    (`SchemaEvolution.hasColumnNames`).

    Raises:
        UnreadableTableError: naming the file.
    """
    if footer.columns and not _has_names(footer):
        raise UnreadableTableError(
            f"{pinned.table.name} cannot be read: {file.path} has only columns with names "
            "such as _col0, which ORC treats as columns without names. Let Hive copy the "
            "table to one with other names, and read the copy.",
            code="HIVEACID_UNNAMED_ORC_COLUMNS",
        )


def _has_names(footer: OrcFooter) -> bool:
    """Return whether a file has the columns' real names (`SchemaEvolution.hasColumnNames`).

    Hive once wrote `_col0`, `_col1`, … instead of the names.
    """
    return not all(name is None or _NO_NAME.fullmatch(name) for name in footer.columns)


def converted_columns(pinned: PinnedTable, file: ListedFile, footer: OrcFooter) -> tuple[int, ...]:
    """Return the positions of the columns that a file has in another type (`DataFile.converted`).

    Raises:
        UnreadableTableError: a column has nested names that Hive does not find.
    """
    types = pinned.table.storage.column_types
    if types[: len(footer.types)] == footer.types:
        return ()
    for type_, file_type in zip(types, footer.types, strict=False):
        if file_type and type_ != file_type and differ_in_case(type_, file_type):
            raise UnreadableTableError(
                f"{pinned.table.name}: names of nested fields in {file.path} differ in case "
                f"from the table's ({file_type}, in the table {type_}). Hive shows NULL for "
                "such fields, and Spark shows the values. Write the file again with the "
                "table's names.",
                code="HIVEACID_COLUMN_NAME_CASE_DIFFERS",
            )
    return tuple(
        i
        for i, (type_, file_type) in enumerate(zip(types, footer.types, strict=False))
        if file_type and type_ != file_type and not {type_, file_type} <= INTEGERS
    )


def raw_column(field: StructField) -> Expression:
    """Return a column of an ORC file without ACID columns.

    Spark pushes filters on the column, and on the fields of a struct, down to ORC, unless the
    column has a type for which ORC would skip rows (`_NOT_FILTERED`).
    """
    column = named(field.name)
    if not has(field.dataType, _NOT_FILTERED):
        return column
    # Spark pushes down no filter on an expression, and does not simplify this one.
    return F.coalesce(as_column(column), as_column(column))


def own_fields(names: Sequence[str | None] | None, columns: StructType) -> list[StructField | None]:
    """Return the fields to read: the file's names with the types of the table's columns."""
    return [
        None if name is None else StructField(name, field.dataType)
        for name, field in zip(names or (), columns.fields, strict=False)
    ]


def orc_columns(
    columns: TableColumns,
    present: Sequence[Expression | None],
    clock: WallClock,
    converted: Sequence[int] = (),
) -> list[ColumnExpr]:
    """Return the table's data columns, made of the columns of an ORC file.

    `present` are the file's own columns in the table's order, None for a column that the file
    lacks. It may be shorter than the table: columns were added after the file was written. Missing
    columns are NULL. The columns at the positions `converted` have another type in the file.
    """
    shown: list[ColumnExpr] = []
    for i, (field, hive_type) in enumerate(zip(columns.data, columns.data_types, strict=True)):
        own = present[i] if i < len(present) else None
        if own is None:
            value: Expression = F.lit(None).cast(field.dataType)
        else:
            value = own
            if i in converted:
                value = _converted(as_column(value), hive_type)
            if clock.moves(field.dataType):
                value = clock.show(as_column(value), field.dataType)
        shown.append((field.name, value))
    return shown


def _converted(column: Column, hive_type: str) -> Column:
    """Return a column that ORC converts from the file's type to the table's.

    No filter on the column is pushed down: ORC would compare the file's values with a literal of
    the table's type. It fails on an integer that became a string, and skips rows where an integer
    that became a double is compared with 0.5.
    """
    if hive_type == "string":
        return F.concat(column, F.lit(""))
    if hive_type in ("float", "double") or hive_type.startswith("decimal"):
        return F.negate(F.negate(column))
    return within_length(column, hive_type)
