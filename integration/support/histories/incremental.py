"""Histories with dbt runs: one table of Hive feeds incremental models of every kind."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import pytest

from dbt.adapters.hiveacid.incremental import model_run
from dbt.adapters.hiveacid.incremental.apply import (
    Apply,
    ApplyByFiles,
    RepeatedKeyInBatch,
    StagedRun,
)
from dbt.adapters.hiveacid.incremental.decision import FullRun, PlannedRun, QuietRun
from hiveacid.metastore.models import TableName
from integration.support.histories.actions import NotNow, Step, World
from integration.support.histories.history import COLUMNS, Broken, Ground, Histories, told
from integration.support.histories.operations import OPERATIONS
from integration.support.histories.shape import Shape
from integration.support.histories.table_state import TableState
from integration.support.histories.targets import MODELS, Targets, WrongTarget
from integration.support.hive import HiveSqlError
from integration.support.metastore import locks_of_dbt

#: A part of the reason for rebuilding a target, and its short name.
_REASONS = {
    "replaced all rows": "overwrite or truncate",
    "includes write ids": "compaction past the state",
    "dropped and created again": "partition dropped and created again",
    "it was dropped": "partition dropped",
    "were deleted or updated": "deletes without key and row id",
    "and insert-only rows have no write id": "compaction of an insert-only table",
    "may have numbered": "compaction that may have numbered rows anew",
    "without a trace": "rows gone without a trace",
    "it was moved from": "moved",
    "left it empty": "compaction that left nothing",
}


@contextmanager
def recorded(ways: Counter[tuple[str, str]]) -> Iterator[None]:
    """Count the ways by model and way, of all runs of models in this process.

    First runs, and those with --full-refresh, decide nothing, and do not count.
    """
    plan, choose = model_run.plan_run, StagedRun.choose_apply

    def recording_plan(context: Any, *args: Any) -> FullRun | QuietRun | PlannedRun:
        planned = plan(context, *args)
        if isinstance(planned, QuietRun) and not planned.is_partial:
            ways[context.model.name, "nothing had changed"] += 1
        elif isinstance(planned, FullRun):
            ways[context.model.name, f"full refresh: {_short(planned.reason)}"] += 1
        return planned

    def recording_choose(self: StagedRun) -> Any:
        step = choose(self)
        planned = self.planned
        name = _name_of(step)
        ways[planned.context.model.name, f"reconcile, {name}" if planned.reconciles else name] += 1
        return step

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_run, "plan_run", recording_plan)
        patch.setattr(StagedRun, "choose_apply", recording_choose)
        yield


def _name_of(step: QuietRun | Apply | RepeatedKeyInBatch) -> str:
    if isinstance(step, QuietRun):
        return "no change for the target"
    if isinstance(step, RepeatedKeyInBatch):
        return "again"
    if isinstance(step, ApplyByFiles):
        return "append" if step.is_append else "rewrite"
    return step.kind


def _short(reason: str) -> str:
    return next((short for part, short in _REASONS.items() if part in reason), reason[:80])


LENGTH = 12
"""Steps of a history, besides dbt runs and what is done to a table before it is converted."""

_RUNS = 2
"""So many dbt runs lie between the first and the last."""

KINDS: Mapping[str, Callable[[Shape], bool]] = {
    "plain": lambda s: s.full_acid and not (s.partition or s.buckets or s.converted),
    "partitioned": lambda s: s.full_acid and bool(s.partition) and not (s.buckets or s.converted),
    "insert-only": lambda s: not s.full_acid,
    "bucketed": lambda s: s.full_acid and bool(s.buckets) and not s.converted,
    "converted": lambda s: s.full_acid and s.converted and not s.partition,
    "partitioned and converted": lambda s: s.full_acid and s.converted and bool(s.partition),
}
"""The sources, which histories have in turns."""


_DESTRUCTIVE = frozenset(
    name
    for name in OPERATIONS
    if name.startswith(("overwrite", "truncate", "drop")) or name == "delete without where"
)
"""What takes all rows of a place at once. Other operations come more often, since most targets
follow such a one with a full refresh only."""


@dataclass
class FedWorld(World):
    """A table of a real Hive, and the targets that it feeds."""

    targets: Targets | None = None

    @property
    def fed(self) -> Targets:
        """The targets, once they have been made."""
        assert self.targets is not None
        return self.targets

    def follow_columns(self) -> None:
        """Let the models take up the columns that were added to the table."""
        columns = self.metastore.get_table(self.table).storage.columns
        self.fed.add_columns(tuple(column.name for column in columns[len(COLUMNS) :]))

    def end(self) -> None:
        """Remove the targets, too. No lock of dbt's may be left."""
        super().end()
        if self.targets is not None:
            self.targets.drop()
            assert not locks_of_dbt(self.client, self.table.database)


@dataclass(frozen=True)
class DbtRun:
    """A dbt run, after which targets are compared with Hive."""

    arguments: tuple[str, ...] = ()

    def run(self, world: World) -> None:
        """Raises WrongTarget."""
        assert isinstance(world, FedWorld)
        world.follow_columns()
        world.fed.run(*self.arguments)

    def script(self, world: World) -> str:
        return f"-- $ {' '.join(['dbt run', *self.arguments])}"


@dataclass(frozen=True)
class CatchUp:
    """dbt runs until the models that work in steps have done all."""

    def run(self, world: World) -> None:
        """Raises WrongTarget."""
        assert isinstance(world, FedWorld)
        world.fed.catch_up()

    def script(self, world: World) -> str:
        return "-- $ dbt run, until nothing has changed"


_RUN = Step("dbt run", (DbtRun(),))
_LAST = (
    Step("dbt run", (DbtRun(), CatchUp())),
    Step("dbt run --full-refresh", (DbtRun(("--full-refresh",)),)),
)


class FedHistories(Histories):
    """Histories with dbt runs, one after the other.

    `ways` counts how runs of models changed their targets, by model and way; `compared` the
    comparisons by model; `kinds` the sources.
    """

    # A renamed column, or one of another type, is another model.
    operations = {
        name: operation
        for name, operation in OPERATIONS.items()
        if name not in ("rename column", "widen column")
    }

    def __init__(
        self, ground: Ground, spark_settings: Mapping[str, str], targets: int = len(MODELS)
    ) -> None:
        """`spark_settings` are those of the session that the differential has.

        Each table feeds so many `targets`, of the seed's choice.
        """
        super().__init__(ground)
        self.ways: Counter[tuple[str, str]] = Counter()
        self.compared: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self._spark_settings = spark_settings
        self._targets = targets
        self._partition: tuple[str, ...] = ()
        self._models: Sequence[str] = ()

    def run_one(self, shrink_seconds: float) -> None:
        """Run the next history; a mismatch ends it, and is made smaller for so long."""
        number = self.tally.tables
        self.tally.tables += 1
        rng = random.Random(f"{self.seed}/{number}")
        kind = list(KINDS)[(self.seed + number) % len(KINDS)]
        shape = self._choose_shape(rng)
        while not KINDS[kind](shape):
            shape = self._choose_shape(rng)
        self.kinds[kind] += 1
        self.tally.shapes[shape.name] += 1
        self._partition = tuple(column.name for column in shape.partition)
        choice = random.Random(f"{self.seed}/{number}/targets")
        self._models = choice.sample(list(MODELS), self._targets)
        world = self._fed_world(f"t{number}", self._models)
        steps: list[Step] = []
        try:
            with recorded(self.ways):
                self._live(world, self._begin(world, shape, rng, steps), steps)
        except HiveSqlError as error:
            script = self._script(world, steps, None)
            self.tally.failed_in_hive.append(Broken(number, shape.name, str(error), script))
        except Exception as error:
            reason = told(error)
            shrunk = self._shrunk(steps, None, error, shrink_seconds)
            world.fed.models = self._needed(error)
            script = f"{self._script(world, shrunk, None)}\n{world.fed.script()}"
            self.tally.mismatches.append(Broken(number, shape.name, reason, script))
        finally:
            self.compared += world.fed.comparisons
            # After a mismatch, what is left proves nothing.
            unproven = (AssertionError,) if self.tally.mismatches else ()
            with suppress(HiveSqlError, *unproven):
                world.end()

    def _live(self, world: FedWorld, table: TableState, steps: list[Step]) -> None:
        """The steps, with dbt runs between them."""
        first = table.rng.randint(0, 2)
        runs = {first, *table.rng.sample(range(first + 2, LENGTH), _RUNS)}
        done = 0
        while done < LENGTH or table.is_written:
            if done in runs:
                self._do(world, _RUN, steps)
            self._next_step(world, table, steps, is_over=done >= LENGTH)
            done += 1
        for step in _LAST:
            self._do(world, step, steps)

    def _times(self, name: str) -> int:
        times = super()._times(name)
        return 3 * times + 2 if name in _DESTRUCTIVE else times

    def _fed_world(self, name: str, models: Sequence[str]) -> FedWorld:
        scratch = self._scratch / name
        scratch.mkdir(parents=True)
        table = TableName(self._database, name)
        targets = Targets.make(
            scratch / "project",
            self._differential,
            self._spark_settings,
            table,
            self._partition,
            models,
        )
        return FedWorld(
            self._client, self._metastore, self._connect, table, scratch, targets=targets
        )

    def _needed(self, error: Exception) -> Sequence[str]:
        """Return the models of the last history that are needed to show its failure."""
        return [error.model] if isinstance(error, WrongTarget) else self._models

    def _fails_alike(
        self, steps: Sequence[Step], where: str | None, error: Exception, name: str
    ) -> bool:
        world = self._fed_world(name, self._needed(error))
        try:
            for step in steps:
                step.run(world)
            return False
        except (NotNow, KeyError, HiveSqlError):
            return False
        except WrongTarget as again:
            return isinstance(error, WrongTarget) and again.what == error.what
        except Exception as again:
            return type(again) is type(error)
        finally:
            with suppress(HiveSqlError):
                world.end()
