"""What is known of a history's table, and what the choice of an operation needs of it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from integration.support.histories.actions import Action
from integration.support.histories.shape import EXPRESSIONS, NULL, PARTITION_VALUES, Column, Shape
from integration.support.hive.jars import HIVE_VERSION

#: The value that Hive keeps for a NULL of a partition column.
NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"

Partition = tuple[str, ...]
Actions = tuple[Action, ...]


@dataclass
class TableState:
    """What the choice of the next operation depends on."""

    shape: Shape
    rng: random.Random
    columns: list[Column]
    partitions: list[Partition] = field(default_factory=list)
    dropped: list[Partition] = field(default_factory=list)
    writers: dict[int, bool] = field(default_factory=dict)
    """The open writers, and whether each of them deletes."""
    aborted: bool = False
    """Whether a write has been aborted."""
    transactional: bool = False
    serial: int = 0
    hive: str = HIVE_VERSION

    @property
    def is_locked(self) -> bool:
        """Whether a transaction is open whose lock a statement on all rows would wait for."""
        return bool(self.writers)

    @property
    def is_written(self) -> bool:
        """Whether a writer has files open: the table must stay what it is, and where it is."""
        return self.is_locked

    def numbers(self, count: int) -> tuple[int, int]:
        """The first and the last of so many new row numbers."""
        self.serial += count
        return self.serial - count + 1, self.serial

    @property
    def known(self) -> list[Partition]:
        """The partitions that a specification can name without a NULL."""
        return [p for p in self.partitions if NULL_PARTITION not in p]

    def specification(self, values: Partition) -> str:
        """`p='a', q='1'`."""
        columns = zip(self.shape.partition, values, strict=True)
        return ", ".join(f"{column.name}='{value}'" for column, value in columns)

    def new_partition(self) -> Partition:
        """Values for a static specification, of a partition that may or may not exist."""
        return tuple(
            self.rng.choice([v for v in PARTITION_VALUES[column.type] if v != NULL]).strip("'")
            for column in self.shape.partition
        )

    def source(self, count: int) -> str:
        """A FROM clause of so many new rows, numbered by `n`."""
        first, last = self.numbers(count)
        shifted = f"SELECT n + {first - 1} AS n FROM {{database}}.numbers WHERE n <= {count}"
        assert last - first + 1 == count
        return f"({shifted}) source"

    def select(self, static: Partition | None = None, tag: str = "") -> str:
        """The columns of new rows over `n`; with the partition columns unless they are given."""
        data = ["n"]
        for column in self.columns[1:]:
            value = EXPRESSIONS[column.type]
            if column.type == "string" and tag:
                value = f"concat('{tag} ', n)"
            data.append(f"if(n % {self.rng.choice((4, 5, 7))} = 0, NULL, {value})")
        if static is None:
            data.extend(self.partition_value(column) for column in self.shape.partition)
        return ", ".join(data)

    def partition_value(self, column: Column) -> str:
        """An expression over `n` that spreads rows over some partitions."""
        values = self.rng.sample(PARTITION_VALUES[column.type], self.rng.choice((1, 2, 3)))
        # Each is cast: Hive 3.1.3 fails a CASE of 100 and 1.5 (docs/hive-quirks.md).
        cases = " ".join(
            f"WHEN {i} THEN cast({value} as {column.type})" for i, value in enumerate(values)
        )
        return f"CASE n % {len(values)} {cases} END"

    def condition(self) -> str:
        """A condition that some rows fulfil, with the same meaning in Hive and Spark."""
        choices = [
            f"id % 3 = {self.rng.randrange(3)}",
            f"id > {self.rng.randrange(max(1, self.serial))}",
            f"{self.columns[1].name} LIKE '%1%'",
            f"{self.rng.choice(self.columns[1:]).name} IS NULL",
        ]
        if self.known:
            choices += [self.in_partition(self.rng.choice(self.known))] * 2
        return self.rng.choice(choices)

    def in_partition(self, values: Partition, whole: bool = False) -> str:
        """A condition that the rows of one partition fulfil; unless `whole`, perhaps of more."""
        columns = list(zip(self.shape.partition, values, strict=True))
        equalities = [f"{c.name} = cast('{v}' as {c.type})" for c, v in columns]
        return " AND ".join(equalities if whole else equalities[: self.rng.choice((1, 2))])


Operation = Callable[[TableState], "Actions | None"]
"""Gives the actions of one operation, or None if it is not possible now."""
