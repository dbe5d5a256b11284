"""What the macros of incremental models ask of the adapter about a target's rows and their key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt.adapters.hiveacid.errors import IncrementalError, available
from dbt.adapters.hiveacid.incremental.model_run import ModelChanges
from dbt.adapters.hiveacid.incremental.operations import StateMethods
from dbt.adapters.hiveacid.incremental.stage import repeated_key
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.state import TargetState


class CheckMethods(StateMethods):
    """The adapter's methods that check targets."""

    @available
    def hiveacid_check_unique_key(self, built: HiveAcidRelation) -> None:
        """Refuse a table, built as a whole, in which `unique_key` would not find one row each.

        Raises:
            IncrementalError: two rows have the same; the key and how many are named.
        """
        changes = self._running()
        if changes is None or changes.is_partial:
            return
        if changes.config.checked_key:
            for found in self._query(repeated_key(str(built), changes.config.unique_key)):
                self._refuse_duplicates(changes, found["key"].asDict(), found["times"])

    @available
    def hiveacid_confirm_state(self) -> None:
        """Let the state of a target count that was built in its place, now that it is checked.

        A run that dies before has left a target that the next one builds anew.

        Raises:
            ConcurrentRunError: another run has built it anew since.
        """
        changes = self._running()
        if changes is not None and changes.built is not None:
            built, store = changes.built, self._commit_store(changes.target, changes.config)
            self._as_statement(
                f"confirm the state of {changes.target}", lambda: store.confirm(built)
            )

    def _check_new_key(self, changes: ModelChanges) -> None:
        """Refuse a `unique_key` that the target's rows were not made with and do not have.

        One change would be applied to several rows. The next state has the key, so that the table
        is looked at once.
        """
        key, known = changes.config.checked_key, changes.known
        made_with = known.unique_key if isinstance(known, TargetState) else ()
        if not key or key == made_with or not set(key) <= set(changes.stored_columns):
            return
        for found in self._query(repeated_key(str(changes.target), changes.config.unique_key)):
            raise IncrementalError(
                f"{changes.target} has {found['times']} rows with the same value of the new "
                f"unique_key of model {changes.model} ({_shown(found['key'].asDict())}), and what "
                "changes one of them would change all. Nothing has been changed. Choose a key that "
                "is unique, or make it so in the model's SQL and run it with --full-refresh."
            )

    def _refuse_duplicates(self, changes: ModelChanges, key: Mapping[str, Any], times: int) -> None:
        raise IncrementalError(
            f"Model {changes.model} has {times} new rows with the same unique_key "
            f"({_shown(key)}), so that it is not known which of them is to stay. Nothing has been "
            "changed. Choose a key that is unique, or make it so in the model's SQL."
        )

    def _changes(self) -> ModelChanges:
        changes = self._handle().incremental
        assert changes is not None, "hiveacid_begin_incremental comes first"
        return changes

    def _running(self) -> ModelChanges | None:
        connection = self.connections.get_if_exists()
        handle = getattr(connection, "_handle", None)
        return getattr(handle, "incremental", None)


def _shown(key: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in key.items())
