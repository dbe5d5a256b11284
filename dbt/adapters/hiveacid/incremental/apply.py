"""Application of staged changes: a model's run from its stage to its target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.connections import HiveAcidAdapterResponse
from dbt.adapters.hiveacid.errors import IncrementalError, raising_dbt_errors
from dbt.adapters.hiveacid.incremental import merge_sql
from dbt.adapters.hiveacid.incremental.builds import replacing_files
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.decision import PlannedRun, QuietRun, Step
from dbt.adapters.hiveacid.incremental.key_checks import refuse_duplicates
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
from dbt.adapters.hiveacid.targets.staging import CHANGES
from dbt.adapters.hiveacid.targets.state import CommitStore, LostState
from hiveacid.formatting import human_bytes, pluralize
from hiveacid.reader.types import TEXT_OF_LENGTH

logger = AdapterLogger("HiveAcid")
CheckRows = Callable[[HiveAcidRelation, HiveAcidRelation], Sequence[Column]]
"""A macro that checks a view of the new rows, and adapts the target's columns to the view's.

It returns the columns of the new rows; none if they must be the same as the target's.
"""


@dataclass(frozen=True)
class RepeatedKeyInBatch:
    """A batch of new write ids in which several inserts have the same key."""

    stage: HiveAcidRelation


@dataclass(frozen=True)
class StagedRun:
    """A run whose changes are in a table, the stage. The target is unchanged."""

    planned: PlannedRun
    existing: HiveAcidRelation
    stage: HiveAcidRelation
    new_columns: Sequence[Column] = ()

    @property
    def context(self) -> RunContext:
        """The run of the model."""
        return self.planned.context

    @cached_property
    def summary(self) -> StageSummary:
        """The counts of the staged changes, and the bounds of their keys."""
        mode, context, stage = self.planned.mode, self.context, str(self.stage)
        parts = self._bounded_parts()
        if mode is Mode.OWN:
            query = f"select count(*) as inserts, 0 as deletes from {stage}"
        elif mode is Mode.UNIQUE_KEY:
            query = by_key(stage, context.model.config.unique_key, parts)
        else:
            query = by_row(stage, parts)
        (counted,) = context.query(query)
        return summary(counted, parts)

    def choose_apply(self) -> QuietRun | Apply | RepeatedKeyInBatch:
        """Choose how to apply the staged changes to the target, and begin.

        Raises:
            ConcurrentRunError: another run has changed the target already.
            IncrementalError: two inserted rows have the same `unique_key`; or the target, to be
                appended to, has another layout than the model's configuration.
        """
        planned, context = self.planned, self.context
        counted = self.summary
        if not counted.inserts and not counted.deletes and not planned.is_batch:
            return QuietRun(context, planned.sql)
        if counted.repeated is not None and planned.is_batch:
            return RepeatedKeyInBatch(self.stage)
        if counted.repeated is not None:
            refuse_duplicates(context.model, *counted.repeated)
        if not context.model.config.is_plain:
            return ApplyByStatement.begin(self)
        is_append = planned.mode is not Mode.UNIQUE_KEY and not counted.deletes
        if is_append:
            _refuse_other_layout(context)
        return ApplyByFiles.begin(self, is_append=is_append)

    def target_in_sql(self, existing: HiveAcidRelation, *, is_merge: bool) -> merge_sql.Target:
        """Return the target for use in SQL; `existing` is the relation to write into.

        Raises:
            IncrementalError: new rows have column types that the target's columns do not accept.
        """
        columns = tuple(_stored_columns(self.context))
        given = {column.name.lower() for column in self.new_columns}
        missing = frozenset(name for name, _ in columns if given and name.lower() not in given)
        # With a MERGE, the engine checks whether values fit into a column.
        leaves_it = is_merge and self.planned.mode is not Mode.APPEND
        checked = frozenset() if leaves_it else self._checked_columns()
        return merge_sql.Target(str(existing), columns, missing, checked)

    def _bounded_parts(self) -> list[KeyPart]:
        """Return the parts of the key whose bounds go into the MERGE condition."""
        planned, model = self.planned, self.context.model
        if model.config.is_plain:
            return []
        if planned.mode is Mode.UNIQUE_KEY:
            types = _common_types(self.context, model.target, self.stage)
            return key_parts(model.config.unique_key, types)
        return row_id_parts(planned.row_id) if planned.mode is Mode.ROW_ID else []

    def _checked_columns(self) -> frozenset[str]:
        """Return the columns whose type differs in new rows and whose values may not fit."""
        model, session = self.context.model, self.context.session
        found = type_changes(
            session, session.table(str(self.stage)).schema, session.table(str(model.target)).schema
        )
        refused = [str(change) for change in found if not change.is_allowed]
        if refused:
            raise IncrementalError(
                f"New rows of model {model.name} cannot be converted to the types of "
                f"{model.target}: {', '.join(refused)}. Nothing has been changed. Run the "
                "model with --full-refresh, or cast the columns in its SQL.",
                code="HIVEACID_TARGET_TYPES_DIFFER",
            )
        return frozenset(change.name for change in found if change.is_checked)


class Apply(Step, Protocol):
    """A way to apply staged changes to the target, by one statement that writes into `relation`."""

    staged: StagedRun
    relation: HiveAcidRelation

    def finish(self, sql: str) -> AppliedRun:
        """Run the statement, and commit the new state with its rows.

        Raises:
            ConcurrentRunError: another run was faster.
        """


@dataclass(frozen=True)
class ApplyByStatement(Apply):
    """Application of staged changes to a Delta or Iceberg table by one statement.

    `relation` is the target, or a branch of it.
    """

    staged: StagedRun
    relation: HiveAcidRelation
    store: CommitStore

    @classmethod
    def begin(cls, staged: StagedRun) -> ApplyByStatement:
        """Begin a commit to the target.

        Raises:
            ConcurrentRunError: another run has changed the target already.
        """
        existing, context = staged.existing, staged.context
        store = context.services.stores.commit_store(existing, context.model.config.file_format)
        part = context.statements.run(
            f"begin a commit to {existing}", lambda: store.begin(staged.planned.previous)
        )
        relation = existing
        if part is not None:
            relation = existing.incorporate(path={"identifier": f"{existing.identifier}.{part}"})
        return cls(staged, relation, store)

    @property
    def kind(self) -> Literal["strategy", "merge"]:
        """`strategy` for the statement of dbt-spark's or the user's strategy, `merge` for ours."""
        return "strategy" if self.staged.planned.mode is Mode.OWN else "merge"

    @raising_dbt_errors
    def merge_sql(
        self, update_columns: list[str] | None = None, predicates: list[str] | None = None
    ) -> str:
        """Return the statement that applies the staged changes.

        Raises:
            IncrementalError: new rows have column types that the target's columns do not accept.
        """
        planned, stage = self.staged.planned, str(self.staged.stage)
        target = self.staged.target_in_sql(self.relation, is_merge=True)
        limits = (*(predicates or ()), *self.staged.summary.predicates)
        if planned.mode is Mode.UNIQUE_KEY:
            key = planned.context.model.config.unique_key
            return merge_sql.merge_by_key(target, stage, key, update_columns, limits)
        if planned.mode is Mode.ROW_ID:
            return merge_sql.merge_by_row_id(target, stage, planned.row_id, limits)
        return merge_sql.append(target, stage)

    @raising_dbt_errors
    def finish(self, sql: str) -> AppliedRun:
        """See `Apply.finish`."""
        planned, context = self.staged.planned, self.staged.context
        state = context.next_state(planned.previous, planned.plan)
        with context.statements.errors(sql), self.store.committing(planned.previous, state):
            context.execute(sql)
        return AppliedRun(self.staged)


@dataclass(frozen=True)
class ApplyByFiles(Apply):
    """Application of staged changes to a table in one of Spark's own formats, by writing files.

    The files are written into the table `relation`. With `is_append` they are moved to the target;
    otherwise `relation` is the new version of the target, and replaces it.
    """

    staged: StagedRun
    relation: HiveAcidRelation
    is_append: bool

    kind = "files"

    @classmethod
    def begin(cls, staged: StagedRun, *, is_append: bool) -> ApplyByFiles:
        """Choose the table for the new files."""
        model = staged.context.model
        staging = staged.context.services.staging
        relation = staging.stage(model.target, model.config.location_root)
        return cls(staged, relation, is_append)

    @raising_dbt_errors
    def query(self) -> str:
        """Return the query of the rows in the new files.

        Raises:
            IncrementalError: new rows have column types that the target's columns do not accept.
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
        """See `Apply.finish`.

        Raises:
            ConcurrentRunError: another run has changed the target.
            IncrementalError: files of the stage were removed meanwhile.
        """
        planned, context = self.staged.planned, self.staged.context
        context.execute(sql)
        if self.is_append:
            self._append()
        else:
            replacing = replacing_files(context, self.relation, planned.previous, planned.plan)
            context.services.staging.switch(self.staged.existing, replacing)
        return AppliedRun(self.staged)

    def _append(self) -> None:
        planned, context, stage = self.staged.planned, self.staged.context, self.relation
        node, store = context.node, context.services.stores.file_store(context.model.target)
        state = context.next_state(planned.previous, planned.plan)
        appending = f"append {stage} to {context.model.target}"
        with node.uninterrupted(), context.statements.errors(appending):
            store.record(planned.previous, state, str(stage.schema), str(stage.identifier))
            # From here on the next run finishes an interrupted append; the stage must stay.
            del node.stages["stage"]
            known = store.read()
        if isinstance(known, LostState):
            raise IncrementalError(
                f"An append of model {context.model.name} was interrupted, and "
                f"{known.reason}. Some of the new rows may be in the table. Run the model "
                "with --full-refresh.",
                code="HIVEACID_APPEND_INTERRUPTED",
            )


@dataclass(frozen=True)
class AppliedRun:
    """A run whose changes are in the target."""

    staged: StagedRun

    @raising_dbt_errors
    def report(self) -> HiveAcidAdapterResponse:
        """Return the response for the model, and log it."""
        counted = self.staged.summary
        rows, read = counted.inserts + counted.deletes, self.staged.context.node.has_read
        response = HiveAcidAdapterResponse.of(self.message, rows, read)
        response.changes = self.to_dict()
        logger.info(self.line(response.transaction_id))
        return response

    @property
    def message(self) -> str:
        """The message that dbt shows next to the model's name."""
        return f"OK, {self._rows(', ')}"

    def line(self, transaction_id: int | None) -> str:
        """Return the line for the log."""
        planned, model = self.staged.planned, self.staged.context.model
        read, whole = planned.rows.amount_read(), planned.plan.whole
        return (
            f"Model {model.name}: {self._rows(' and ')} by write ids {planned.plan.new_write_ids} "
            f"of {model.source.table}, read in transaction {transaction_id} from {read.files} of "
            f"{whole.files} files, {human_bytes(read.bytes)} of {human_bytes(whole.bytes)}"
        )

    def to_dict(self) -> dict[str, str | int]:
        """Return the fields for `run_results.json`: rows, write ids, and the source's files."""
        planned, counted = self.staged.planned, self.staged.summary
        read, whole = planned.rows.amount_read(), planned.plan.whole
        return {
            "source": str(self.staged.context.model.source.table),
            "write_ids": str(planned.plan.new_write_ids),
            "inserts": counted.inserts,
            "deletes": counted.deletes,
            "files_read": read.files,
            "files": whole.files,
            "bytes_read": read.bytes,
            "bytes": whole.bytes,
        }

    def _rows(self, between: str) -> str:
        counted, is_upsert = self.staged.summary, self.staged.planned.mode is Mode.UNIQUE_KEY
        inserts = pluralize(counted.inserts, "upsert" if is_upsert else "insert")
        return f"{inserts}{between}{pluralize(counted.deletes, 'delete')}"


def stage_changes(
    planned: PlannedRun, existing: HiveAcidRelation, check_rows: CheckRows
) -> StagedRun:
    """Write the changes of a planned run into a stage, and check the run's snapshot.

    Raises:
        IncrementalError: rows of the target could not be found by their key.
        TransactionLostError: the rows may not be all that the source had.
    """
    context, node = planned.context, planned.context.node
    target, root = context.model.target, context.model.config.location_root
    new_rows = planned.model_rows()
    rows = node.make_temporary_view(target, "tmp", new_rows)
    changes = node.make_temporary_view(target, "changes", planned.changes(new_rows))
    new_columns = check_rows(rows, existing)
    stage, location = context.services.staging.stage_rows(target, root, role=CHANGES)
    where = "" if location is None else f" location '{location}'"
    context.execute(f"create table {stage} using parquet{where} as select * from {changes}")
    context.check_snapshot()
    return StagedRun(planned, existing, stage, new_columns or ())


def _common_types(context: RunContext, *relations: HiveAcidRelation) -> dict[str, str]:
    """Return the types of the columns that have the same type in all relations, by name."""
    types = [
        {
            (field.name.lower(), field.dataType.simpleString())
            for field in context.session.table(str(relation)).schema.fields
            # CHAR and VARCHAR have their own comparison rules.
            if TEXT_OF_LENGTH not in field.metadata
        }
        for relation in relations
    ]
    return dict(set.intersection(*types))


def _stored_columns(context: RunContext) -> Iterator[tuple[str, str]]:
    """Yield the names of the target's columns, and their types in SQL."""
    for field in context.session.table(str(context.model.target)).schema.fields:
        yield field.name, (field.metadata or {}).get(TEXT_OF_LENGTH) or sql_type(field.dataType)


def _refuse_other_layout(context: RunContext) -> None:
    """Refuse to append to a table whose layout differs from the model's configuration."""
    model = context.model
    target, config = model.target, model.config
    found = _layout(*table_layout(context.session, str(target.schema), str(target.identifier)))
    wanted = _layout(
        config.file_format, config.partition_by, config.clustered_by, config.buckets or 0
    )
    if found != wanted:
        raise IncrementalError(
            f"{target} is stored as {found}, and model {model.name} says {wanted}, so new "
            "rows cannot be appended to it. Nothing has been changed. Run the model with "
            "`--full-refresh`, or give it the previous `file_format`, `partition_by`, "
            "`clustered_by` and `buckets`.",
            code="HIVEACID_TARGET_LAYOUT_DIFFERS",
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
