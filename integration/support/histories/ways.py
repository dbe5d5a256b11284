"""Which way each run of a model over `acid_changes` took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dbt.adapters.hiveacid.incremental.methods import IncrementalMethods
from dbt.adapters.hiveacid.incremental.model_run import Decision, ModelChanges, Step

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
    "left nothing there": "compaction that left nothing",
}


@contextmanager
def recorded(ways: Counter[tuple[str, str]]) -> Iterator[None]:
    """Count the ways by model and way, of all runs of models in this process.

    First runs, and those with --full-refresh, decide nothing, and do not count.
    """
    decide, way_of = ModelChanges.decide, IncrementalMethods.hiveacid_way

    def recording_decide(self: ModelChanges, *args: Any, **kwargs: Any) -> Decision:
        decision = decide(self, *args, **kwargs)
        if decision.step is Step.NOTHING:
            ways[self.model, "nothing had changed"] += 1
        elif decision.step is Step.FULL:
            ways[self.model, f"full refresh: {_short(decision.reason)}"] += 1
        return decision

    def recording_way(self: IncrementalMethods, stage: Any) -> str:
        way = way_of(self, stage)
        changes = self._changes()
        name = "no change for the target" if way == "nothing" else way
        ways[changes.model, f"reconcile, {name}" if changes.reconciled else name] += 1
        return way

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ModelChanges, "decide", recording_decide)
        patch.setattr(IncrementalMethods, "hiveacid_way", recording_way)
        yield


def _short(reason: str) -> str:
    return next((short for part, short in _REASONS.items() if part in reason), reason[:80])
