"""Application of staged changes: a model's run from its stage to its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.connections import HiveAcidAdapterResponse
from dbt.adapters.hiveacid.errors import IncrementalError, raising_dbt_errors
from dbt.adapters.hiveacid.incremental import merge_sql
from dbt.adapters.hiveacid.incremental.builds import replacing_files
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig, Mode
from dbt.adapters.hiveacid.incremental.decision import PlannedRun, QuietRun
from dbt.adapters.hiveacid.incremental.key_checks import refuse_duplicates
from dbt.adapters.hiveacid.incremental.outcome import Outcome
from dbt.adapters.hiveacid.incremental.plans import ChangesModel
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.incremental.stage import (
    KeyPart,
    StageSummary,
    by_key,
    by_row,
    key_parts,
    row_id_parts,
    summary,
)
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.catalog import table_layout
from dbt.adapters.hiveacid.spark.sql import sql_type, type_changes
from dbt.adapters.hiveacid.targets.state import CommitStore, LostState
from hiveacid.reader.types import TEXT_OF_LENGTH

logger = AdapterLogger("HiveAcid")
CheckRows = Callable[[HiveAcidRelation, HiveAcidRelation], Sequence[Column]]
"""A macro that checks a view of the new rows, and fits the columns of the target to theirs.

It returns the columns of the new rows; none if they must be the target's.
"""


@dataclass(frozen=True)
class RepeatedKeyInBatch:
    """A batch of new write ids in which rows with the same key seem to be there together."""

    stage: HiveAcidRelation


@dataclass(frozen=True)
class StagedRun:
    """A run whose changes are in a table, the stage. The target is still as it was."""

    planned: PlannedRun
    existing: HiveAcidRelation
    stage: HiveAcidRelation
    new_columns: Sequence[Column] = ()

    def choose_apply(self) -> QuietRun | ApplyByStatement | ApplyByFiles | RepeatedKeyInBatch:
        """Choose how the staged changes get into the target.

        Raises:
            IncrementalError: two inserted rows have the same `unique_key`; or the target, which
                must take over files, is stored in another way than the model says.
        """
        planned, config = self.planned, self.planned.context.model.config
        staged = self._summary()
        if not staged.inserts and not staged.deletes and not planned.is_batch:
            return QuietRun(planned.context, planned.sql)
        if staged.repeated is not None and planned.is_batch:
            return RepeatedKeyInBatch(self.stage)
        if staged.repeated is not None:
            refuse_duplicates(planned.context.model, *staged.repeated)
        if not config.is_plain:
            return ApplyByStatement(self, staged)
        if planned.mode is Mode.UNIQUE_KEY or staged.deletes:
            return ApplyByFiles(self, staged, is_append=False)
        _refuse_other_layout(planned.context)
        return ApplyByFiles(self, staged, is_append=True)

    def target_in_sql(self, existing: HiveAcidRelation, *, is_merge: bool) -> merge_sql.Target:
        """Return the target as SQL needs it; `existing` is the relation to write into.

        Raises:
            IncrementalError: new rows have columns of types that do not go into the target's.
        """
        columns = tuple(_stored_columns(self.planned.context))
        given = {column.name.lower() for column in self.new_columns}
        missing = frozenset(name for name, _ in columns if given and name.lower() not in given)
        # A MERGE leaves it to the engine what fits into a column.
        leaves_it = is_merge and self.planned.mode is not Mode.APPEND
        checked = frozenset() if leaves_it else self._checked_columns()
        return merge_sql.Target(str(existing), columns, missing, checked)

    def _summary(self) -> StageSummary:
        mode, context = self.planned.mode, self.planned.context
        if mode is Mode.OWN:
            (counted,) = context.query(
                f"select count(*) as inserts, 0 as deletes from {self.stage}"
            )
            return summary(counted, ())
        parts = self._bounded_parts()
        if mode is Mode.UNIQUE_KEY:
            query = by_key(str(self.stage), context.model.config.unique_key, parts)
        else:
            query = by_row(str(self.stage), parts)
        (counted,) = context.query(query)
        return summary(counted, parts)

    def _bounded_parts(self) -> list[KeyPart]:
        """Return the parts of the key whose bounds a MERGE will name."""
        planned, model = self.planned, self.planned.context.model
        if model.config.is_plain:
            return []
        if planned.mode is Mode.UNIQUE_KEY:
            types = _common_types(planned.context, model.target, self.stage)
            return key_parts(model.config.unique_key, types)
        return row_id_parts(planned.row_id) if planned.mode is Mode.ROW_ID else []

    def _checked_columns(self) -> frozenset[str]:
        """Return the columns of which new rows have another type, with values that may not fit."""
        model = self.planned.context.model
        session = self.planned.context.services.statements.session
        found = type_changes(
            session, session.table(str(self.stage)).schema, session.table(str(model.target)).schema
        )
        refused = [str(change) for change in found if not change.is_allowed]
        if refused:
            raise IncrementalError(
                f"Model {model.name} has other types than {model.target}, which its new rows "
                f"cannot be given: {', '.join(refused)}. Nothing has been changed. Run the model "
                "with --full-refresh, or cast the columns in its SQL."
            )
        return frozenset(change.name for change in found if change.is_checked)


@dataclass(frozen=True)
class ApplyByStatement:
    """A run whose changes go into a Delta or Iceberg table by one statement."""

    staged: StagedRun
    summary: StageSummary

    is_full_load = False
    is_quiet = False
    is_statement = True

    @property
    def stage(self) -> HiveAcidRelation:
        """The table of the staged changes."""
        return self.staged.stage

    @property
    def new_columns(self) -> Sequence[Column]:
        """The columns of the new rows, if they may be fewer than the target's."""
        return self.staged.new_columns

    @property
    def is_by_strategy(self) -> bool:
        """Whether the statement is that of a strategy of dbt-spark's or of the user's."""
        return self.staged.planned.mode is Mode.OWN

    @raising_dbt_errors
    def begin_commit(self) -> BegunCommit:
        """Prepare the commit.

        Raises:
            ConcurrentRunError: another run has changed the target already.
        """
        planned, existing = self.staged.planned, self.staged.existing
        services = planned.context.services
        store = services.stores.commit_store(existing, planned.context.model.config.file_format)
        part = services.statements.run(
            f"begin a commit to {existing}", lambda: store.begin(planned.previous)
        )
        relation = existing
        if part is not None:
            relation = existing.incorporate(path={"identifier": f"{existing.identifier}.{part}"})
        return BegunCommit(self.staged, self.summary, store, relation)


@dataclass(frozen=True)
class BegunCommit:
    """A commit that waits for the statement that writes into `relation`."""

    staged: StagedRun
    summary: StageSummary
    store: CommitStore
    relation: HiveAcidRelation

    @raising_dbt_errors
    def merge_sql(
        self, update_columns: list[str] | None = None, predicates: list[str] | None = None
    ) -> str:
        """Return the statement that applies the staged changes.

        Raises:
            IncrementalError: new rows have columns of types that do not go into the target's.
        """
        planned, stage = self.staged.planned, str(self.staged.stage)
        target = self.staged.target_in_sql(self.relation, is_merge=True)
        limits = (*(predicates or ()), *self.summary.predicates)
        if planned.mode is Mode.UNIQUE_KEY:
            key = planned.context.model.config.unique_key
            return merge_sql.merge_by_key(target, stage, key, update_columns, limits)
        if planned.mode is Mode.ROW_ID:
            return merge_sql.merge_by_row_id(target, stage, planned.row_id, limits)
        return merge_sql.append(target, stage)

    @raising_dbt_errors
    def commit(self, sql: str) -> AppliedRun:
        """Run the statement, with the new state in the same commit.

        Raises:
            ConcurrentRunError: another run was faster.
        """
        planned = self.staged.planned
        services = planned.context.services
        state = planned.context.next_state(planned.previous, planned.plan)
        with services.statements.errors(sql), self.store.committing(planned.previous, state):
            services.execute(sql)
        return AppliedRun(planned, self.summary)


@dataclass(frozen=True)
class ApplyByFiles:
    """A run whose changes become files of a table of one of Spark's own formats.

    With `is_append` the target takes over the files of new rows; else a new version of the table
    takes its place.
    """

    staged: StagedRun
    summary: StageSummary
    is_append: bool

    is_full_load = False
    is_quiet = False
    is_statement = False

    @raising_dbt_errors
    def begin_build(self, location_root: str | None = None) -> FilesBuild:
        """Return the build of the new files; `location_root` is the model's configuration."""
        services = self.staged.planned.context.services
        target = self.staged.planned.context.model.target
        relation = services.staging.stage(target, location_root)
        return FilesBuild(self.staged, self.summary, self.is_append, relation)


@dataclass(frozen=True)
class FilesBuild:
    """New files that are about to be written into the stage `relation`."""

    staged: StagedRun
    summary: StageSummary
    is_append: bool
    relation: HiveAcidRelation

    @raising_dbt_errors
    def query(self) -> str:
        """Return the query of the rows in the new files.

        Raises:
            IncrementalError: new rows have columns of types that do not go into the target's.
        """
        planned, stage = self.staged.planned, str(self.staged.stage)
        target = self.staged.target_in_sql(self.staged.existing, is_merge=False)
        if not self.is_append:
            is_upsert = planned.mode is Mode.UNIQUE_KEY
            key = planned.context.model.config.unique_key if is_upsert else (planned.row_id,)
            return merge_sql.rewritten(target, stage, key, is_upsert=is_upsert)
        if planned.mode is Mode.OWN:
            return f"select {target.casts('s')} from {stage} s"
        return merge_sql.staged_inserts(target, stage)

    @raising_dbt_errors
    def finish(self, sql: str) -> AppliedRun:
        """Run the statement that writes the files, and make them the target's.

        Raises:
            ConcurrentRunError: another run has changed the target.
            IncrementalError: somebody has removed files of the stage meanwhile.
        """
        planned = self.staged.planned
        planned.context.services.execute(sql)
        if self.is_append:
            self._append()
        else:
            context = planned.context
            replacing = replacing_files(context, self.relation, planned.previous, planned.plan)
            context.services.staging.switch(self.staged.existing, replacing)
        return AppliedRun(planned, self.summary)

    def _append(self) -> None:
        planned, stage = self.staged.planned, self.relation
        context, statements = planned.context, planned.context.services.statements
        node, store = statements.node, context.services.stores.file_store(context.model.target)
        state = context.next_state(planned.previous, planned.plan)
        appending = f"append {stage} to {context.model.target}"
        with node.uninterrupted(), statements.errors(appending):
            store.record(planned.previous, state, str(stage.schema), str(stage.identifier))
            # What a failure leaves is for the next run to finish, no longer to be removed.
            del node.stages["stage"]
            known = store.read()
        if isinstance(known, LostState):
            raise IncrementalError(
                f"Model {context.model.name} was appending, and {known.reason}. Some of the new "
                "rows may be in the table. Run it with --full-refresh."
            )


@dataclass(frozen=True)
class AppliedRun:
    """A run whose changes are in the target."""

    planned: PlannedRun
    summary: StageSummary

    @raising_dbt_errors
    def report(self) -> HiveAcidAdapterResponse:
        """Return the response for the model, and log it."""
        planned, node = self.planned, self.planned.context.services.statements.node
        outcome = _outcome(planned, self.summary)
        rows = outcome.inserts + outcome.deletes
        response = HiveAcidAdapterResponse.of(outcome.message, rows, node.has_read)
        response.changes = outcome.to_dict()
        logger.info(outcome.line(response.transaction_id))
        return response


def stage_changes(
    planned: PlannedRun, existing: HiveAcidRelation, check_rows: CheckRows
) -> StagedRun:
    """Write the changes of a planned run into a stage, and check the run's snapshot.

    Raises:
        IncrementalError: rows of the target could not be found again by their key.
        TransactionLostError: the rows may not be all that the source had.
    """
    context = planned.context
    services, target = context.services, context.model.target
    node = services.statements.node
    new_rows = planned.model_rows()
    rows = node.make_temporary_view(target, "tmp", new_rows)
    changes = node.make_temporary_view(target, "changes", planned.changes(new_rows))
    new_columns = check_rows(rows, existing)
    root = context.model.config.location_root
    stage, location = services.staging.stage_rows(target, root, role="changes")
    where = "" if location is None else f" location '{location}'"
    services.execute(f"create table {stage} using parquet{where} as select * from {changes}")
    services.adapter.hiveacid_check_snapshot()
    return StagedRun(planned, existing, stage, new_columns or ())


def _outcome(planned: PlannedRun, staged: StageSummary) -> Outcome:
    model, plan = planned.context.model, planned.plan
    return Outcome(
        model.name,
        str(model.source.table),
        str(plan.new_write_ids),
        planned.mode is Mode.UNIQUE_KEY,
        staged.inserts,
        staged.deletes,
        planned.rows.amount_read(),
        plan.whole,
    )


def _common_types(context: RunContext, *relations: HiveAcidRelation) -> dict[str, str]:
    """Return the types of the columns that have the same type in all relations, by name."""
    session = context.services.statements.session
    types = [
        {
            (field.name.lower(), field.dataType.simpleString())
            for field in session.table(str(relation)).schema.fields
            # Texts of a given length are compared in ways of their own.
            if TEXT_OF_LENGTH not in field.metadata
        }
        for relation in relations
    ]
    return dict(set.intersection(*types))


def _stored_columns(context: RunContext) -> Iterator[tuple[str, str]]:
    """Yield the names of the target's columns, and their types in SQL."""
    session: Any = context.services.statements.session
    for field in session.table(str(context.model.target)).schema.fields:
        yield field.name, field.metadata.get(TEXT_OF_LENGTH) or sql_type(field.dataType)


def _refuse_other_layout(context: RunContext) -> None:
    """Refuse to append to a table that is stored in another way than the model says."""
    model: ChangesModel = context.model
    target, config = model.target, model.config
    session = context.services.statements.session
    found = _layout(*table_layout(session, str(target.schema), str(target.identifier)))
    wanted = _layout_of(config)
    if found != wanted:
        raise IncrementalError(
            f"{target} is stored as {found}, and model {model.name} says {wanted}: new rows "
            "cannot be appended to it. Nothing has been changed. Run the model with "
            "`--full-refresh`, or give it the previous `file_format`, `partition_by`, "
            "`clustered_by` and `buckets`."
        )


def _layout_of(config: IncrementalConfig) -> str:
    return _layout(
        config.file_format, config.partition_by, config.clustered_by, config.buckets or 0
    )


def _layout(
    file_format: str, partition_by: Sequence[str], clustered_by: Sequence[str], buckets: int
) -> str:
    layout = file_format
    if partition_by:
        layout += f" partitioned by {', '.join(partition_by)}"
    if clustered_by and buckets:
        layout += f" clustered by {', '.join(clustered_by)} into {buckets} buckets"
    return layout.lower()
