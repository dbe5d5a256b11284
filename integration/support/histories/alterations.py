"""The operations that change what a table is, not its rows."""

from __future__ import annotations

from integration.support.histories.actions import Move, Sql
from integration.support.histories.shape import EXPRESSIONS, Column
from integration.support.histories.table_state import Actions, Operation, TableState

#: The types of `EXPRESSIONS` that Hive lets a column's become.
WIDER = {
    "int": ("bigint", "double", "string"),
    "bigint": ("double", "string"),
    "decimal(10,2)": ("double", "string"),
    "double": ("string",),
    "date": ("string",),
    "timestamp": ("string",),
}


def add_column(table: TableState) -> Actions | None:
    if len(table.columns) > 6 or table.is_written or not table.shape.columns_change:
        return None
    column = Column(f"added_{len(table.columns)}", table.rng.choice(sorted(EXPRESSIONS)))
    table.columns.append(column)
    return (Sql(f"ALTER TABLE {{table}} ADD COLUMNS ({column.name} {column.type}){_how(table)}"),)


def rename_column(table: TableState) -> Actions | None:
    if table.is_written or not table.shape.columns_change:
        return None
    position = table.rng.randrange(1, len(table.columns))
    column = table.columns[position]
    table.serial += 1
    renamed = Column(f"renamed_{table.serial}", column.type)
    table.columns[position] = renamed
    change = f"{column.name} {renamed.name} {column.type}"
    return (Sql(f"ALTER TABLE {{table}} CHANGE COLUMN {change}{_how(table)}"),)


def _how(table: TableState) -> str:
    """Whether the partitions that there are change, too."""
    return table.rng.choice(("", " CASCADE")) if table.shape.partition else ""


def widen_column(table: TableState) -> Actions | None:
    """Of ORC and text, since Hive itself does not read all of these back from other formats."""
    positions = [i for i, column in enumerate(table.columns) if i and column.type in WIDER]
    if (
        table.is_written
        or table.shape.file_format in ("PARQUET", "AVRO", "JSONFILE")
        or not positions
    ):
        return None
    position = table.rng.choice(positions)
    column = table.columns[position]
    wider = Column(column.name, table.rng.choice(WIDER[column.type]))
    table.columns[position] = wider
    change = f"{column.name} {column.name} {wider.type}"
    return (Sql(f"ALTER TABLE {{table}} CHANGE COLUMN {change}{_how(table)}"),)


def rename_table(table: TableState) -> Actions | None:
    """There and back, by which Hive moves its directories."""
    if table.is_written:
        return None
    return (
        Sql("ALTER TABLE {table} RENAME TO {table}_renamed"),
        Sql("ALTER TABLE {table}_renamed RENAME TO {table}"),
    )


def move(table: TableState) -> Actions | None:
    """A partition, or a table without partitions, gets another location."""
    if table.is_written:
        return None
    table.serial += 1
    if not table.shape.partition:
        return (Move(table.serial, None, None),)
    if not table.known:
        return None
    values = table.rng.choice(table.known)
    return (Move(table.serial, values, table.specification(values)),)


ALTERATIONS: dict[str, Operation] = {
    "add column": add_column,
    "rename column": rename_column,
    "widen column": widen_column,
    "rename table": rename_table,
    "move": move,
}
