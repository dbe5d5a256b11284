"""Columns of a table in ORC files: by their positions, as in Hive 4, or by their names.

Hive 3 finds the columns by their names unless its setting `orc.force.positional.evolution` is true
(ORC's `SchemaEvolution`). So a column that was renamed is NULL there in the files that were written
before. The files are the same, so nothing but the setting tells what Hive shows.
"""

from __future__ import annotations

import re
from dataclasses import replace

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.reader.orc_footers import OrcFooter
from hiveacid.snapshots.tables import OrcColumns, PinnedTable

_NO_NAME = re.compile(r"_col\d+")


def has_names(footer: OrcFooter) -> bool:
    """Return whether a file's columns have names of their own (`SchemaEvolution.hasColumnNames`).

    Hive once wrote `_col0`, `_col1`, … in place of the names.
    """
    return not all(name is None or _NO_NAME.fullmatch(name) for name in footer.columns)


def in_table_order(pinned: PinnedTable, file: ListedFile, footer: OrcFooter) -> OrcFooter:
    """Return a footer whose i-th column is the table's i-th; None as the name of one it lacks.

    Raises:
        UnreadableTableError: the file has other names than the table, and nobody has said by what
            Hive finds the columns.
    """
    if pinned.orc_columns is OrcColumns.POSITION:
        return footer
    names = tuple(column.name for column in pinned.table.storage.columns)
    is_same = all(a == b for a, b in zip(footer.columns, names, strict=False))
    if is_same or not has_names(footer):
        return footer
    if pinned.orc_columns is OrcColumns.UNKNOWN:
        found = next((a, b) for a, b in zip(footer.columns, names, strict=False) if a != b)
        raise UnreadableTableError(
            f"{pinned.table.name} cannot be read: {file.path} has a column {found[0]} where the "
            f"table has {found[1]}. Hive 3 shows NULL for {found[1]} there, unless its setting "
            "orc.force.positional.evolution is true: then it shows the values. Set orc_columns to "
            "`name` for the first, or to `position` for the second."
        )
    positions = {name: i for i, name in enumerate(footer.columns)}
    order = [positions.get(name) for name in names]
    return replace(
        footer,
        columns=tuple(None if i is None else footer.columns[i] for i in order),
        types=tuple("" if i is None else footer.types[i] for i in order),
        nanoseconds=tuple(at for at, i in enumerate(order) if i in footer.nanoseconds),
    )
