"""Where the state of a target is kept: with its rows, so that both change in one commit."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from dbt.adapters.hiveacid.exceptions import ConcurrentRunError
from dbt.adapters.hiveacid.incremental.target_state import Known, TargetState

Query = Callable[[str], Iterable[Any]]
"""Runs a statement and gives its rows; a column is got as `row["name"]`."""


def overtaken(table: str) -> ConcurrentRunError:
    """What a run is told that finds the target changed by another one."""
    return ConcurrentRunError(
        f"Another run has changed {table} at the same time and was faster. This run has changed "
        "nothing. Run the model again, and never twice at a time."
    )


class Store(Protocol):
    """The state of one target."""

    def read(self) -> Known:
        """What the target's rows come from. May finish what a run that died has begun."""

    def reset(self) -> None:
        """Remove the state: the next run builds the target anew."""


class CommitStore(Store, Protocol):
    """The state of a target of a format with commits."""

    def begin(self, base: Known) -> str | None:
        """Prepare the statement that changes the target from `base`.

        The part below the table that the statement has to write into, as SQL names it: a branch;
        None for the table itself. Building a target anew needs no such call.

        Raises:
            ConcurrentRunError: another run has changed the target since `base` was read.
        """

    def committing(self, base: Known, state: TargetState) -> AbstractContextManager[None]:
        """Around the one statement that changes the target from `base` to `state`.

        Raises:
            ConcurrentRunError: another run has changed the target since `base` was read. Nothing
                of this run stays in the target.
        """
