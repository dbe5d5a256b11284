"""Decision on what an incremental run does: nothing, apply changes, or a full load."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.errors import IncrementalError, raising_dbt_errors
from dbt.adapters.hiveacid.incremental.builds import TrackedBuild
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.key_checks import (
    check_columns,
    check_new_key,
    row_id_among,
)
from dbt.adapters.hiveacid.incremental.plans import (
    ChangedRows,
    Rows,
    WholeSource,
    source_state,
    state_before,
)
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.incremental.stage import staged_changes
from dbt.adapters.hiveacid.node_context import RowMaker
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.state import LostState, StateLookup, TargetState
from hiveacid.changes.losses import Extent, Loss
from hiveacid.changes.plan import ROW_ID, ChangePlan
from hiveacid.changes.rows import deleted_row_ids

logger = AdapterLogger("HiveAcid")


class Step(Protocol):
    """Next step of a macro: a phase of a model's run, by its `kind`."""

    @property
    def kind(self) -> Literal["full load", "no changes", "strategy", "merge", "files"]:
        """The kind of the step."""


@dataclass(frozen=True)
class FullRun(Step):
    """An incremental run that must build the whole table, for `reason`."""

    context: RunContext
    previous: StateLookup
    reason: str
    is_loss: bool = False

    kind = "full load"

    def tracked(self) -> TrackedBuild:
        """Return the build of the table, with the state that has been looked up."""
        return TrackedBuild(self.context, self.previous)

    @raising_dbt_errors
    def load_in_full(self) -> None:
        """Make `is_incremental()` false from here on, for this node."""
        self.context.node.is_full_load = True

    @raising_dbt_errors
    def check_row_wise(self, sql: str) -> None:
        """See `RunContext.check_row_wise`; `sql` is the model's SQL for the whole table."""
        self.context.check_row_wise(sql)

    @raising_dbt_errors
    def refuse_ephemerals(self) -> None:
        """Refuse to build the whole table during an incremental run.

        dbt has compiled the SQL of the model's ephemeral parents into the model's SQL only once,
        for the incremental run.

        Raises:
            IncrementalError: always.
        """
        raise IncrementalError(
            f"Model {self.context.model.name} must be rebuilt, but its SQL depends on "
            "is_incremental() and it has ephemeral parents, which dbt has compiled for an "
            "incremental run. Run it with --full-refresh, and name each ephemeral model in "
            "both branches.",
            code="HIVEACID_FULL_REFRESH_NEEDED",
        )


@dataclass(frozen=True)
class QuietRun(Step):
    """A run that does not change the target's rows.

    `maker` makes the rows for a check of the model's columns; None if they are already checked. A
    run over a part of the rows (`is_partial`) does not change the target's columns either.
    """

    context: RunContext
    sql: str
    stored_columns: Sequence[str] = ()
    maker: RowMaker | None = None

    kind = "no changes"

    @property
    def is_checked(self) -> bool:
        """Whether the model's columns have been compared with the target's."""
        return self.maker is None

    @property
    def is_partial(self) -> bool:
        """Whether dbt was asked for a part of the rows."""
        return self.context.model.is_partial

    @raising_dbt_errors
    def no_rows(self) -> HiveAcidRelation:
        """Return a temporary view with the model's columns and no rows."""
        assert self.maker is not None, "the columns have been checked"
        model = self.context.model
        frame = self.context.model_rows(self.sql, self.maker)
        check_columns(model, self.stored_columns, frame.columns)
        return self.context.node.make_temporary_view(model.target, "tmp", frame.limit(0))


@dataclass(frozen=True)
class PlannedRun:
    """A run whose changes are planned, and must be staged."""

    context: RunContext
    previous: StateLookup
    sql: str
    plan: ChangePlan
    mode: Mode
    rows: ChangedRows
    stored_columns: Sequence[str]
    row_id: str = ROW_ID
    reconciles: str = ""
    """The lost history for which row ids are compared; empty if no history is lost."""

    @property
    def is_batch(self) -> bool:
        """Whether the plan leaves new write ids for later runs."""
        return bool(self.plan.remaining)

    def model_rows(self) -> DataFrame:
        """Return the model's new rows.

        Raises:
            IncrementalError: rows of the target could not be found by their key.
        """
        shown = Rows.ALL if self.mode is Mode.OWN else Rows.INSERTS
        frame = self._model_rows(shown)
        check_columns(self.context.model, self.stored_columns, frame.columns)
        check_new_key(self.context, self.previous, self.stored_columns)
        return frame

    def changes(self, new_rows: DataFrame) -> DataFrame:
        """Return the rows for the stage: inserts and deletes together."""
        session = self.context.session
        delete_may_hit_earlier = bool(self.plan.earlier_batch_write_ids and self.plan.deletes)

        def staged() -> DataFrame:
            return staged_changes(
                self.mode,
                self.context.model.config.unique_key,
                new_rows,
                deleted=lambda: self._model_rows(Rows.DELETED),
                earlier=(
                    (lambda: self._model_rows(Rows.EARLIER_BATCHES))
                    if delete_may_hit_earlier
                    else None
                ),
                row_ids=lambda: self.rows.row_ids_to_delete(session),
            )

        return self.context.statements.run(self.sql, staged)

    def _model_rows(self, rows: Rows) -> DataFrame:
        return self.context.model_rows(self.sql, self.rows.showing(rows))


def plan_run(
    context: RunContext, stored_columns: Sequence[str], sql: str, max_write_ids: int | None
) -> FullRun | QuietRun | PlannedRun:
    """Decide how an incremental run updates its target.

    Args:
        context: the run.
        stored_columns: the names of the target's columns in lower case.
        sql: the model's SQL.
        max_write_ids: the maximum number of new write ids; None for all.

    Raises:
        IncrementalError: history is lost, and the model has `on_history_loss: error`; or the whole
            table would have to be built, and the model has `full_refresh: false`.
    """
    model = context.model
    if model.is_partial:
        maker = WholeSource(model, context.plans)
        context.model_rows(sql, maker)
        return QuietRun(context, sql, stored_columns, maker)
    planner = _Planner(context, stored_columns, sql, max_write_ids)
    found = context.statements.run(sql, lambda: planner.plan(context.session))
    if isinstance(found, FullRun) and found.is_loss:
        logger.warning(
            f"[HIVEACID_WARN_FULL_REFRESH] Model {model.name} is rebuilt from the whole of "
            f"{model.source.table}: {found.reason}."
        )
    elif isinstance(found, FullRun):
        logger.info(f"Model {model.name} is rebuilt: {found.reason}")
    elif isinstance(found, PlannedRun) and found.reconciles:
        logger.info(
            f"Model {model.name} is compared with {model.source.table} by row ids: "
            f"{found.reconciles}"
        )
    return found


def obstacle_to_reconciling(mode: Mode, losses: Sequence[Loss]) -> str:
    """Return why row ids cannot be compared after these losses; empty if they can."""
    if mode is Mode.UNIQUE_KEY:
        return "the model applies changes by `unique_key`, not by row ids"
    if mode is Mode.OWN:
        return "the model has a strategy of its own"
    if mode is Mode.APPEND:
        return "the target has no column `_row_id`"
    kept = [loss for loss in losses if not loss.reconcilable]
    if kept and len(kept) < len(losses):
        return f"row ids cannot be compared after this: {'; '.join(map(str, kept))}"
    return "row ids cannot be compared after this" if kept else ""


class _Planner:
    """Planner of one run."""

    def __init__(
        self,
        context: RunContext,
        stored_columns: Sequence[str],
        sql: str,
        max_write_ids: int | None,
    ) -> None:
        self._context = context
        self._model = context.model
        self._stored = stored_columns
        self._sql = sql
        self._max_write_ids = max_write_ids
        self._row_id = row_id_among(stored_columns)
        self._mode = context.model.config.mode(has_row_id=self._row_id is not None)

    def plan(self, session: SparkSession) -> FullRun | QuietRun | PlannedRun:
        """See `plan_run`."""
        found = self._plan(session, self._context.services.read_state(self._model))
        if isinstance(found, FullRun):
            self._refuse_full_run(found)
        return found

    def _plan(
        self, session: SparkSession, previous: StateLookup
    ) -> FullRun | QuietRun | PlannedRun:
        model, context = self._model, self._context
        since = state_before(previous, model)
        if isinstance(since, LostState):
            return FullRun(context, previous, since.reason, is_loss=True)
        assert isinstance(previous, TargetState)
        changed = self._changed_others(session, previous)
        if changed:
            return FullRun(context, previous, f"{', '.join(changed)} has changed, too")
        plan = context.plans.changes(session, model.source, since, self._max_write_ids)
        planned = PlannedRun(
            context,
            previous,
            self._sql,
            plan,
            self._mode,
            ChangedRows(model, plan, context.plans, self._row_id or ROW_ID),
            self._stored,
            self._row_id or ROW_ID,
        )
        if plan.is_empty and not plan.remaining:
            return QuietRun(context, self._sql, self._stored, planned.rows.showing(Rows.INSERTS))
        losses = [
            loss
            for loss in plan.losses
            if self._row_id is not None or loss.extent is not Extent.ROW_IDS
        ]
        if losses:
            reason = f"{'; '.join(map(str, losses))} (new write ids: {plan.new_write_ids})"
            obstacle = obstacle_to_reconciling(self._mode, losses)
            if model.config.on_history_loss != "reconcile":
                return FullRun(context, previous, reason, is_loss=True)
            if obstacle:
                reason += f"; `on_history_loss: reconcile` does not help, since {obstacle}"
                return FullRun(context, previous, reason, is_loss=True)
            rows = ChangedRows(model, plan, context.plans, planned.row_id, model.target)
            return replace(planned, reconciles=reason, rows=rows)
        if self._mode is Mode.APPEND and not deleted_row_ids(session, plan).isEmpty():
            return FullRun(
                context,
                previous,
                f"rows of {model.source.table} were deleted or updated, and only a model with "
                "`unique_key` or a column `_row_id` can apply this",
                is_loss=True,
            )
        return planned

    def _changed_others(self, session: SparkSession, previous: TargetState) -> list[str]:
        changed = []
        for other in self._context.others:
            since = source_state(previous, other)
            if (
                isinstance(since, LostState)
                or not self._context.plans.changes(session, other, since).is_empty
            ):
                changed.append(str(other.table))
        return changed

    def _refuse_full_run(self, found: FullRun) -> None:
        if self._model.config.full_refresh is False:
            # In dbt, this forbids a full refresh whatever the flags are: the table may have rows
            # that its source no longer has.
            raise IncrementalError(
                f"Model {self._model.name} must be rebuilt: {found.reason}. Its config "
                "`full_refresh: false` forbids it. Nothing has been changed. Remove this "
                "config for one run if rows that the source no longer has may be lost.",
                code="HIVEACID_FULL_REFRESH_FORBIDDEN",
            )
        if found.is_loss and self._model.config.on_history_loss == "error":
            raise IncrementalError(
                f"Model {self._model.name} cannot be updated from the changes of "
                f"{self._model.source.table}: {found.reason}. Nothing has been changed. Run "
                "the model once with --full-refresh, or set `on_history_loss` to full_refresh "
                "or reconcile.",
                code="HIVEACID_CHANGES_LOST",
            )
