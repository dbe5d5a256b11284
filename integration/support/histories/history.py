"""One history: a table of the seed's choice, operation by operation, compared after each."""

from __future__ import annotations

import os
import random
import re
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.differential import Differential
from integration.support.histories.actions import NotNow, Sql, Step, World
from integration.support.histories.hives import has_direct_insert, has_operation, has_shape
from integration.support.histories.operations import BEFORE_CONVERSION, OPERATIONS
from integration.support.histories.shape import Column, Shape
from integration.support.histories.table_state import Operation, TableState
from integration.support.hive import HiveClient, HiveServer, HiveSettings, HiveSqlError
from integration.support.hive.config import ON_MAPREDUCE

COLUMNS = (Column("id", "int"), Column("name", "string"), Column("amount", "decimal(10,2)"))
"""What tables have when they are created."""

_FREE_TABLES = 4
"""So many tables are what the seed says; the next ones suit the operations that were rare.

In a run that wants each operation once, only the first table is.
"""
_ENDINGS = ("late commit", "late abort")
_OPENS = {"open write": _ENDINGS, "drop partition": ("add a dropped partition",)}


IN_TEST = HiveSettings(
    txn_timeout=120,
    reaper_interval=2,
    cleaner_interval=0.5,
    extra={
        "hive.in.test": "true",
        # Else such a metastore asks clients for a capability that only Hive's own tests have.
        "metastore.client.capability.check": "false",
        # A history made smaller may lack the end of a writer whose lock the next statement needs:
        # that statement fails after some ten seconds (the waits double, from 50 or 100 ms on), not
        # after an hour.
        "hive.lock.numretries": "7",
    },
)
"""A Hive for random histories, which aborts transactions on request (`hive.test.rollbacktxn`)."""

LEAST = 5
"""How often a long run must do each operation."""


@dataclass(frozen=True)
class Broken:
    """A history that ended before its time: why, and how to run it again."""

    table: int
    shape: str
    reason: str
    script: str

    def __str__(self) -> str:
        return (
            f"Table {self.table} ({self.shape}):\n{self.reason[:4000]}\n"
            f"To run again in Hive:\n{self.script}"
        )


def told(error: Exception) -> str:
    """What went wrong, and where."""
    return "".join(traceback.format_exception(error, limit=-8))[-4000:]


def was_cleaned(error: str) -> bool:
    """Whether a file is gone next to a compaction's directory that holds no file."""
    found = re.search(r"(?:File )?file:(/.*) (?:does not exist|was listed, and is gone)", error)
    if found is None or Path(found[1]).exists():
        return False
    compacted = Path(found[1]).parent.parent.glob("*_v[0-9]*")
    return any(not any(directory.iterdir()) for directory in compacted)


@dataclass
class Tally:
    """What was done so far.

    A mismatch is the reader's: it showed something else than Hive, or nothing. When Hive itself
    fails a statement, there is nothing to compare with: the history ends, and is kept apart.
    """

    tables: int = 0
    comparisons: int = 0
    read_again: int = 0
    """Comparisons that were made again, since Hive's cleaner removed a file from under them."""
    operations: Counter[str] = field(default_factory=Counter)
    shapes: Counter[str] = field(default_factory=Counter)
    mismatches: list[Broken] = field(default_factory=list)
    failed_in_hive: list[Broken] = field(default_factory=list)
    contradictions: list[str] = field(default_factory=list)
    """See `Differential.contradictions`: Hive was asked again, and the history went on."""
    least: int = LEAST
    """How often each operation must be done."""
    wanted: Sequence[str] = tuple(OPERATIONS)
    """The operations that must be done so often."""

    def rare(self) -> list[str]:
        """The operations that have not been done often enough."""
        return [name for name in self.wanted if self.operations[name] < self.least]


@dataclass(frozen=True)
class Ground:
    """Where histories take place: a database of a real Hive, and an empty directory.

    `seed` chooses what happens there.
    """

    differential: Differential
    metastore: MetastoreClient
    connect: Callable[[], MetastoreClient]
    database: str
    scratch: Path
    seed: int

    @classmethod
    @contextmanager
    def make(
        cls, hive: HiveServer, spark: SparkSession, scratch: Path, prefix: str
    ) -> Iterator[Ground]:
        """A new database `<prefix>_<seed>`; HISTORIES_SEED chooses the seed, else it is fresh."""
        seed = int(os.environ.get("HISTORIES_SEED") or random.SystemRandom().randrange(2**32))
        database = f"{prefix}_{seed}"
        connect = partial(MetastoreClient, hive.metastore_uri, timeout=60)
        with HiveClient(hive.hs2_port, log=hive.log) as client, connect() as metastore:
            if hive.settings.query_compaction:
                client.execute(ON_MAPREDUCE)
            client.execute(f"CREATE DATABASE {database}")
            differential = Differential(hive, client, spark)
            yield cls(differential, metastore, connect, database, scratch, seed)


class Histories:
    """Runs histories one after the other in one database, which has the table `numbers`."""

    operations: Mapping[str, Operation] = OPERATIONS
    """What the steps are chosen from."""
    opened_by: Mapping[str, Sequence[str]] = _OPENS
    """The operations that need an earlier one, by that one."""
    endings: Sequence[str] = _ENDINGS
    """The operations by which all that is open ends."""
    steps: tuple[int, int] = (9, 16)
    """How many steps a history has at least, and at most."""
    first: tuple[str, ...] = ("insert", "load")
    """How the names of the operations begin that the first steps are chosen from."""

    def __init__(self, ground: Ground) -> None:
        self.seed = ground.seed
        self.tally = Tally(contradictions=ground.differential.contradictions)
        self._differential = ground.differential
        self._hive = ground.differential.hive.version
        self._client = ground.differential.client
        self._metastore = ground.metastore
        self._connect = ground.connect
        self._database = ground.database
        self._scratch = ground.scratch

    def prepare(self) -> None:
        """Make the table that rows come from. Raises HiveSqlError."""
        numbers = f"{self._database}.numbers"
        self._client.execute(
            f"CREATE TABLE {numbers} (n int) STORED AS ORC TBLPROPERTIES ('transactional'='false')"
        )
        values = ", ".join(f"({n})" for n in range(1, 31))
        self._client.execute(f"INSERT INTO {numbers} VALUES {values}")

    def run_one(self, shrink_seconds: float) -> None:
        """Run the next history; a mismatch ends it, and is made smaller for so long."""
        number = self.tally.tables
        self.tally.tables += 1
        rng = random.Random(f"{self.seed}/{number}")
        shape = self._shape(rng)
        self.tally.shapes[shape.name] += 1
        world = self._world(f"t{number}")
        steps: list[Step] = []
        where: str | None = None
        try:
            table = self._begin(world, shape, rng, steps)
            wanted = len(steps) + rng.randint(*self.steps)
            while len(steps) < wanted or table.is_written:
                self._next_step(world, table, steps, is_over=len(steps) >= wanted)
                where = table.condition()
                self._compare(world, where)
                self.tally.comparisons += 1
        except HiveSqlError as error:
            script = self._script(world, steps, where)
            self.tally.failed_in_hive.append(Broken(number, shape.name, str(error), script))
        except Exception as error:
            reason = told(error)
            script = self._script(world, self._shrunk(steps, where, error, shrink_seconds), where)
            self.tally.mismatches.append(Broken(number, shape.name, reason, script))
        finally:
            # Hive's answer to this is not what is tested, and a failure would hide the history's.
            with suppress(HiveSqlError):
                world.end()

    def _shape(self, rng: random.Random) -> Shape:
        shape = self._choose_shape(rng)
        if self._hurries and rng.random() < 0.75:
            rare = self.tally.rare()
            unpartitioned = "overwrite" in rare and rng.random() < max(0.25, 1 / len(rare))
            while bool(shape.partition) == unpartitioned or not shape.allows_most:
                shape = self._choose_shape(rng)
        return shape

    def _choose_shape(self, rng: random.Random) -> Shape:
        shape = Shape.choose(rng)
        while not has_shape(self._hive, shape):
            shape = Shape.choose(rng)
        return shape

    @property
    def _hurries(self) -> bool:
        """Whether operations that have been rare come first. Not by the clock: the same seed
        gives the same histories."""
        free = _FREE_TABLES if self.tally.least > 1 else 1
        return self.tally.tables > free and bool(self.tally.rare())

    def _world(self, name: str) -> World:
        scratch = self._scratch / name
        scratch.mkdir(parents=True, exist_ok=True)
        table = TableName(self._database, name)
        return World(self._client, self._metastore, self._connect, table, scratch)

    def _begin(
        self, world: World, shape: Shape, rng: random.Random, steps: list[Step]
    ) -> TableState:
        table = self._state(shape, rng)
        table.hive = self._hive
        actions = [Sql(shape.create(list(COLUMNS)))]
        if has_direct_insert(self._hive):
            direct = str(shape.direct_insert).lower()
            actions.insert(0, Sql(f"SET hive.acid.direct.insert.enabled={direct}"))
        self._do(world, Step("create", tuple(actions)), steps)
        if shape.converted:
            for _ in range(rng.randint(1, 4)):
                self._next_step(world, table, steps)
            self._do(world, Step("convert", (Sql(shape.convert),)), steps)
            table.transactional = True
        return table

    def _state(self, shape: Shape, rng: random.Random) -> TableState:
        return TableState(shape, rng, list(COLUMNS), transactional=not shape.converted)

    def _next_step(
        self, world: World, table: TableState, steps: list[Step], is_over: bool = False
    ) -> None:
        """Do one more operation, rather one that was rare so far; if it is over, end a writer."""
        if table.shape.partition:
            table.partitions = world.partitions()
        names = list(self.operations)
        if not table.transactional:
            names = [name for name in BEFORE_CONVERSION if name in self.operations]
        names = [name for name in names if has_operation(self._hive, table.shape, name)]
        if len(steps) < 3:
            names = [name for name in names if name.startswith(self.first)]
        if is_over:
            names = list(self.endings)
        while True:
            (name,) = table.rng.choices(names, self._weights(names))
            actions = self.operations[name](table)
            if actions is None:
                names.remove(name)
                continue
            try:
                self._do(world, Step(name, actions), steps)
            except NotNow:
                names.remove(name)
                continue
            return

    def _weights(self, names: Sequence[str]) -> list[float]:
        """Return how likely each operation shall be: the rarer, the likelier."""
        rarest = min(self._times(name) for name in names)
        if not self._hurries:
            return [2.0 ** -min(6, self._times(name) - rarest) for name in names]
        wanted = set(self.tally.wanted)
        return [
            8.0 ** -min(6, self._times(name) - rarest)
            if wanted & {name, *self.opened_by.get(name, ())}
            else 8.0**-2
            for name in names
        ]

    def _times(self, name: str) -> int:
        """How often an operation was done, or what it makes possible."""
        return min(self.tally.operations[other] for other in (name, *self.opened_by.get(name, ())))

    def _do(self, world: World, step: Step, steps: list[Step]) -> None:
        # A step that fails belongs to the script that shows the failure.
        steps.append(step)
        try:
            step.run(world)
        except NotNow:
            steps.pop()
            raise
        self.tally.operations[step.operation] += 1

    def _compare(self, world: World, where: str | None) -> None:
        """Compare a table with Hive's; again where Hive's cleaner removed a file meanwhile.

        It may do so after a compaction on Tez that left a directory without any file: readers do
        not see the directory, neither Hive's own nor the library's, and go on with what it
        replaces (docs/troubleshooting.md, "Hive's cleaner may have removed the file").
        """
        try:
            self._differential.check(str(world.table), where)
        except Exception as error:
            on_tez = self._differential.hive.settings.query_compaction
            if not (on_tez and was_cleaned(str(error))):
                raise
            self.tally.read_again += 1
            self._differential.check(str(world.table), where)

    def _shrunk(
        self, steps: Sequence[Step], where: str | None, error: Exception, seconds: float
    ) -> list[Step]:
        """The steps without those that the failure does not need, as far as the time suffices."""
        deadline = time.monotonic() + seconds
        needed = list(steps)
        for position in range(len(steps) - 2, 0, -1):
            if time.monotonic() > deadline:
                break
            fewer = needed[:position] + needed[position + 1 :]
            if self._fails_alike(fewer, where, error, f"s{self.tally.tables}_{position}"):
                needed = fewer
        return needed

    def _fails_alike(
        self, steps: Sequence[Step], where: str | None, error: Exception, name: str
    ) -> bool:
        world = self._world(name)
        try:
            for step in steps:
                step.run(world)
            self._compare(world, where)
            return False
        except (NotNow, KeyError, HiveSqlError):
            return False
        except Exception as again:
            return type(again) is type(error)
        finally:
            with suppress(HiveSqlError):
                world.end()

    def _script(self, world: World, steps: Sequence[Step], where: str | None) -> str:
        numbers = ", ".join(f"({n})" for n in range(1, 31))
        lines = [
            f"CREATE DATABASE {self._database}; USE {self._database};",
            "CREATE TABLE numbers (n int) STORED AS ORC TBLPROPERTIES ('transactional'='false');",
            f"INSERT INTO numbers VALUES {numbers};",
            *(step.script(world) for step in steps),
            f"SELECT * FROM {world.table}" + (f" WHERE {where};" if where else ";"),
        ]
        return "\n".join(lines)
