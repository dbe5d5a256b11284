"""Stores of the states of targets, by the format of the target."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.node_context import Statements
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

logger = AdapterLogger("HiveAcid")
NEXT_RUN_REBUILDS = (
    "The next run of a model over acid_changes rebuilds it; no other model needs a state"
)
_COMMITTING = ("delta", "iceberg")
"""Formats with commits; the other formats are Spark's own."""


class TargetStores:
    """Stores of all targets. Their Python code runs as statements of this thread's node."""

    def __init__(self, statements: Statements, runs: OtherRuns) -> None:
        self._statements = statements
        self._runs = runs

    def store(self, target: HiveAcidRelation, file_format: str) -> Store:
        """Return the store of a target in this format."""
        if file_format in _COMMITTING:
            return self.commit_store(target, file_format)
        return self.file_store(target)

    def commit_store(self, target: HiveAcidRelation, file_format: str) -> CommitStore:
        """Return the store of a Delta or Iceberg table."""
        session = self._statements.session
        if file_format == "iceberg":
            return IcebergStore(session, str(target))
        return DeltaStore(session, self._statements.query, str(target))

    def file_store(self, target: HiveAcidRelation) -> FileStore:
        """Return the store of a table in one of Spark's own formats."""
        return FileStore(
            self._statements.session,
            self._statements.query,
            str(target.schema),
            str(target.identifier),
            self._runs,
        )

    def read(
        self, existing: HiveAcidRelation | None, target: HiveAcidRelation, file_format: str
    ) -> StateLookup:
        """Look up the state of a target.

        Args:
            existing: the relation with the target's name; None if there is none.
            target: the target.
            file_format: the model's `file_format`.
        """
        if existing is None or existing.is_view:
            return None
        if _format_of(existing) != (file_format if file_format in _COMMITTING else None):
            return LostState(f"{target} is not stored in the model's `file_format`, {file_format}")
        store = self.store(target, file_format)
        return self._statements.run(f"look up the state of {target}", store.read)

    def read_left_behind(self, location: str) -> StateLookup:
        """Look up the state in the Delta log of a directory in which a table is to be created.

        After a failed build, or after an external table was dropped, the log is still there, and
        Delta continues it.
        """
        session, log = self._statements.session, f"{location}/_delta_log"
        if not self._statements.run(f"look for {log}", lambda: exists(session, log)):
            return None
        quoted = location.replace("`", "``")
        return DeltaStore(session, self._statements.query, f"delta.`{quoted}`").read()

    def remove(self, target: HiveAcidRelation, file_format: str) -> None:
        """Remove the state of a target."""
        store = self.store(target, file_format)
        self._statements.run(f"remove the state of {target}", store.reset)

    def forget(self, existing: HiveAcidRelation) -> None:
        """Remove the state of a target that is about to get rows not from `acid_changes`.

        With the state, the next run over `acid_changes` would add the same rows again.
        """
        session, file_format = self._statements.session, _format_of(existing)
        if (
            file_format is None
            and location_if_any(session, str(existing.schema), str(existing.identifier)) is None
        ):
            return
        store = self.store(existing, file_format or "")
        recent = self._statements.run(f"look up the state of {existing}", store.recent)
        if isinstance(recent, TargetState):
            self._statements.run(f"remove the state of {existing}", store.reset)
            logger.info(f"{existing} is written without acid_changes: {no_state(existing)}")

    def finish_append(self, existing: HiveAcidRelation) -> None:
        """Finish an append to a table that a run has left undone."""
        if not existing.is_view and _format_of(existing) is None:
            self.file_store(existing).recent()


def no_state(target: HiveAcidRelation) -> str:
    """Return the message for a target whose state has just been removed."""
    return f"{target} has no state any more. {NEXT_RUN_REBUILDS}"


def _format_of(existing: HiveAcidRelation) -> str | None:
    """Return the format of a table with commits; None for any other table."""
    return "delta" if existing.is_delta else "iceberg" if existing.is_iceberg else None
