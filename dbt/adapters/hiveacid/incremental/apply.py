"""What the macros ask of the adapter once a model's changes are staged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dbt.adapters.base.column import Column
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from dbt.adapters.hiveacid.connections import HiveAcidAdapterResponse
from dbt.adapters.hiveacid.errors import IncrementalError, available
from dbt.adapters.hiveacid.incremental import merge_sql
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.key_checks import CheckMethods
from dbt.adapters.hiveacid.incremental.model_run import ModelChanges
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
from dbt.adapters.hiveacid.targets.files import write_record
from dbt.adapters.hiveacid.targets.state import Checks, LostState, TargetState

logger = AdapterLogger("HiveAcid")
_TEXT_OF_LENGTH = "__CHAR_VARCHAR_TYPE_STRING"
"""Spark's key for the declared type of a CHAR or VARCHAR in a field's metadata."""


class ApplyMethods(CheckMethods):
    """The adapter's methods that bring staged changes into a target, in the order of a run."""

    execute: Any

    @available
    def hiveacid_way(self, stage: HiveAcidRelation) -> str:
        """How the staged changes get into the target.

        `nothing`: there are none. `strategy`: by dbt-spark's strategy. `merge`: one statement.
        `append`: a table of new rows, whose files the target takes over. `rewrite`: a new version.
        `again`: not at all; the whole backlog is to be staged instead.

        Raises:
            IncrementalError: two inserted rows have the same `unique_key`; or the target, which is
                to take over files, is stored otherwise than the model says.
        """
        changes = self._changes()
        changes.staged = staged = self._summary(changes, stage)
        if not staged.inserts and not staged.deletes and not changes.is_bounded:
            return "nothing"
        if staged.repeated is not None and changes.is_bounded:
            logger.info(
                f"Model {changes.model} takes all new write ids of {changes.source.table} at once: "
                "in a batch of them rows with the same unique_key seem to be there together, since "
                "they were not committed in the order of their write ids"
            )
            changes.take_all()
            return "again"
        if staged.repeated is not None:
            self._refuse_duplicates(changes, *staged.repeated)
        if not changes.config.is_plain:
            return "strategy" if changes.mode is Mode.OWN else "merge"
        if changes.mode is Mode.UNIQUE_KEY or staged.deletes:
            return "rewrite"
        self._refuse_other_layout(changes)
        return "append"

    @available
    def hiveacid_statement(
        self,
        way: str,
        stage: HiveAcidRelation,
        existing: HiveAcidRelation,
        new_columns: Sequence[Column] = (),
        update_columns: list[str] | None = None,
        predicates: list[str] | None = None,
    ) -> str:
        """The statement, or the query of the new rows or of the new version, for `hiveacid_way`.

        `new_columns` are those of the new rows if they may be fewer than the target's.

        Raises:
            IncrementalError: new rows have columns of types that do not go into the target's.
        """
        changes = self._changes()
        columns = tuple(self._stored_columns(changes.target))
        given = {column.name.lower() for column in new_columns}
        missing = frozenset(name for name, _ in columns if given and name.lower() not in given)
        # A MERGE leaves it to the engine what fits into a column.
        is_merge = way == "merge" and changes.mode is not Mode.APPEND
        checked = frozenset() if is_merge else self._checked_columns(changes, stage)
        target = merge_sql.Target(str(existing), columns, missing, checked)
        staged, key = str(stage), changes.config.unique_key
        if way == "append":
            if changes.mode is Mode.OWN:
                return f"select {target.casts('s')} from {staged} s"
            return merge_sql.staged_inserts(target, staged)
        if way == "rewrite":
            is_upsert = changes.mode is Mode.UNIQUE_KEY
            return merge_sql.rewritten(
                target, staged, key if is_upsert else (changes.row_id,), is_upsert=is_upsert
            )
        limits = (*(predicates or ()), *changes.staged.predicates)
        if changes.mode is Mode.UNIQUE_KEY:
            return merge_sql.merge_by_key(target, staged, key, update_columns, limits)
        if changes.mode is Mode.ROW_ID:
            return merge_sql.merge_by_row_id(target, staged, changes.row_id, limits)
        return merge_sql.append(target, staged)

    @available
    def hiveacid_begin_commit(self, existing: HiveAcidRelation) -> HiveAcidRelation:
        """What the statement that changes a target of a format with commits has to write into.

        Raises:
            ConcurrentRunError: another run has changed the target already.
        """
        changes = self._changes()
        store = changes.store = self._commit_store(existing, changes.config)
        part = self._as_statement(
            f"begin a commit to {existing}", lambda: store.begin(changes.known)
        )
        if part is None:
            return existing
        return existing.incorporate(path={"identifier": f"{existing.identifier}.{part}"})

    @available
    def hiveacid_commit(
        self, sql: str, relation: HiveAcidRelation | None = None, location_root: str | None = None
    ) -> Any:
        """Run the statement that changes the target, with the new state in the same commit.

        `relation` is the stage of a target that is built beside what has its name.
        `location_root` is the model's configuration of that name.

        Raises:
            ConcurrentRunError: another run was faster.
        """
        changes = self._running()
        if changes is None or changes.is_partial or changes.config.is_plain:
            return self.execute(sql, auto_begin=True)[0]
        state = self._next_state(changes)
        base = changes.known if relation is None else None
        if base is None and location_root and changes.config.file_format == "delta":
            base = self._left_behind(f"{location_root}/{changes.target.identifier}")
        target = relation or changes.target
        store = changes.store or self._commit_store(target, changes.config)
        if relation is None and changes.store is None:
            # The target is built anew in its place, and checked after this commit.
            state = changes.built = replace(state, checks=Checks.PENDING)
        with self.connections.exception_handler(sql), store.committing(base, state):
            return self.execute(sql, auto_begin=True)[0]

    @available
    def hiveacid_append(self) -> None:
        """Let the target take over the files of the finished stage.

        Raises:
            IncrementalError: somebody has removed files of it meanwhile.
        """
        handle, changes = self._handle(), self._changes()
        store = self._plain_store(changes.target)
        state = self._next_state(changes)
        stage = handle.stages["stage"].relation
        appending = f"append {stage} to {changes.target}"
        with handle.uninterrupted(), self.connections.exception_handler(appending):
            store.record(changes.known, state, str(stage.schema), str(stage.identifier))
            # What a failure leaves is for the next run to finish, no longer to be removed.
            del handle.stages["stage"]
            known = store.read()
        if isinstance(known, LostState):
            raise IncrementalError(
                f"Model {changes.model} was appending, and {known.reason}. Some of the new rows "
                "may be in the table. Run it with --full-refresh."
            )

    @available
    def hiveacid_applied(self) -> HiveAcidAdapterResponse:
        """The response for a model whose target is up to date now; the log says it, too."""
        handle, changes = self._handle(), self._changes()
        applied = changes.applied()
        rows = applied.inserts + applied.deletes
        response = HiveAcidAdapterResponse.of(applied.message, rows, handle.has_read)
        response.changes = applied.to_dict()
        logger.info(applied.line(response.transaction_id))
        return response

    @contextmanager
    def replacing_target(self) -> Iterator[None]:
        """Around the switch: the stage has the new state, and no other run changes the target.

        Raises:
            ConcurrentRunError: another run has changed the target.
        """
        handle, changes = self._handle(), self._running()
        if changes is None or changes.is_partial or not changes.config.is_plain:
            yield
            return
        stage = handle.stages["stage"].relation
        state, store = self._next_state(changes), self._plain_store(changes.target)
        with self.connections.exception_handler(f"replace {changes.target} by {stage}"):
            write_record(handle.session, str(stage.schema), str(stage.identifier), state)
            with store.replacing(changes.known, get_invocation_id()):
                yield

    def _next_state(self, changes: ModelChanges) -> TargetState:
        session, invocation = self._handle().session, get_invocation_id()
        return self._as_statement(
            f"look up what {changes.model} has read",
            lambda: changes.next_state(session, invocation),
        )

    def _summary(self, changes: ModelChanges, stage: HiveAcidRelation) -> StageSummary:
        if changes.mode is Mode.OWN:
            (counted,) = self._query(f"select count(*) as inserts, 0 as deletes from {stage}")
            return summary(counted, ())
        parts = self._bounded_parts(changes, stage)
        if changes.mode is Mode.UNIQUE_KEY:
            query = by_key(str(stage), changes.config.unique_key, parts)
        else:
            query = by_row(str(stage), parts)
        (counted,) = self._query(query)
        return summary(counted, parts)

    def _bounded_parts(self, changes: ModelChanges, stage: HiveAcidRelation) -> list[KeyPart]:
        """The parts of the key whose bounds a MERGE will name."""
        if changes.config.is_plain:
            return []
        if changes.mode is Mode.UNIQUE_KEY:
            types = self._common_types(changes.target, stage)
            return key_parts(changes.config.unique_key, types)
        return row_id_parts(changes.row_id) if changes.mode is Mode.ROW_ID else []

    def _common_types(self, *relations: HiveAcidRelation) -> dict[str, str]:
        """The types of the columns that have the same in all the relations, by name."""
        session = self._handle().session
        types = [
            {
                (field.name.lower(), field.dataType.simpleString())
                for field in session.table(str(relation)).schema.fields
                # Texts of a given length are compared in ways of their own.
                if _TEXT_OF_LENGTH not in field.metadata
            }
            for relation in relations
        ]
        return dict(set.intersection(*types))

    def _stored_columns(self, target: HiveAcidRelation) -> Iterator[tuple[str, str]]:
        """The names of a table's columns, and their types in SQL."""
        for field in self._handle().session.table(str(target)).schema.fields:
            yield field.name, field.metadata.get(_TEXT_OF_LENGTH) or sql_type(field.dataType)

    def _checked_columns(self, changes: ModelChanges, stage: HiveAcidRelation) -> frozenset[str]:
        """The columns of which new rows have another type, with values that may not fit."""
        session = self._handle().session
        found = type_changes(
            session, session.table(str(stage)).schema, session.table(str(changes.target)).schema
        )
        refused = [str(change) for change in found if not change.is_allowed]
        if refused:
            raise IncrementalError(
                f"Model {changes.model} has other types than {changes.target}, which its new rows "
                f"cannot be given: {', '.join(refused)}. Nothing has been changed. Run the model "
                "with --full-refresh, or cast the columns in its SQL."
            )
        return frozenset(change.name for change in found if change.is_checked)

    def _refuse_other_layout(self, changes: ModelChanges) -> None:
        target, config = changes.target, changes.config
        stored = table_layout(self._handle().session, str(target.schema), str(target.identifier))
        found = _layout(*stored)
        wanted = _layout(
            config.file_format, config.partition_by, config.clustered_by, config.buckets or 0
        )
        if found != wanted:
            raise IncrementalError(
                f"{target} is stored as {found}, and model {changes.model} says {wanted}: new rows "
                "cannot be appended to it. Nothing has been changed. Run the model with "
                "`--full-refresh`, or give it the former `file_format`, `partition_by`, "
                "`clustered_by` and `buckets`."
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
