"""Stages: a model is built beside its target, and put in its place by a switch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError
from dbt_common.invocation import get_invocation_id
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import available
from dbt.adapters.hiveacid.node_context import NodeContext, Stage
from dbt.adapters.hiveacid.spark.table_locations import (
    default_location,
    delete_directory,
    lies_in,
    location_if_any,
    table_location,
)
from dbt.adapters.hiveacid.targets.state import overtaken

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager


class Catalog(Protocol):
    """The part of the adapter that a switch needs."""

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Rename a table or view."""

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a table or view, if it exists."""


def stage_of(
    target: BaseRelation,
    invocation_id: str,
    location_root: str | None,
    role: str = "stage",
    batch: str | None = None,
) -> Stage:
    """Return the stage for building `target` in this invocation.

    No other invocation has the same. `batch` is the id of a microbatch: several microbatches of a
    model are staged at the same time.
    """
    relation = beside(target, role, invocation_id, batch)
    return Stage(relation, target, invocation_id, location_root)


BACKUP = "backup"
"""The role of a target's former version, from the first rename of a switch to its end."""


@dataclass(frozen=True)
class Leftover:
    """A table, or the directory of one, that a run has made beside a target.

    `role` is that of a stage, or `BACKUP`; `invocation` has the first 8 digits of the run's id.
    """

    name: str
    role: str
    invocation: str


def leftovers(target: str, names: Iterable[str], invocation_id: str) -> list[Leftover]:
    """Those of `names` that other invocations than this one have made beside `target`."""
    form = rf"{re.escape(target)}__dbt_([a-z]+)_([0-9a-f]{{8}})(?:_[0-9t]+)?"
    pattern = re.compile(form, re.IGNORECASE)
    found = [
        Leftover(m.group(), m.group(1), m.group(2)) for m in map(pattern.fullmatch, names) if m
    ]
    return [left for left in found if left.invocation != digits(invocation_id)]


def beside(
    relation: BaseRelation, role: str, invocation_id: str, batch: str | None = None
) -> BaseRelation:
    """A relation in the same database that only this invocation uses."""
    identifier = f"{relation.identifier}__dbt_{role}_{digits(invocation_id)}"
    if batch is not None:
        identifier += f"_{batch.lower()}"
    return relation.incorporate(path={"identifier": identifier})


def build_location(location_root: str, schema: str, identifier: str, invocation_id: str) -> str:
    """The directory of an external table's build: Spark creates tables in empty ones only.

    It has the schema, since a model of the same name in another one may have the same root, and a
    form that other directories have not, since it is removed after the next build.
    """
    build = f"{schema}__dbt_build_{digits(invocation_id)}"
    return f"{location_root.rstrip('/')}/{identifier}/{build}"


def refuse_nested_build(session: SparkSession, stage: Stage) -> None:
    """Refuse to build where a managed table of the target's name is, or would be.

    That table's directory is moved when the table is renamed, and deleted when it is dropped, with
    what was built in it.

    Raises:
        DbtRuntimeError: naming both directories.
    """
    if stage.location_root is None:
        return
    schema, identifier = str(stage.target.schema), str(stage.target.identifier)
    build = build_location(stage.location_root, schema, identifier, stage.invocation_id)
    places = [default_location(session, schema, identifier)]
    if table_location(session, schema, identifier) is None:
        places.append(location_if_any(session, schema, identifier))
    for place in places:
        if place is not None and lies_in(session, build, place):
            raise DbtRuntimeError(
                f"With the location_root {stage.location_root}, {stage.target} would be built in "
                f"{build}, which lies in the directory of the managed table of that name, {place}. "
                "The new rows would go with that table. Choose a location_root outside of the "
                "database's directory."
            )


def switch(catalog: Catalog, stage: Stage, old: BaseRelation | None) -> BaseRelation | None:
    """Make the stage the target; `old` is what has had that name, a table or a view.

    Readers see the old table until the first rename, none between the two, and the new one from the
    second on. If the second fails, the old one gets its name back.

    Returns:
        The old table under the name that it has now, for `remove_backup`.
    """
    if old is None:
        catalog.rename_relation(stage.relation, stage.target)
        return None
    backup = beside(old, BACKUP, stage.invocation_id)
    catalog.rename_relation(old, backup)
    try:
        catalog.rename_relation(stage.relation, stage.target)
    except BaseException:
        catalog.rename_relation(backup, old)
        raise
    return backup


def remove_backup(
    catalog: Catalog, backup: BaseRelation, target: BaseRelation, session: SparkSession | None
) -> None:
    """Remove a target's former version, or what else a run has left beside it.

    With a session an external table's directory goes, too, if a build of the target made it. It
    goes first: without its table nobody would find it again.
    """
    if session is not None:
        former = _former_build(session, backup, target)
        if former is not None:
            delete_directory(session, former)
    catalog.drop_relation(backup)


def discard(catalog: Catalog, stage: Stage, session: SparkSession) -> None:
    """Remove a stage: the table if it was created, and what a failed build left of its files.

    They stay if they are the target's by now: a rename may have failed for the answer only.
    """
    catalog.drop_relation(stage.relation)
    location: str | None
    if stage.location_root is None:
        table = stage.relation
        location = default_location(session, str(table.schema), str(table.identifier))
    else:
        target = stage.target
        location = build_location(
            stage.location_root, str(target.schema), str(target.identifier), stage.invocation_id
        )
    target = stage.target
    lives_in = location_if_any(session, str(target.schema), str(target.identifier))
    if location is not None and (lives_in is None or last_part(lives_in) != last_part(location)):
        delete_directory(session, location)


def last_part(location: str) -> str:
    """The name of a directory."""
    return location.rstrip("/").rpartition("/")[2]


def _former_build(session: SparkSession, backup: BaseRelation, target: BaseRelation) -> str | None:
    """The directory of the external table `backup`, if its name is that of a build of `target`."""
    location = table_location(session, str(backup.schema), str(backup.identifier))
    schema, identifier = re.escape(str(target.schema)), re.escape(str(target.identifier))
    ours = re.compile(rf"/{identifier}/{schema}__dbt_build_[0-9a-f]{{8}}/?$")
    return location if location is not None and ours.search(location) else None


def digits(invocation_id: str) -> str:
    """The part of an invocation's id that stands in the names of what it makes."""
    return invocation_id[:8]


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
    _handle: Callable[[], NodeContext]

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
        stage = stage_of(target, get_invocation_id(), location_root, role, batch_id)
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

    def _remove_backup(self, handle: NodeContext, stage: Stage, backup: BaseRelation) -> None:
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

    def _discard(self, handle: NodeContext, stage: Stage) -> None:
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
