"""Changes of a table's definition, made on the struct that the metastore keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from hiveacid.metastore.models import Column, Table, TableName
from hiveacid.metastore.new_tables import column_struct
from hiveacid.metastore.raw_structs import RawStruct

Change = Callable[[RawStruct], None]
"""Changes the struct of a table (thrift `Table`)."""

_NAME, _DATABASE, _STORAGE, _PARTITION_KEYS, _PARAMETERS = 1, 2, 7, 8, 9
_COLUMNS, _COLUMN_NAME, _COMMENT = 1, 1, 3


def rename_to(name: TableName) -> Change:
    """Give the table another name."""

    def change(table: RawStruct) -> None:
        table.set_text(_NAME, name.table)
        table.set_text(_DATABASE, name.database)

    return change


def add_columns(columns: Sequence[Column]) -> Change:
    """Add columns behind those that are not partition columns."""

    def change(table: RawStruct) -> None:
        storage = table.struct(_STORAGE)
        own = storage.structs(_COLUMNS)
        storage.set_structs(_COLUMNS, [*own, *map(column_struct, columns)])

    return change


def describe_as(planned: Table) -> Change:
    """Give the table and its columns the comments and the parameters of another one."""
    comments = {it.name: it.comment for it in (*planned.storage.columns, *planned.partition_keys)}

    def change(table: RawStruct) -> None:
        storage = table.struct(_STORAGE)
        storage.set_structs(
            _COLUMNS, list(map(partial(_commented, comments), storage.structs(_COLUMNS)))
        )
        table.set_structs(
            _PARTITION_KEYS,
            list(map(partial(_commented, comments), table.structs(_PARTITION_KEYS))),
        )
        table.set_texts(_PARAMETERS, {**table.texts(_PARAMETERS), **planned.parameters})

    return change


def is_described_as(table: Table, planned: Table) -> bool:
    """Return whether a table has the comments and parameters of another one."""
    own, wanted = (
        {it.name: it.comment for it in (*each.storage.columns, *each.partition_keys)}
        for each in (table, planned)
    )
    return planned.parameters.items() <= table.parameters.items() and all(
        own.get(name) == comment for name, comment in wanted.items() if comment is not None
    )


def _commented(comments: dict[str, str | None], column: RawStruct) -> RawStruct:
    comment = comments.get(column.text(_COLUMN_NAME))
    if comment is not None:
        column.set_text(_COMMENT, comment)
    return column
