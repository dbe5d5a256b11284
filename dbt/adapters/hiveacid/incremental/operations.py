"""Operations on the states of incremental models' targets, for users and for materializations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.targets.state import StateLookup, TargetState
from dbt.adapters.hiveacid.targets.stores import TargetStores

logger = AdapterLogger("HiveAcid")
_BUILT_ANEW = (
    "A model over acid_changes is built anew by its next run; no other model needs a state"
)


class StateOperations:
    """What `hiveacid_state` and `hiveacid_reset_state` do."""

    def __init__(
        self,
        stores: TargetStores,
        relation: type[HiveAcidRelation],
        find: Callable[..., Any],
    ) -> None:
        """`find` returns the relation that has a database, schema and identifier, or None."""
        self._stores = stores
        self._relation = relation
        self._find = find

    def show(self, node: Mapping[str, Any]) -> None:
        """Print the state of an incremental model's target."""
        target, config = self._target_of(node)
        known = self._read(target, config)
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

    def remove(self, node: Mapping[str, Any]) -> None:
        """Remove the state of an incremental model's target: the next run builds it anew."""
        target, config = self._target_of(node)
        if isinstance(self._read(target, config), TargetState):
            self._stores.remove(target, config.file_format)
        logger.info(_no_state(target))

    def forget(self, existing: HiveAcidRelation) -> None:
        """Remove the state of a target that is about to get rows without acid_changes."""
        if self._stores.forget(existing):
            logger.info(f"{existing} is written without acid_changes: {_no_state(existing)}")

    def _read(self, target: HiveAcidRelation, config: IncrementalConfig) -> StateLookup:
        existing = self._find(target.database, target.schema, target.identifier)
        return self._stores.read(existing, target, config.file_format)

    def _target_of(self, node: Mapping[str, Any]) -> tuple[HiveAcidRelation, IncrementalConfig]:
        target = self._relation.create(
            database=node["database"], schema=node["schema"], identifier=node["alias"]
        )
        return target, IncrementalConfig.of(str(node["name"]), node["config"])


def _no_state(target: HiveAcidRelation) -> str:
    return f"{target} has no state any more. {_BUILT_ANEW}"
