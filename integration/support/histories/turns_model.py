"""The rows that a table must have, computed in Python, and the steps that change them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession

import hiveacid
from hiveacid.metastore.models import TableName
from hiveacid.metastore.writing_client import WritingClient
from integration.support.histories.actions import Action, EndWrite, OpenWrite, World
from integration.support.histories.shape import NULL, PARTITION_VALUES, Column
from integration.support.histories.table_state import NULL_PARTITION, Partition, TableState
from integration.support.hive import HiveSqlError

Row = dict[str, Any]
Rows = list[Row]
Effect = Callable[[Rows], Rows]
"""What a step does to the rows."""


class Condition(str):
    """A condition in SQL, and in Python."""

    holds: Callable[[Row], bool]

    @classmethod
    def of(cls, sql: str, holds: Callable[[Row], bool]) -> Condition:
        """Make a condition."""
        condition = cls(sql)
        condition.holds = holds
        return condition


@dataclass
class TurnsWorld(World):
    """A world with the rows of its table, and of a second table beside it.

    `late` are the rows of the writers that are open.
    """

    spark: SparkSession | None = None
    uri: str = ""
    rows: Rows = field(default_factory=list)
    second: Rows = field(default_factory=list)
    second_is_written: bool = False
    late: dict[int, Rows] = field(default_factory=dict)
    is_of_hive_3: bool = False

    def transaction(self, *tables: str) -> hiveacid.Transaction:
        """Open a transaction that reads these tables."""
        assert self.spark is not None
        return hiveacid.transaction(self.spark, self.uri, tables, lock_timeout=60)

    def frame(self, rows: Rows, columns: Sequence[Column], files: int) -> DataFrame:
        """Return rows as a DataFrame that becomes so many files."""
        assert self.spark is not None
        schema = ", ".join(f"{column.name} {column.type}" for column in columns)
        tuples = [tuple(row.get(column.name) for column in columns) for row in rows]
        return self.spark.createDataFrame(tuples, schema).repartition(files)

    def end(self) -> None:
        super().end()
        with suppress(HiveSqlError):
            self.client.execute(f"DROP TABLE IF EXISTS {self.table}_second")


class TurnsTable(TableState):
    """A table of which conditions and new rows are known in SQL and in Python."""

    def condition(self) -> Condition:
        rest, least = self.rng.randrange(3), self.rng.randrange(max(1, self.serial))
        column = self.rng.choice(self.columns[1:]).name
        choices = [
            Condition.of(f"id % 3 = {rest}", lambda row: row["id"] % 3 == rest),
            Condition.of(f"id > {least}", lambda row: row["id"] > least),
            Condition.of("name LIKE '%1%'", lambda row: "1" in (row["name"] or "")),
            Condition.of(f"{column} IS NULL", lambda row: row.get(column) is None),
        ]
        if self.known:
            choices += [self.of_partition(self.rng.choice(self.known))] * 2
        return self.rng.choice(choices)

    def of_partition(self, values: Partition) -> Condition:
        """A condition that the rows of one partition fulfil."""
        columns = self.shape.partition
        return Condition.of(
            self.in_partition(values, whole=True), lambda row: partition_of(row, columns) == values
        )

    def new_rows(self, count: int, partition: Partition | None = None) -> Rows:
        """Rows with new ids; in one partition, if it is given."""
        first, last = self.numbers(count)
        return [self.row(number, partition) for number in range(first, last + 1)]

    def row(self, number: int, partition: Partition | None = None) -> Row:
        """A row of this id, with other values than an earlier one."""
        row = {it.name: value_of(it.type, number) for it in self.columns[1:]}
        row = {"id": number, **row}
        for position, column in enumerate(self.shape.partition):
            text = None if partition is None else partition[position]
            if text is None:
                text = self.rng.choice(PARTITION_VALUES[column.type])
            row[column.name] = key_value(column.type, text)
        if row["name"] is not None:
            self.serial += 1
            row["name"] += f", {self.serial}"
        return row

    @property
    def all_columns(self) -> list[Column]:
        """The columns, and those of the partition."""
        return [*self.columns, *self.shape.partition]


def value_of(hive_type: str, number: int) -> Any:
    """A value of a column in the row of this number."""
    if number % 4 == 0:
        return None
    values: dict[str, Any] = {
        "int": number * 7,
        "bigint": number * 10_000_000_000,
        "string": f"row {number}",
        "double": number / 4,
        "decimal(10,2)": Decimal(number) * Decimal("1.25"),
        "boolean": number % 2 == 0,
        "date": dt.date(2026, 1, 1) + dt.timedelta(number),
        "timestamp": dt.datetime(2026, 1, 1, 10, 0, number % 60),
    }
    return values[hive_type]


def key_value(hive_type: str, text: str) -> Any:
    """The value of a partition column by its text in SQL or in the metastore."""
    text = text.strip("'")
    if text in (NULL, NULL_PARTITION):
        return None
    if hive_type == "int":
        return int(text)
    return dt.date.fromisoformat(text) if hive_type == "date" else text


def partition_of(row: Row, columns: Sequence[Column]) -> Partition:
    """The partition that a row is in, as the metastore keeps its values."""
    values = (row[column.name] for column in columns)
    return tuple(NULL_PARTITION if value is None else str(value) for value in values)


def sql_value(value: Any, hive_type: str) -> str:
    """A value in SQL."""
    text = NULL if value is None else f"'{value}'"
    return f"cast({text.lower() if hive_type == 'boolean' else text} as {hive_type})"


def adding(rows: Rows) -> Effect:
    """Rows are added."""
    return lambda current: [*current, *rows]


def removing(condition: Condition) -> Effect:
    """Rows are deleted."""
    return lambda current: [row for row in current if not condition.holds(row)]


def replacing(rows: Rows) -> Effect:
    """All rows are replaced."""
    return lambda current: [*rows]


def replacing_partitions(rows: Rows, columns: Sequence[Column]) -> Effect:
    """The rows of the partitions that the new ones are in are replaced."""
    replaced = {partition_of(row, columns) for row in rows}
    return lambda current: [
        *(row for row in current if partition_of(row, columns) not in replaced),
        *rows,
    ]


def upserting(rows: Rows, matched: str | None, inserts: bool) -> Effect:
    """The rows are merged by id: matched ones are updated, deleted or left, others added."""

    def effect(current: Rows) -> Rows:
        new, ids = {row["id"]: row for row in rows}, {row["id"] for row in current}
        kept = [row for row in current if row["id"] not in new or matched is None]
        updated = [new[row["id"]] for row in current if row["id"] in new]
        added = [row for row in rows if row["id"] not in ids]
        return [*kept, *(updated if matched == "update" else ()), *(added if inserts else ())]

    return effect


@dataclass(frozen=True)
class Hives:
    """A statement of Hive."""

    text: str
    effect: Effect

    def run(self, world: World) -> None:
        assert isinstance(world, TurnsWorld)
        world.client.execute(world.fill(self.text))
        world.rows = self.effect(world.rows)

    def script(self, world: World) -> str:
        return f"{world.fill(self.text)};"


@dataclass(frozen=True)
class Write:
    """A call of a transaction's methods.

    `depends_on_inserts` says whether rows that others add meanwhile are a conflict,
    `depends_on_rows` whether changed rows are one.
    """

    text: str
    call: Callable[[TurnsWorld, hiveacid.Transaction], None]
    effect: Effect
    depends_on_inserts: bool = False
    depends_on_rows: bool = False
    second: Rows = field(default_factory=list)
    reads: bool = False
    """Whether the transaction reads the table at its start."""


@dataclass(frozen=True)
class Ours:
    """A transaction of `hiveacid`, during which something else may happen.

    `fails` makes it end with an error: "in the block", or "in the publication".
    """

    write: Write
    meanwhile: Action | None = None
    fails: str | None = None

    def run(self, world: World) -> None:
        assert isinstance(world, TurnsWorld)
        before = world.rows
        try:
            if self.fails == "in the publication":
                with patch.object(WritingClient, "invalidate_statistics", _fail):
                    self._write(world)
            else:
                self._write(world)
        except _Failure:
            return
        except hiveacid.WriteAbortedError:
            # There any change of a table's parameters counts.
            may = self.meanwhile is not None and world.is_of_hive_3
            if not may and not self._may_conflict(before, world.rows):
                raise
            return
        assert self.fails is None, f"a transaction that fails {self.fails} was committed"
        assert not self._conflicts(before, world.rows), "a conflict was not noticed"
        if self.write.depends_on_rows and world.rows[: len(before)] == before:
            # It has not seen the rows that others have added.
            world.rows = [*self.write.effect(before), *world.rows[len(before) :]]
        else:
            world.rows = self.write.effect(world.rows)
        if self.write.second:
            world.second = [*world.second, *self.write.second]
        world.second_is_written |= bool(self.write.second)

    def _write(self, world: TurnsWorld) -> None:
        tables = [str(world.table)] if self.write.reads else []
        with world.transaction(*tables) as transaction:
            self.write.call(world, transaction)
            if self.meanwhile is not None:
                self.meanwhile.run(world)
            if self.fails == "in the block":
                raise _Failure

    def _conflicts(self, before: Rows, after: Rows) -> bool:
        return before != after and self._may_conflict(before, after)

    def _may_conflict(self, before: Rows, after: Rows) -> bool:
        """Whether a conflict is right: also of a statement that has found no row to change."""
        if self.meanwhile is None:
            return False
        is_insert = before != after and after[: len(before)] == before
        write = self.write
        return write.depends_on_inserts or (write.depends_on_rows and not is_insert)

    def script(self, world: World) -> str:
        lines = [f"-- hiveacid.transaction: {self.write.text}"]
        if self.meanwhile is not None:
            lines += ["-- before its block ends:", self.meanwhile.script(world)]
        if self.fails is not None:
            lines.append(f"-- it fails {self.fails}")
        return "\n".join(lines)


class _Failure(Exception):
    """The failure of a transaction that shall fail."""


def _fail(*_: object) -> None:
    raise _Failure


@dataclass(frozen=True)
class OpenLate:
    """A writer outside of Hive begins, whose rows come with its commit."""

    opened: OpenWrite
    rows: tuple[tuple[str, Any], ...]

    def run(self, world: World) -> None:
        assert isinstance(world, TurnsWorld)
        self.opened.run(world)
        world.late[self.opened.key] = [
            {"id": it, **dict(self.rows)} for it in self.opened.identities
        ]

    def script(self, world: World) -> str:
        return self.opened.script(world)


@dataclass(frozen=True)
class EndLate:
    """It ends."""

    ended: EndWrite

    def run(self, world: World) -> None:
        assert isinstance(world, TurnsWorld)
        self.ended.run(world)
        rows = world.late.pop(self.ended.key)
        if self.ended.commit:
            world.rows = [*world.rows, *rows]

    def script(self, world: World) -> str:
        return self.ended.script(world)


def second_of(name: TableName) -> str:
    """The name of the second table."""
    return f"{name}_second"
