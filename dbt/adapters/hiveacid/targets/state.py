"""State of a target, which is the state of the sources of its rows, and stores of states."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Protocol

from pyspark.sql import Row

from dbt.adapters.hiveacid.errors import ConcurrentRunError

KEY = "dbt_hiveacid"
"""The JSON member, and the snapshot property, that identify this adapter's states."""

VERSION = 1


class Checks(Enum):
    """Progress of the checks of a table that is replaced in place, before its rows are checked.

    The commit of the rows has `PENDING`. A later commit without rows has `PASSED` and the same
    `commit_id`.
    """

    PENDING = "pending"
    PASSED = "passed"


@dataclass(frozen=True)
class TargetState:
    """The state of a target after one commit.

    Attributes:
        commit_id: unique id of the commit.
        invocation_id: id of the dbt command.
        lineage: id of the commits since the table was last built as a whole without a known state.
        generation: number of the commit in its lineage, from 1. Lineage and generation together
            serve as compare-and-set.
        sources: maps each source (`database.table`, and its options if it has any) to its state as
            JSON.
        checks: None except in the two commits of a table that is replaced in place.
        unique_key: the columns whose values are unique in the table, in lower case and sorted;
            empty if uniqueness was not checked.
    """

    commit_id: str
    invocation_id: str
    lineage: str
    generation: int
    sources: Mapping[str, Any]
    checks: Checks | None = None
    unique_key: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return one line of JSON."""
        fields: dict[str, Any] = {
            "version": VERSION,
            "commit_id": self.commit_id,
            "invocation_id": self.invocation_id,
            "lineage": self.lineage,
            "generation": self.generation,
            "sources": dict(self.sources),
        }
        if self.unique_key:
            fields["unique_key"] = list(self.unique_key)
        if self.checks is not None:
            fields["checks"] = self.checks.value
        return json.dumps({KEY: fields}, separators=(",", ":"), sort_keys=True)


@dataclass(frozen=True)
class LostState:
    """State of a target whose rows can no longer be traced to a state of its sources.

    `reason` is a clause after "because". `commit_id` is the id of the commit that shows it, if the
    commit has one.
    """

    reason: str
    commit_id: str | None = None


StateLookup = TargetState | LostState | None
"""Result of a look-up in a store; None for a table that never had a state."""


def commit_of(known: StateLookup) -> str | None:
    """Return the id to compare two look-ups by: if the ids differ, the target has changed."""
    return None if known is None else known.commit_id


class HistoryScan:
    """Scan of the states in a table's commits, from the newest to the effective one.

    Passed checks apply to the commit that they name, wherever they are in the history. They do not
    apply to the rows of another run that has committed in between.
    """

    def __init__(self) -> None:
        self._passed: set[str] = set()
        self._newest: TargetState | None = None

    def visit(self, state: StateLookup) -> StateLookup:
        """Visit the state of the next older commit. Return the table's state; None to go on."""
        if not isinstance(state, TargetState):
            return state
        if state.checks is Checks.PASSED:
            self.skip(state)
            self._newest = self._newest or state
            return None
        if state.checks is Checks.PENDING and state.commit_id not in self._passed:
            return LostState(
                "the run that has built it ended before its rows were checked", state.commit_id
            )
        return replace(state, checks=None)

    def skip(self, state: StateLookup) -> None:
        """Record only the passed checks of a commit that was undone, whose rows are not read."""
        if isinstance(state, TargetState) and state.checks is Checks.PASSED:
            self._passed.add(state.commit_id)

    def end(self) -> TargetState | None:
        """Return the table's state when there are no older commits."""
        return None if self._newest is None else replace(self._newest, checks=None)


def parse(text: str | None) -> StateLookup:
    """Return the state in a text; None if the text contains no state of this adapter."""
    if not text or KEY not in text:
        return None
    try:
        fields = json.loads(text)[KEY]
        if fields.get("version") != VERSION:
            return LostState(
                f"its state has the version {fields.get('version')}, which this release of "
                f"dbt-hiveacid does not know (it writes version {VERSION})"
            )
        if "reset" in fields:
            return LostState(
                "its state was removed, by hiveacid_reset_state or by a run without acid_changes"
            )
        return TargetState(
            commit_id=fields["commit_id"],
            invocation_id=fields["invocation_id"],
            lineage=fields["lineage"],
            generation=fields["generation"],
            sources=fields["sources"],
            checks=Checks(fields["checks"]) if "checks" in fields else None,
            unique_key=tuple(fields.get("unique_key", ())),
        )
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        return LostState(f"its state cannot be read ({type(error).__name__}: {error})")


def reset_text() -> str:
    """Return the text that marks a removed state."""
    return json.dumps({KEY: {"version": VERSION, "reset": True}}, separators=(",", ":"))


def next_state(
    base: StateLookup,
    invocation_id: str,
    sources: Mapping[str, Any],
    unique_key: tuple[str, ...] = (),
) -> TargetState:
    """Return the state of the commit after `base`."""
    if isinstance(base, TargetState):
        lineage, generation = base.lineage, base.generation + 1
    else:
        lineage, generation = uuid.uuid4().hex, 1
    commit_id = uuid.uuid4().hex
    return TargetState(
        commit_id, invocation_id, lineage, generation, sources, unique_key=unique_key
    )


Query = Callable[[str], Iterable[Row]]
"""Function that runs a statement and returns its rows, with columns as `row["name"]`."""

_PAUSE = 0.5
"""Seconds between two checks whether another run has put its new version in place."""


def overtaken(table: str) -> ConcurrentRunError:
    """Return the error for a run that finds its target changed by another run."""
    return ConcurrentRunError(
        f"Another run has changed {table} at the same time, so the changes of this run no "
        "longer fit the table, and this run has changed nothing. Run the model again, and do "
        "not run it twice at the same time."
    )


def check_confirmed(table: str, found: StateLookup, built: TargetState) -> None:
    """Check that `built` is the effective state, after `CommitStore.confirm` has committed.

    Raises:
        ConcurrentRunError: another state is effective.
    """
    if isinstance(found, LostState) or commit_of(found) != built.commit_id:
        raise overtaken(table)


@dataclass(frozen=True)
class OtherRuns:
    """Liveness of other runs, and how long to wait for one.

    `are_alive` takes the id of an invocation. `seconds` is the longest wait. `raise_if_cancelled`
    raises if the waiting run itself is cancelled.
    """

    are_alive: Callable[[str], bool]
    seconds: float
    raise_if_cancelled: Callable[[], None]


class WaitForRun:
    """Wait of one run for other runs that are about to put a new version of a table in place."""

    def __init__(self, table: str, seconds: float, raise_if_cancelled: Callable[[], None]) -> None:
        """Begin to wait, for at most `seconds` (`lock_timeout` in the profile).

        `raise_if_cancelled` raises if the waiting run itself is cancelled.
        """
        self._table = table
        self._seconds = seconds
        self._raise_if_cancelled = raise_if_cancelled
        self._deadline = time.monotonic() + seconds

    def wait_for(self, invocation: str | None) -> None:
        """Sleep for `_PAUSE`; the caller then checks again whether the other run has finished.

        Raises:
            ConcurrentRunError: the longest wait is over.
        """
        if time.monotonic() > self._deadline:
            known = f" (invocation {invocation[:8]}…)" if invocation else ""
            raise ConcurrentRunError(
                f"Another run{known} is about to replace {self._table}, and has not done so "
                f"within {self._seconds:g} s. This run has changed nothing. Run the model "
                "again when the other run has ended. If the other run was killed, the next "
                "run after metastore.txn.timeout removes what it has left."
            )
        time.sleep(_PAUSE)
        self._raise_if_cancelled()


class Store(Protocol):
    """Store of the state of one target."""

    def read(self) -> StateLookup:
        """Look up the state of the target's rows. May finish an append that a dead run began."""

    def recent(self) -> StateLookup:
        """Look up the state like `read`, but possibly not behind many commits of other writers."""

    def reset(self) -> None:
        """Remove the state, so that the next run builds the target as a whole."""


class CommitStore(Store, Protocol):
    """Store of the state of a target whose format has commits."""

    def begin(self, base: StateLookup) -> str | None:
        """Prepare the statement that changes the target from `base`.

        Return the branch of the table to write into, as named in SQL; None for the table itself. A
        build of the whole table does not call this.

        Raises:
            ConcurrentRunError: another run has changed the target since `base` was read.
        """

    def committing(self, base: StateLookup, state: TargetState) -> AbstractContextManager[None]:
        """Commit `state` together with the one statement of the block, which changes the target.

        Raises:
            ConcurrentRunError: another run has changed the target since `base` was read. Nothing
                of this run stays in the target.
        """

    def confirm(self, built: TargetState) -> None:
        """Make the state of a target effective that was replaced in place and has been checked.

        `built` is the state given to `committing`, with checks pending. A second commit without
        rows is needed, since the first commit comes before the checks.

        Raises:
            ConcurrentRunError: another run has replaced the target since.
        """
