"""What a run of a model has to do, and the state of a source that it goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dbt.adapters.hiveacid.incremental.state import SourceState
from dbt.adapters.hiveacid.incremental.target_state import LostState, TargetState
from dbt.adapters.hiveacid.sources import SourceView


class Step(Enum):
    """What a run of a model has to do; CHECK is to look at its SQL, and to change nothing."""

    NOTHING = "nothing"
    CHECK = "check"
    FULL = "full"
    APPLY = "apply"


@dataclass(frozen=True)
class Decision:
    """What to do, and, for a table that is to be built anew, why."""

    step: Step
    reason: str = ""
    is_loss: bool = False


def known_source(known: TargetState, view: SourceView) -> SourceState | LostState:
    """What a target's state says of one of its sources."""
    # A state from before parts of a table were told apart has the table's name alone.
    found = known.sources.get(source_key(view)) or known.sources.get(str(view.table))
    if found is None:
        return LostState(
            f"its rows come from {', '.join(known.sources)}, not from {source_key(view)}"
        )
    try:
        return SourceState.from_json(found)
    except ValueError as error:
        return LostState(f"its state cannot be read ({error})")


def source_key(view: SourceView) -> str:
    """What a state calls a source: one model may read several parts of a table."""
    return f"{view.table} ({view.options})" if str(view.options) else str(view.table)
