"""The adapter's methods by which a model is built beside its target and put in its place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta, available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.invocation import get_invocation_id

from dbt.adapters.hiveacid.incremental.stores import overtaken
from dbt.adapters.hiveacid.staging import (
    Stage,
    build_location,
    discard,
    refuse_nested_build,
    remove_backup,
    switch,
)

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
    from dbt.adapters.hiveacid.spark.session import SessionHandle

logger = AdapterLogger("HiveAcid")


class StagingMethods(metaclass=AdapterMeta):
    """Stages, and the switch that makes one the target."""

    connections: HiveAcidConnectionManager
    _write_locks: dict[str, Lock]
    """By the name of the target."""

    drop_relation: Any
    exists: Callable[[BaseRelation], bool]
    rename_relation: Any
    replacing_target: Any
    _handle: Callable[[], SessionHandle]

    @available
    def hiveacid_stage(
        self,
        target: BaseRelation,
        location_root: str | None = None,
        role: str = "stage",
        batch: Mapping[str, Any] | None = None,
    ) -> BaseRelation:
        """A relation to build `target`, or a batch of it, in.

        It is removed after the model if it is still there.

        Raises:
            DbtRuntimeError: `location_root` would have it in the directory of a managed table.
        """
        batch_id = None if batch is None else str(batch["id"])
        stage = Stage.of(target, get_invocation_id(), location_root, role, batch_id)
        with self.connections.exception_handler(f"find a place for {stage.relation}"):
            refuse_nested_build(self._handle().session, stage)
        self._handle().stages[role] = stage
        return stage.relation

    @available
    def hiveacid_write_alone(self, target: BaseRelation) -> None:
        """Keep this run's other threads from writing `target` until the model, or its batch, ends.

        Iceberg gives up a commit that four others have come before (`commit.retry.num-retries`).
        """
        handle, lock = self._handle(), self._write_locks.setdefault(str(target), Lock())
        if handle.write_lock is None:
            lock.acquire()
            handle.write_lock = lock

    @available
    def hiveacid_build_location(self, location_root: str, schema: str, identifier: str) -> str:
        """The directory in which this invocation builds an external table."""
        return build_location(location_root, schema, identifier, get_invocation_id())

    @available
    def hiveacid_switch(self, old: BaseRelation | None) -> None:
        """Put the finished stage in its target's place; Ctrl-C takes effect before or after.

        `old` is what has the target's name now.

        Raises:
            ConcurrentRunError: another run has changed the target.
        """
        handle = self._handle()
        stage = handle.stages["stage"]
        with handle.uninterrupted(), self.replacing_target():
            try:
                backup = switch(self, stage, old)
            except Exception as error:
                if old is None and self.exists(stage.target):
                    raise overtaken(str(stage.target)) from error
                raise
            del handle.stages["stage"]
            if backup is not None:
                self._remove_backup(handle, stage, backup)

    def _remove_backup(self, handle: SessionHandle, stage: Stage, backup: BaseRelation) -> None:
        session = handle.session if stage.location_root else None
        try:
            remove_backup(self, backup, stage.target, session)
        except Exception as error:
            logger.warning(
                f"{stage.target} is up to date, but its former version, {backup}, could not be "
                f"removed. The next run of the model tries again. {error}"
            )

    def end_staging(self) -> None:
        """Remove the stages of this thread's model that are left, and let others write its target.

        What cannot be removed is told of: what has failed before must not be lost sight of.
        """
        handle = self._handle()
        if handle.write_lock is not None:
            handle.write_lock.release()
            handle.write_lock = None
        for role in list(handle.stages):
            self._discard(handle, handle.stages.pop(role))

    def _discard(self, handle: SessionHandle, stage: Stage) -> None:
        try:
            with (
                handle.uninterrupted(),
                self.connections.exception_handler(f"drop {stage.relation}"),
            ):
                discard(self, stage, handle.session)
        except Exception as error:
            logger.warning(
                f"{stage.relation}, in which {stage.target} was being built, could not be removed. "
                f"The next run of the model tries again. {error}"
            )
