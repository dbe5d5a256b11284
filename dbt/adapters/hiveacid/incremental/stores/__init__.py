"""Where the state of a target is kept: with its rows, so that both change in one commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from dbt.adapters.hiveacid.exceptions import ConcurrentRunError
from dbt.adapters.hiveacid.incremental.target_state import (
    Known,
    LostState,
    TargetState,
    commit_of,
)

Query = Callable[[str], Iterable[Any]]
"""Runs a statement and gives its rows; a column is got as `row["name"]`."""

_PAUSE = 0.5
"""Seconds between two looks at whether another run has put its new version in place."""


def overtaken(table: str) -> ConcurrentRunError:
    """What a run is told that finds the target changed by another one."""
    return ConcurrentRunError(
        f"Another run has changed {table} at the same time and was faster. This run has changed "
        "nothing. Run the model again, and never twice at a time."
    )


def check_confirmed(table: str, found: Known, built: TargetState) -> None:
    """See that the state `built` counts, after `CommitStore.confirm` has made its commit.

    Raises:
        ConcurrentRunError: another one does.
    """
    if isinstance(found, LostState) or commit_of(found) != built.commit_id:
        raise overtaken(table)


@dataclass(frozen=True)
class Others:
    """The other runs: whether one is alive, by its invocation, and how many seconds to wait.

    `raise_if_cancelled` raises if the waiting run itself is cancelled.
    """

    are_alive: Callable[[str], bool]
    patience: float
    raise_if_cancelled: Callable[[], None]


class Patience:
    """How long a run waits for others that are about to put a new version of a table in place."""

    def __init__(self, table: str, seconds: float, raise_if_cancelled: Callable[[], None]) -> None:
        """The time runs from now on; `seconds` is the profile's `lock_timeout`.

        `raise_if_cancelled` raises if the waiting run itself is cancelled.
        """
        self._table = table
        self._seconds = seconds
        self._raise_if_cancelled = raise_if_cancelled
        self._deadline = time.monotonic() + seconds

    def wait_for(self, invocation: str | None) -> None:
        """Return after a moment, to look again whether this other run has finished.

        Raises:
            ConcurrentRunError: it has been waited for long enough.
        """
        if time.monotonic() > self._deadline:
            known = f" (invocation {invocation[:8]}…)" if invocation else ""
            raise ConcurrentRunError(
                f"Another run{known} is about to replace {self._table}, "
                f"and has not done so within {self._seconds:g} s. This run has changed nothing. "
                "Run the model again when the other run has ended. If that was killed, the "
                "metastore gives its transaction up after metastore.txn.timeout; then its traces "
                "are removed."
            )
        time.sleep(_PAUSE)
        self._raise_if_cancelled()


class Store(Protocol):
    """The state of one target."""

    def read(self) -> Known:
        """What the target's rows come from. May finish what a run that died has begun."""

    def recent(self) -> Known:
        """As `read`, but it may overlook a state that is many commits of others old."""

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

    def confirm(self, built: TargetState) -> None:
        """Let the state of a target count that was built anew in its place, and checked since.

        `built` is the state that `committing` was given, with checks pending. It takes a second
        commit, without rows: the first one comes before the checks.

        Raises:
            ConcurrentRunError: another run has built it anew since.
        """
