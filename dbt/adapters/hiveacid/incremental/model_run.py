"""Runs of models over `acid_changes`: from the rendering of the SQL to staged changes.

Each phase of a run is a type that makes the next: `ModelRun`, `PlannedRun`, `StagedRun`, one of the
two kinds of `Apply`, `AppliedRun`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.errors import IncrementalError, PythonModelError, raising_dbt_errors
from dbt.adapters.hiveacid.incremental.apply import (
    Apply,
    CheckRows,
    RepeatedKeyInBatch,
    stage_changes,
)
from dbt.adapters.hiveacid.incremental.builds import BuildInPlace, BuildInStage, TrackedBuild
from dbt.adapters.hiveacid.incremental.config import STRATEGY, IncrementalConfig
from dbt.adapters.hiveacid.incremental.decision import FullRun, PlannedRun, QuietRun, plan_run
from dbt.adapters.hiveacid.incremental.plans import (
    ChangesModel,
    NoRowsAfterRun,
    RowsBeforeRun,
    SourcePlans,
    WholeSource,
    check_source,
)
from dbt.adapters.hiveacid.incremental.run_context import RunContext, RunServices
from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.selected_nodes import ModelNode
from dbt.adapters.hiveacid.sources.acid_sources import ChangesOf, Source
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.prepare import names_in
from dbt.adapters.hiveacid.targets.state import TargetState
from dbt.adapters.hiveacid.targets.stores import NEXT_RUN_REBUILDS, no_state
from hiveacid.sql.statement import check_syntax

logger = AdapterLogger("HiveAcid")


@dataclass(frozen=True)
class ModelRun:
    """A run of a model over `acid_changes` that is about to build or to change its target.

    `sql` is the model's SQL as dbt has compiled it.
    """

    context: RunContext
    sql: str

    def tracked(self) -> TrackedBuild | None:
        """Return the build of the whole table; None if the run has only a part of the rows.

        Raises:
            IncrementalError: the SQL is not row-wise.
        """
        self.context.check_row_wise(self.sql)
        return None if self.context.model.is_partial else TrackedBuild(self.context, None)

    @raising_dbt_errors
    def prepare_changes(
        self, existing: HiveAcidRelation, compiled_code: str, check_rows: CheckRows
    ) -> FullRun | QuietRun | Apply:
        """Plan and stage the changes that update the target; do not change the target yet.

        Args:
            existing: the target.
            compiled_code: the model's SQL.
            check_rows: called with a view of the new rows before they are staged.

        Raises:
            IncrementalError: history is lost and the model has `on_history_loss: error`, the SQL is
                not row-wise, or the changes cannot be applied.
            ConcurrentRunError: another run has changed the target already.
            TransactionLostError: the staged rows may not be all that the source had.
        """
        context, model = self.context, self.context.model
        limit = model.config.max_write_ids
        while True:
            stored_columns = context.services.columns_of(existing)
            planned = plan_run(context, stored_columns, compiled_code, limit)
            if not isinstance(planned, QuietRun) or planned.is_partial:
                # Not before: the analysis would be most of the cost of a quiet run.
                context.check_row_wise(self.sql)
            if not isinstance(planned, PlannedRun):
                return planned
            step = stage_changes(planned, existing, check_rows).choose_apply()
            if not isinstance(step, RepeatedKeyInBatch):
                return step
            logger.info(
                f"Model {model.name} applies all new write ids of {model.source.table} at "
                "once: they were not committed in their order, so a batch of them seems to "
                "have several rows of one unique_key"
            )
            context.services.relations.drop_relation(step.stage)
            limit = None

    @raising_dbt_errors
    def end(self) -> None:
        """Refuse reads of the model's changes from here on, in post-hooks."""
        model = self.context.model
        self.context.services.invocation.models[model.changes] = NoRowsAfterRun(model)


class ModelRuns:
    """Runs of the models of this process."""

    def __init__(self, services: RunServices, open_node: Callable[[], NodeContext | None]) -> None:
        """`open_node` returns the node of the thread if its connection is open."""
        self._services = services
        self._open_node = open_node

    def changes_of(
        self,
        source: HiveAcidRelation,
        target: HiveAcidRelation,
        model: ModelNode,
        *,
        is_incremental: bool,
        is_partial: bool,
    ) -> HiveAcidRelation:
        """Return the relation that `acid_changes(source)` renders to in a model.

        Raises:
            IncrementalError: the model is not incremental.
            DbtRuntimeError: the model's configuration is invalid; the message lists all problems.
        """
        _check_use(source, model)
        invocation = self._services.invocation
        read = Source(source.table_name(), source.options or SourceOptions())
        changes = ChangesOf(read, str(target))
        node = self._open_node()
        if node is None or node.changes != changes:
            name = model["name"]
            options = IncrementalConfig.of(name, model["config"])
            table = target.incorporate(type="table")
            declared = ChangesModel(name, read, changes, table, options, is_incremental, is_partial)
            read_state = partial(self._services.read_state, declared)
            plans = SourcePlans(invocation.sources)
            invocation.models[changes] = RowsBeforeRun(declared, plans, read_state)
        return source.showing(changes.render())

    def is_full_load(self) -> bool:
        """Return whether this thread's incremental run has become a full load."""
        node = self._open_node()
        return node is not None and node.is_full_load

    def begin(self, model: ModelNode, compiled_code: str) -> ModelRun | None:
        """Begin the run of an incremental model; None if its SQL does not read `acid_changes`.

        Raises:
            IncrementalError: the strategy is `acid_changes` and the SQL does not read them; the SQL
                reads them through a temporary view; or it reads other sources that change.
            DbtDatabaseError: Spark cannot parse the SQL.
        """
        services = self._services
        node, models = services.statements.node, services.invocation.models
        node.changes, node.is_full_load = None, False
        with services.statements.errors(compiled_code):
            named, behind = names_in(node, compiled_code, services.invocation.sources)
        read = named.joined(behind)
        makers = [models[changes] for changes in read.changes if changes in models]
        ours = [maker for maker in makers if isinstance(maker, RowsBeforeRun)]
        name = model["name"]
        if any(maker.model.changes in behind.changes for maker in ours):
            raise IncrementalError(
                f"Model {name} reads acid_changes through a temporary view, which a hook or "
                "the `sql_header` makes. A run needs the inserted and the deleted rows apart: "
                "use acid_changes in the SQL of the model itself.",
                code="HIVEACID_CHANGES_IN_TEMPORARY_VIEW",
            )
        if not ours:
            self._check_strategy(model, compiled_code)
            return None
        ours.sort(key=lambda maker: str(maker.model.source.table))
        (first, *more) = ours
        check_source(first.model, services.invocation.sources)
        others = sorted(
            (source for source in read.sources if not source.options.static),
            key=lambda source: (source.table, str(source.options)),
        )
        _check_others(first.model, [maker.model for maker in more], others)
        context = RunContext(services, first.model, first.plans, tuple(others))
        node.changes = first.model.changes
        models[first.model.changes] = WholeSource(first.model, first.plans)
        return ModelRun(context, compiled_code)

    def build_in_place(
        self,
        target: HiveAcidRelation,
        old: HiveAcidRelation | None,
        run: ModelRun | FullRun | None,
    ) -> BuildInPlace:
        """Return the build of a whole table in one commit of its format."""
        tracked = None if run is None else run.tracked()
        return BuildInPlace(self._services, target, old, tracked)

    def build_in_stage(
        self,
        target: HiveAcidRelation,
        location_root: str | None,
        run: ModelRun | FullRun | None,
    ) -> BuildInStage:
        """Return the build of a whole table in a stage."""
        tracked = None if run is None else run.tracked()
        return BuildInStage(self._services, target, location_root, tracked)

    def show_state(self, model: ModelNode) -> None:
        """Print the state of a model's target."""
        target, config = self._declared(model)
        known = self._services.stores.read(self._services.find(target), target, config.file_format)
        if isinstance(known, TargetState):
            logger.info(
                f"{target} has the state of commit {known.commit_id}, number "
                f"{known.generation} of its lineage, made by invocation {known.invocation_id}"
            )
            for name, state in known.sources.items():
                logger.info(f"{name}: {json.dumps(state)}")
        else:
            reason = f": {known.reason}" if known is not None else ""
            logger.info(f"{target} has no state{reason}. {NEXT_RUN_REBUILDS}")

    def remove_state(self, model: ModelNode) -> None:
        """Remove the state of a model's target, so that the next run builds the whole table."""
        target, config = self._declared(model)
        stores = self._services.stores
        known = stores.read(self._services.find(target), target, config.file_format)
        if isinstance(known, TargetState):
            stores.remove(target, config.file_format)
        logger.info(no_state(target))

    def _declared(self, model: ModelNode) -> tuple[HiveAcidRelation, IncrementalConfig]:
        target = HiveAcidRelation.create(
            database=model["database"], schema=model["schema"], identifier=model["alias"]
        )
        return target, IncrementalConfig.of(model["name"], model["config"])

    def _check_strategy(self, model: ModelNode, compiled_code: str) -> None:
        if model["config"].get("incremental_strategy") != STRATEGY:
            return
        statements = self._services.statements
        with statements.errors(compiled_code):
            check_syntax(statements.session, compiled_code)
        raise IncrementalError(
            f"Model {model['name']} has `incremental_strategy: {STRATEGY}`, but its SQL does "
            "not read {{ acid_changes(source(…)) }}. Wrap the source in acid_changes, or use "
            "another strategy.",
            code="HIVEACID_STRATEGY_WITHOUT_CHANGES",
        )


def refuse_python(model: ModelNode) -> None:
    """Refuse a Python model with the strategy `acid_changes`.

    Raises:
        PythonModelError: the model has this strategy.
    """
    if model["config"].get("incremental_strategy") == STRATEGY:
        raise PythonModelError(
            f"Python model {model['name']} has `incremental_strategy: {STRATEGY}`, which takes "
            "SQL that reads {{ acid_changes(source(…)) }}. Use another strategy, or write the "
            "model in SQL.",
            code="HIVEACID_PYTHON_MODEL_STRATEGY",
        )


def _check_use(source: HiveAcidRelation, model: ModelNode) -> None:
    """Refuse `acid_changes` in a model that is not incremental or has no strategy."""
    name, config = model["name"], model["config"]
    if config.get("materialized") != "incremental":
        raise IncrementalError(
            f"{name} uses acid_changes, which shows what changed since the last run of an "
            "incremental model. Use it only in the SQL of models that are `materialized: "
            "incremental`, and read the source itself elsewhere.",
            code="HIVEACID_CHANGES_OUTSIDE_INCREMENTAL_MODEL",
        )
    if not config.get("incremental_strategy"):
        raise IncrementalError(
            f"Model {name} uses acid_changes and has no `incremental_strategy`. Set "
            f"{STRATEGY}, which applies inserts and deletes. Other strategies, such as dbt's "
            "default append, get the deleted rows of a full ACID table next to the new ones, "
            "distinguished by the source's column _change_type.",
            code="HIVEACID_CHANGES_WITHOUT_STRATEGY",
        )


def _check_others(model: ChangesModel, more: list[ChangesModel], others: list[Source]) -> None:
    """Refuse a model that reads several changing sources."""
    if more or (others and model.config.on_multi_source == "error"):
        tables = [str(source.table) for source in (*(m.source for m in more), *others)]
        raise IncrementalError(
            f"Model {model.name} reads the changes of {model.source.table} and also "
            f"{' and '.join(tables)}, whose changes would be missed. Declare the other source "
            "`static: true` if it does not change, give `table_changes` a last write id, set "
            "`on_multi_source: full_refresh` to rebuild the model whenever it changes, or read "
            "it in another model. acid_changes can have only one source.",
            code="HIVEACID_SEVERAL_CHANGING_SOURCES",
        )
