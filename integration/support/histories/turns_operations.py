"""The operations of histories in which Hive and `hiveacid.transaction` write in turns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import hiveacid
from integration.support.histories.actions import AbortedSql, EndWrite, OpenWrite, Sql
from integration.support.histories.operations import compact_major, compact_minor
from integration.support.histories.shape import EXPRESSIONS, Column
from integration.support.histories.table_state import Actions, Operation, TableState
from integration.support.histories.turns_model import (
    EndLate,
    Hives,
    OpenLate,
    Ours,
    Rows,
    TurnsTable,
    TurnsWorld,
    Write,
    adding,
    key_value,
    removing,
    replacing,
    replacing_partitions,
    second_of,
    sql_value,
    upserting,
)
from integration.support.hive import hive_3

_ADDED = sorted(set(EXPRESSIONS) - {"timestamp", "date"})
"""Types of columns that are added; Parquet tables with others are not written."""


def _turns(table: TableState) -> TurnsTable:
    assert isinstance(table, TurnsTable)
    return table


def _may_delete(table: TurnsTable) -> bool:
    return table.shape.full_acid and table.transactional


# Statements of Hive


def insert(state: TableState) -> Actions | None:
    return (_insert(_turns(state)),)


def _insert(table: TurnsTable) -> Hives:
    rows = table.new_rows(table.rng.randint(1, 5))
    return Hives(f"INSERT INTO {{table}} {_selected(table, rows)}", adding(rows))


def _selected(table: TurnsTable, rows: Rows, keys: bool = True) -> str:
    """A query of rows, in one table function so that it is no union."""
    columns = table.all_columns if keys else table.columns
    structs = ", ".join(
        f"struct({', '.join(sql_value(row[it.name], it.type) for it in columns)})" for row in rows
    )
    return f"SELECT inline(array({structs}))"


def update(state: TableState) -> Actions | None:
    table = _turns(state)
    return (_update(table),) if _may_delete(table) else None


def _update(table: TurnsTable) -> Hives:
    where = table.condition()

    def effect(rows: Rows) -> Rows:
        return [
            {**row, "name": (row["name"] or "") + "!"} if where.holds(row) else row for row in rows
        ]

    text = f"UPDATE {{table}} SET name = concat(coalesce(name, ''), '!') WHERE {where}"
    return Hives(text, effect)


def delete(state: TableState) -> Actions | None:
    table = _turns(state)
    return (_delete(table),) if _may_delete(table) else None


def _delete(table: TurnsTable) -> Hives:
    where = table.condition()
    return Hives(f"DELETE FROM {{table}} WHERE {where}", removing(where))


def merge(state: TableState) -> Actions | None:
    table = _turns(state)
    if not _may_delete(table):
        return None
    rows = _to_merge(table)
    values = ", ".join(f"s.{it.name}" for it in table.all_columns)
    updates = ", ".join(f"{it.name} = s.{it.name}" for it in table.columns[1:])
    names = ", ".join(it.name for it in table.all_columns)
    by_id = {row["id"]: row for row in rows}
    changed = [it.name for it in table.columns[1:]]

    def effect(current: Rows) -> Rows:
        ids = {row["id"] for row in current}
        updated = [
            {**row, **{name: by_id[row["id"]][name] for name in changed}}
            if row["id"] in by_id
            else row
            for row in current
        ]
        return [*updated, *(row for row in rows if row["id"] not in ids)]

    text = (
        f"MERGE INTO {{table}} t USING (SELECT {names} FROM ({_selected(table, rows)} "
        f"AS ({names})) x) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET {updates} "
        f"WHEN NOT MATCHED THEN INSERT VALUES ({values})"
    )
    return (Hives(text, effect),)


def _to_merge(table: TurnsTable) -> Rows:
    """New rows, and rows with ids that there have been."""
    old = table.rng.sample(range(1, table.serial + 1), min(table.serial, table.rng.randint(1, 4)))
    return [*(table.row(number) for number in old), *table.new_rows(table.rng.randint(1, 3))]


def overwrite(state: TableState) -> Actions | None:
    table = _turns(state)
    if table.is_locked:
        return None
    if not table.shape.partition:
        rows = table.new_rows(4)
        text = f"INSERT OVERWRITE TABLE {{table}} {_selected(table, rows)}"
        return (Hives(text, replacing(rows)),)
    rows = table.new_rows(4)
    names = ", ".join(it.name for it in table.shape.partition)
    text = f"INSERT OVERWRITE TABLE {{table}} PARTITION ({names}) {_selected(table, rows)}"
    return (Hives(text, replacing_partitions(rows, table.shape.partition)),)


def truncate(state: TableState) -> Actions | None:
    return None if state.is_locked else (Hives("TRUNCATE TABLE {table}", replacing([])),)


def truncate_partition(state: TableState) -> Actions | None:
    table = _turns(state)
    if table.is_locked or not table.known:
        return None
    values = table.rng.choice(table.known)
    text = f"TRUNCATE TABLE {{table}} PARTITION ({table.specification(values)})"
    return (Hives(text, removing(table.of_partition(values))),)


def drop_partition(state: TableState) -> Actions | None:
    table = _turns(state)
    if table.is_written or not table.known:
        return None
    values = table.rng.choice(table.known)
    table.dropped.append(values)
    text = f"ALTER TABLE {{table}} DROP PARTITION ({table.specification(values)})"
    return (Hives(text, removing(table.of_partition(values))),)


def add_partition(state: TableState) -> Actions | None:
    gone = [values for values in state.dropped if values not in state.partitions]
    if not gone or state.is_written:
        return None
    spec = state.specification(state.rng.choice(gone))
    return (Sql(f"ALTER TABLE {{table}} ADD PARTITION ({spec})"),)


def add_column(state: TableState) -> Actions | None:
    table = _turns(state)
    if len(table.columns) > 5 or table.is_written or not table.shape.columns_change:
        return None
    column = Column(f"added_{len(table.columns)}", table.rng.choice(_ADDED))
    table.columns.append(column)
    cascade = " CASCADE" if table.shape.partition else ""
    return (Sql(f"ALTER TABLE {{table}} ADD COLUMNS ({column.name} {column.type}){cascade}"),)


def aborted(state: TableState) -> Actions | None:
    table = _turns(state)
    table.aborted = True
    choices = [_insert, _update, _delete] if _may_delete(table) else [_insert]
    return (AbortedSql(table.rng.choice(choices)(table).text),)


def open_write(state: TableState) -> Actions | None:
    """A writer with a lower write id than ours, whose rows come later."""
    table = _turns(state)
    if table.writers or table.shape.file_format != "ORC":
        return None
    partition, keys = None, {}
    if table.shape.partition:
        if not table.partitions:
            return None
        partition = table.rng.choice(table.partitions)
        values = zip(table.shape.partition, partition, strict=True)
        keys = {it.name: key_value(it.type, text) for it, text in values}
    first, last = table.numbers(2)
    table.serial += 1
    key = table.serial
    table.writers[key] = False
    opened = OpenWrite(key, partition, tuple(range(first, last + 1)), None)
    row = {**dict.fromkeys(it.name for it in table.columns[1:]), **keys}
    return (OpenLate(opened, tuple(row.items())),)


def late_commit(state: TableState) -> Actions | None:
    return _end(state, commit=True)


def late_abort(state: TableState) -> Actions | None:
    return _end(state, commit=False)


def _end(state: TableState, commit: bool) -> Actions | None:
    if not state.writers:
        return None
    key, _ = state.writers.popitem()
    state.aborted |= not commit
    return (EndLate(EndWrite(key, commit)),)


# Writes of hiveacid


def append(state: TableState) -> Actions | None:
    return (Ours(_append(_turns(state))),)


def _append(table: TurnsTable) -> Write:
    """In one step, or in two; also rows whose ids others have."""
    parts = [table.new_rows(table.rng.randint(1, 7)) for _ in range(table.rng.choice((1, 1, 2)))]
    if table.rng.random() < 0.3:
        parts[0] += [table.row(table.rng.randint(1, table.serial)) for _ in range(2)]
    columns, files = tuple(table.all_columns), _files(table)

    def call(world: TurnsWorld, transaction: hiveacid.Transaction) -> None:
        for rows in parts:
            transaction.append(world.table, world.frame(rows, columns, files))

    rows = [row for part in parts for row in part]
    return Write(f"append {rows} in {files} files, {len(parts)} steps", call, adding(rows))


def _files(table: TurnsTable) -> int:
    """Of several, Hive 3's minor compaction writes each delete event several times."""
    return 1 if table.hive == hive_3.VERSION else table.rng.choice((1, 1, 2, 3))


def our_overwrite(state: TableState) -> Actions | None:
    return None if state.is_locked else (Ours(_overwrite(_turns(state))),)


def _overwrite(table: TurnsTable) -> Write:
    """Of new rows, or of rows that were read; of all partitions, or of those with new rows."""
    columns, files = tuple(table.all_columns), _files(table)
    if table.rng.random() < 0.3:
        where = table.condition()

        def call_with_own(world: TurnsWorld, transaction: hiveacid.Transaction) -> None:
            own = transaction.table(world.table).where(str(where))
            transaction.overwrite(world.table, own)

        return Write(
            f"overwrite with its own rows where {where}",
            call_with_own,
            lambda current: [row for row in current if where.holds(row)],
            depends_on_inserts=True,
            depends_on_rows=True,
            reads=True,
        )
    dynamic = bool(table.shape.partition) and table.rng.random() < 0.6
    rows = table.new_rows(table.rng.choice((0, 1, 3, 6)))
    partitions: Literal["all", "dynamic"] = "dynamic" if dynamic else "all"

    def call(world: TurnsWorld, transaction: hiveacid.Transaction) -> None:
        frame = world.frame(rows, columns, files)
        transaction.overwrite(world.table, frame, partitions=partitions)

    effect = replacing_partitions(rows, table.shape.partition) if dynamic else replacing(rows)
    return Write(f"overwrite {partitions} with {rows} in {files} files", call, effect)


def our_delete(state: TableState) -> Actions | None:
    table = _turns(state)
    return (Ours(_our_delete(table)),) if _may_delete(table) else None


def _our_delete(table: TurnsTable) -> Write:
    where = table.condition()

    def call(world: TurnsWorld, transaction: hiveacid.Transaction) -> None:
        transaction.delete(world.table, str(where))

    return Write(f"delete where {where}", call, removing(where), depends_on_rows=True)


def our_merge(state: TableState) -> Actions | None:
    table = _turns(state)
    return (Ours(_our_merge(table)),) if _may_delete(table) else None


def _our_merge(table: TurnsTable) -> Write:
    rows, columns, files = _to_merge(table), tuple(table.all_columns), _files(table)
    matched: Literal["update", "delete"] | None = table.rng.choice(("update", "update", "delete"))
    inserts: Literal["insert"] | None = table.rng.choice(("insert", "insert", None))
    if inserts and table.rng.random() < 0.2:
        matched = None

    def call(world: TurnsWorld, transaction: hiveacid.Transaction) -> None:
        frame = world.frame(rows, columns, files)
        transaction.merge(world.table, frame, "id", when_matched=matched, when_not_matched=inserts)

    return Write(
        f"merge {rows}, matched {matched}, not matched {inserts}",
        call,
        upserting(rows, matched, bool(inserts)),
        depends_on_inserts=inserts is not None,
        depends_on_rows=True,
    )


def _any_write(table: TurnsTable) -> Write:
    choices: list[Callable[[TurnsTable], Write]] = [_append]
    if not table.is_locked:
        choices.append(_overwrite)
    if _may_delete(table):
        choices += [_our_delete, _our_merge]
    return table.rng.choice(choices)(table)


def two_tables(state: TableState) -> Actions | None:
    """Two tables in one transaction; it may fail."""
    table = _turns(state)
    write = _any_write(table)
    rows: Rows = [{"id": n, "name": None, "amount": None} for n in range(*table.numbers(4))]
    columns = tuple(table.columns[:3])

    def call(world: TurnsWorld, transaction: hiveacid.Transaction) -> None:
        transaction.append(second_of(world.table), world.frame(rows, columns, 1))
        write.call(world, transaction)

    both = replace(write, text=f"append to a second table, {write.text}", call=call, second=rows)
    return (Ours(both),)


def failed_block(state: TableState) -> Actions | None:
    return (Ours(_any_write(_turns(state)), fails="in the block"),)


def failed_publication(state: TableState) -> Actions | None:
    state.aborted = True
    return (Ours(_any_write(_turns(state)), fails="in the publication"),)


def beside_hive(state: TableState) -> Actions | None:
    """Hive writes while a transaction is open."""
    table = _turns(state)
    if table.is_locked:
        return None
    choices: list[Callable[[TurnsTable], Hives]] = [_insert]
    if _may_delete(table):
        choices += [_update, _delete]
    return (Ours(_any_write(table), meanwhile=table.rng.choice(choices)(table)),)


def two_at_once(state: TableState) -> Actions | None:
    """Another transaction of `hiveacid` comes and goes while one is open."""
    table = _turns(state)
    if table.is_locked:
        return None
    return (Ours(_any_write(table), meanwhile=Ours(_any_write(table))),)


OPERATIONS: dict[str, Operation] = {
    "insert values": insert,
    "update": update,
    "delete": delete,
    "merge": merge,
    "overwrite": overwrite,
    "truncate table": truncate,
    "truncate partition": truncate_partition,
    "drop partition": drop_partition,
    "add a dropped partition": add_partition,
    "add column": add_column,
    "minor compaction": compact_minor,
    "major compaction": compact_major,
    "aborted write": aborted,
    "open write": open_write,
    "late commit": late_commit,
    "late abort": late_abort,
    "hiveacid append": append,
    "hiveacid overwrite": our_overwrite,
    "hiveacid delete": our_delete,
    "hiveacid merge": our_merge,
    "hiveacid two tables": two_tables,
    "hiveacid failed block": failed_block,
    "hiveacid failed publication": failed_publication,
    "hiveacid beside hive": beside_hive,
    "hiveacid two at once": two_at_once,
}
