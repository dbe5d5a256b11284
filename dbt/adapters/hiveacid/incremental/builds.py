"""Builds of whole tables, in place or in a stage, with the state of a model over `acid_changes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from dbt.adapters.contracts.connection import AdapterResponse

from dbt.adapters.hiveacid.errors import raising_dbt_errors
from dbt.adapters.hiveacid.incremental.key_checks import refuse_repeated_key
from dbt.adapters.hiveacid.incremental.run_context import RunContext, RunServices
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.files import write_record
from dbt.adapters.hiveacid.targets.recovery import TableVersion
from dbt.adapters.hiveacid.targets.state import Checks, CommitStore, StateLookup, TargetState
from hiveacid.changes.plan import ChangePlan

T = TypeVar("T")


@dataclass(frozen=True)
class TrackedBuild:
    """A build whose target keeps the state of the model's sources; `previous` is its old state."""

    context: RunContext
    previous: StateLookup


class BuildInPlace:
    """A table that is about to be replaced in one commit of its format, Delta or Iceberg.

    The checks come after the commit. If a check fails, the previous version is restored. A run that
    is killed cannot restore it, so the state is effective only after `BuiltInPlace.confirm`.
    """

    def __init__(
        self,
        services: RunServices,
        target: HiveAcidRelation,
        old: HiveAcidRelation | None,
        tracked: TrackedBuild | None,
    ) -> None:
        """`old` is the relation with the target's name; `tracked` is None without a state."""
        self._services = services
        self._target = target
        self._old = old
        self._version = services.recovery.version_of(old)
        self._tracked = None if tracked is None else _with_previous_state(tracked, old)

    @raising_dbt_errors
    def commit(self, sql: str) -> BuiltInPlace:
        """Run the statement that replaces the target, with the new state in the same commit.

        Raises:
            ConcurrentRunError: another run was faster.
        """
        services, tracked = self._services, self._tracked
        if tracked is None:
            return self._built(services.execute(sql))
        context, model = tracked.context, tracked.context.model
        state = replace(context.next_state(tracked.previous, None), checks=Checks.PENDING)
        base = tracked.previous
        if base is None:
            base = _read_left_behind(context)
        store = services.stores.commit_store(model.target, model.config.file_format)
        with services.statements.errors(sql), store.committing(base, state):
            response = services.execute(sql)
        return self._built(response, _PendingState(context, store, state))

    def _built(
        self, response: AdapterResponse, pending: _PendingState | None = None
    ) -> BuiltInPlace:
        return BuiltInPlace(
            self._services, self._target, self._old, self._version, response, pending
        )


@dataclass(frozen=True)
class _PendingState:
    """A state that is committed and not effective yet."""

    context: RunContext
    store: CommitStore
    state: TargetState


@dataclass(frozen=True)
class BuiltInPlace:
    """A table that has been replaced in place, and whose rows are not checked yet."""

    services: RunServices = field(repr=False)
    target: HiveAcidRelation
    old: HiveAcidRelation | None
    version: TableVersion | None
    response: AdapterResponse
    pending: _PendingState | None

    @raising_dbt_errors
    def run_or_restore(self, caller: Callable[[], T]) -> T:
        """Run the checks of a `call` block; if one fails, restore the previous version."""
        return self.services.recovery.run_or_restore(self.target, self.old, self.version, caller)

    @raising_dbt_errors
    def check_unique_key(self) -> None:
        """Refuse a table in which `unique_key` is not unique.

        Raises:
            IncrementalError: several rows have the same key; the message has the key and the count.
        """
        if self.pending is not None:
            refuse_repeated_key(self.pending.context, self.target)

    @raising_dbt_errors
    def confirm(self) -> None:
        """Make the new state effective, now that the rows are checked.

        If the run dies before this, the next run builds the target again.

        Raises:
            ConcurrentRunError: another run has replaced the table since.
        """
        if self.pending is not None:
            store, state = self.pending.store, self.pending.state
            self.services.statements.run(
                f"confirm the state of {self.target}", lambda: store.confirm(state)
            )


class BuildInStage:
    """A table that is about to be built in a stage, and replaces its target when checked."""

    def __init__(
        self,
        services: RunServices,
        target: HiveAcidRelation,
        location_root: str | None,
        tracked: TrackedBuild | None,
    ) -> None:
        self._services = services
        self._tracked = tracked
        self.relation = services.staging.stage(target, location_root)

    @raising_dbt_errors
    def commit(self, sql: str) -> BuiltInStage:
        """Run the statement that builds the stage; commit the state if the format has commits."""
        services, tracked = self._services, self._tracked
        if tracked is None or tracked.context.model.config.is_plain:
            response = services.execute(sql)
        else:
            context = tracked.context
            state = context.next_state(tracked.previous, None)
            base = _read_left_behind(context)
            store = services.stores.commit_store(self.relation, context.model.config.file_format)
            with services.statements.errors(sql), store.committing(base, state):
                response = services.execute(sql)
        return BuiltInStage(services, self.relation, response, tracked)


@dataclass(frozen=True)
class BuiltInStage:
    """A table that is built in a stage."""

    services: RunServices = field(repr=False)
    relation: HiveAcidRelation
    response: AdapterResponse
    tracked: TrackedBuild | None

    @raising_dbt_errors
    def check_unique_key(self) -> None:
        """See `BuiltInPlace.check_unique_key`."""
        if self.tracked is not None:
            refuse_repeated_key(self.tracked.context, self.relation)

    @raising_dbt_errors
    def switch(self, old: HiveAcidRelation | None) -> None:
        """Replace the target by the stage.

        Args:
            old: the relation that has the target's name now.

        Raises:
            ConcurrentRunError: another run has changed the target.
        """
        if self.tracked is None or not self.tracked.context.model.config.is_plain:
            self.services.staging.switch(old)
            return
        tracked = _with_previous_state(self.tracked, old)
        replacing = replacing_files(tracked.context, self.relation, tracked.previous, None)
        self.services.staging.switch(old, replacing)


@contextmanager
def replacing_files(
    context: RunContext, stage: HiveAcidRelation, previous: StateLookup, applied: ChangePlan | None
) -> Iterator[None]:
    """Write the new state into the stage, and lock other runs out during the switch in the block.

    Args:
        context: the run of the model.
        stage: the finished table, in one of Spark's own formats.
        previous: the state of the target that the stage replaces.
        applied: see `RunContext.next_state`.

    Raises:
        ConcurrentRunError: another run has changed the target.
    """
    target = context.model.target
    state = context.next_state(previous, applied)
    store = context.services.stores.file_store(target)
    with context.statements.errors(f"replace {target} by {stage}"):
        write_record(context.session, str(stage.schema), str(stage.identifier), state)
        with store.replacing(previous, context.services.invocation.invocation_id):
            yield


def _with_previous_state(tracked: TrackedBuild, old: HiveAcidRelation | None) -> TrackedBuild:
    """Look up the state of the table that is about to be replaced, unless it is known."""
    if tracked.previous is not None or old is None:
        return tracked
    context = tracked.context
    return replace(tracked, previous=context.services.read_state(context.model))


def _read_left_behind(context: RunContext) -> StateLookup:
    target, config = context.model.target, context.model.config
    if not config.location_root or config.file_format != "delta":
        return None
    return context.services.stores.read_left_behind(f"{config.location_root}/{target.identifier}")
