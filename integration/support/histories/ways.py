"""Which way each run of a model over `acid_changes` took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
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

#: A part of the reason for building a target anew, and its short name.
_REASONS = {
    "replaced all rows": "overwrite or truncate",
    "took in write ids": "compaction past the state",
    "dropped and created again": "partition dropped and created again",
    "it was dropped": "partition dropped",
    "were deleted or updated": "deletes without key and row id",
    "and insert-only rows carry no write id": "compaction of an insert-only table",
    "may have numbered": "compaction that may have numbered rows anew",
    "without a trace": "rows gone without a trace",
    "it was moved from": "moved",
    "left nothing there": "compaction that left nothing",
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
