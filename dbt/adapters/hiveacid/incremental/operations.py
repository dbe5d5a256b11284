"""The states of incremental models' targets: where they are, and the operations on them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.errors import available
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.table_locations import exists, location_if_any
from dbt.adapters.hiveacid.targets.delta import DeltaStore
from dbt.adapters.hiveacid.targets.files import FileStore
from dbt.adapters.hiveacid.targets.iceberg import IcebergStore
from dbt.adapters.hiveacid.targets.state import (
    CommitStore,
    LostState,
    OtherRuns,
    StateLookup,
    Store,
    TargetState,
)
from hiveacid.formatting import quoted

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.invocation import Invocation
    from dbt.adapters.hiveacid.node_context import NodeContext


logger = AdapterLogger("HiveAcid")
T = TypeVar("T")
_BUILT_ANEW = (
    "A model over acid_changes is built anew by its next run; no other model needs a state"
)


class StateMethods(metaclass=AdapterMeta):
    """The adapter's methods for states."""

    Relation: Any
    connections: Any
    get_relation: Any
    run: Invocation
    _handle: Callable[[], NodeContext]

    @available
    def hiveacid_show_state(self, node: Mapping[str, Any]) -> None:
        """Print the state of an incremental model's target."""
        target, config = self._target_of(node)
        known = self._known(config, target)
        if isinstance(known, TargetState):
            lines = [
                f"{target} has the state of commit {known.commit_id}, the {known.generation}. of "
                f"its lineage, made by invocation {known.invocation_id}",
                *(f"{name}: {json.dumps(state)}" for name, state in known.sources.items()),
            ]
        else:
            reason = f": {known.reason}" if known is not None else ""
            lines = [f"{target} has no state{reason}. {_BUILT_ANEW}"]
        for line in lines:
            logger.info(line)

    @available
    def hiveacid_remove_state(self, node: Mapping[str, Any]) -> None:
        """Remove the state of an incremental model's target: the next run builds it anew."""
        target, config = self._target_of(node)
        if isinstance(self._known(config, target), TargetState):
            self._as_statement(f"remove the state of {target}", self._store(target, config).reset)
        logger.info(_no_state(target))

    @available
    def hiveacid_forget_state(self, existing: HiveAcidRelation) -> None:
        """Remove the state of a target that is about to get rows by something else.

        Its next run over acid_changes would bring these rows once more.
        """
        session = self._handle().session
        store: Store
        if existing.is_delta:
            store = DeltaStore(session, self._query, str(existing))
        elif existing.is_iceberg:
            store = IcebergStore(session, str(existing))
        elif location_if_any(session, str(existing.schema), str(existing.identifier)) is None:
            return
        else:
            store = self._plain_store(existing)
        recent = self._as_statement(f"look up the state of {existing}", store.recent)
        if isinstance(recent, TargetState):
            self._as_statement(f"remove the state of {existing}", store.reset)
            logger.info(f"{existing} is written without acid_changes: {_no_state(existing)}")

    def finish_append(self, existing: HiveAcidRelation) -> None:
        """Let a table take over the rest of the rows whose append a run has left undone."""
        if not (existing.is_view or existing.is_delta or existing.is_iceberg):
            self._plain_store(existing).recent()

    def _target_of(self, node: Mapping[str, Any]) -> tuple[HiveAcidRelation, IncrementalConfig]:
        target = self.Relation.create(
            database=node["database"], schema=node["schema"], identifier=node["alias"]
        )
        return target, IncrementalConfig.of(str(node["name"]), node["config"])

    def _known(self, config: IncrementalConfig, target: HiveAcidRelation) -> StateLookup:
        existing = self.get_relation(target.database, target.schema, target.identifier)
        if existing is None or existing.is_view:
            return None
        found = "delta" if existing.is_delta else "iceberg" if existing.is_iceberg else "plain"
        if found != ("plain" if config.is_plain else config.file_format):
            return LostState(
                f"{target} is not stored in the model's `file_format`, {config.file_format}"
            )
        store = self._store(target, config)
        return self._as_statement(f"look up the state of {target}", store.read)

    def _left_behind(self, place: str) -> StateLookup:
        """The state in the log of a Delta table in a directory that is about to get a table.

        Where a build has failed, or an external table was dropped, the log is still there, and
        Delta goes on with it.
        """
        session = self._handle().session
        log = f"{place}/_delta_log"
        if not self._as_statement(f"look for {log}", lambda: exists(session, log)):
            return None
        return DeltaStore(session, self._query, f"delta.{quoted(place)}").read()

    def _store(self, target: HiveAcidRelation, config: IncrementalConfig) -> Store:
        return self._plain_store(target) if config.is_plain else self._commit_store(target, config)

    def _commit_store(self, target: HiveAcidRelation, config: IncrementalConfig) -> CommitStore:
        session = self._handle().session
        if config.file_format == "iceberg":
            return IcebergStore(session, str(target))
        return DeltaStore(session, self._query, str(target))

    def _plain_store(self, target: HiveAcidRelation) -> FileStore:
        return FileStore(
            self._handle().session,
            self._query,
            str(target.schema),
            str(target.identifier),
            OtherRuns(
                self.run.is_another_alive, self.run.lock_timeout, self.run.raise_if_cancelled
            ),
        )

    def _query(self, sql: str) -> Iterable[Any]:
        return self._as_statement(sql, lambda: self._handle().session.sql(sql).collect())

    def _as_statement(self, sql: str, function: Callable[[], T]) -> T:
        """Run Python code as a statement is run, which is `sql` or said in its place.

        Spark's jobs are those of the node, Ctrl-C stops them, and errors are dbt's.
        """
        with self.connections.exception_handler(sql):
            return self._handle().cursor().run(function)


def _no_state(target: HiveAcidRelation) -> str:
    return f"{target} has no state any more. {_BUILT_ANEW}"
