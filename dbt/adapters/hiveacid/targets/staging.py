"""Stages: tables next to a target in which it is built, and the switch that replaces the target."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.node_context import NodeContext, Stage, Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation, RelationCatalog
from dbt.adapters.hiveacid.spark.table_locations import (
    default_location,
    delete_directory,
    lies_in,
    location_if_any,
    table_location,
)
from dbt.adapters.hiveacid.targets.state import overtaken

logger = AdapterLogger("HiveAcid")


def stage_of(
    target: HiveAcidRelation,
    invocation_id: str,
    location_root: str | None,
    role: str = "stage",
    batch: str | None = None,
) -> Stage:
    """Return the stage for building `target` in this invocation.

    Its name is unique to the invocation. `batch` is the id of a microbatch: several microbatches of
    a model are staged at the same time.
    """
    relation = next_to(target, role, invocation_id, batch)
    return Stage(relation, target, invocation_id, location_root)


CHANGES = "changes"
"""The role of a table with rows that an incremental run is about to apply to a target."""

BACKUP = "backup"
"""The role of a target's previous version, from the first rename of a switch to its end."""


@dataclass(frozen=True)
class Leftover:
    """A table or a directory that a run has made next to a target.

    `role` is the role of a stage, or `BACKUP`. `invocation` has the first 8 digits of the run's id.
    """

    name: str
    role: str
    invocation: str


def leftovers(target: str, names: Iterable[str], invocation_id: str) -> list[Leftover]:
    """Return the leftovers of other invocations next to `target`, among `names`."""
    form = rf"{re.escape(target)}__dbt_([a-z]+)_([0-9a-f]{{8}})(?:_[0-9t]+)?"
    pattern = re.compile(form, re.IGNORECASE)
    found = [
        Leftover(m.group(), m.group(1), m.group(2)) for m in map(pattern.fullmatch, names) if m
    ]
    return [left for left in found if left.invocation != digits(invocation_id)]


def next_to(
    relation: HiveAcidRelation, role: str, invocation_id: str, batch: str | None = None
) -> HiveAcidRelation:
    """Return a relation in the same database that only this invocation uses."""
    identifier = f"{relation.identifier}__dbt_{role}_{digits(invocation_id)}"
    if batch is not None:
        identifier += f"_{batch.lower()}"
    return relation.incorporate(path={"identifier": identifier})


def build_location(location_root: str, schema: str, identifier: str, invocation_id: str) -> str:
    """Return the directory of an external table's build.

    Each build has its own directory: Spark creates tables only in empty directories. The name
    contains the schema, since a model of the same name in another schema may have the same root. It
    has a distinctive form, since the directory is removed after the next build.
    """
    build = f"{schema}__dbt_build_{digits(invocation_id)}"
    return f"{location_root.rstrip('/')}/{identifier}/{build}"


def rows_location(location_root: str, stage: HiveAcidRelation) -> str:
    """Return the directory of a table with rows for a target, next to the targets' directories."""
    return f"{location_root.rstrip('/')}/{stage.schema}__{stage.identifier}"


def refuse_nested_build(session: SparkSession, stage: Stage) -> None:
    """Refuse to build in the directory of a managed table of the target's name.

    Renaming the managed table would move its directory, and dropping the table would delete it,
    together with the build in it.

    Raises:
        AdapterError: the build's directory is in the managed table's; the message names both.
    """
    if stage.location_root is None:
        return
    schema, identifier = str(stage.target.schema), str(stage.target.identifier)
    build = build_location(stage.location_root, schema, identifier, stage.invocation_id)
    locations = [default_location(session, schema, identifier)]
    if table_location(session, schema, identifier) is None:
        locations.append(location_if_any(session, schema, identifier))
    for location in locations:
        if location is not None and lies_in(session, build, location):
            raise AdapterError(
                f"With the location_root {stage.location_root}, {stage.target} would be built "
                f"in {build}, inside of {location}, the directory of the managed table of the "
                "same name. The new rows would be removed with that table. Choose a "
                "location_root outside of the database's directory.",
                code="HIVEACID_INVALID_LOCATION_ROOT",
            )


def switch(
    catalog: RelationCatalog, stage: Stage, old: HiveAcidRelation | None
) -> HiveAcidRelation | None:
    """Make the stage the target; `old` is the table or view with the target's name, or None.

    Readers see the old table until the first rename, no table between the two renames, and the new
    table from the second rename on. If the second rename fails, the old table gets its name back.

    Returns:
        The old table under its new name, for `remove_backup`; None if there was no old table.
    """
    if old is None:
        catalog.rename_relation(stage.relation, stage.target)
        return None
    backup = next_to(old, BACKUP, stage.invocation_id)
    catalog.rename_relation(old, backup)
    try:
        catalog.rename_relation(stage.relation, stage.target)
    except BaseException:
        catalog.rename_relation(backup, old)
        raise
    return backup


def remove_backup(
    catalog: RelationCatalog,
    backup: HiveAcidRelation,
    target: HiveAcidRelation,
    session: SparkSession | None,
) -> None:
    """Remove a target's previous version, or another table that a run has left next to the target.

    With a session, also delete the directory of an external table, if a build of the target made
    the directory. It is deleted first: without its table it would not be found again.
    """
    if session is not None:
        previous = _previous_build(session, backup, target)
        if previous is not None:
            delete_directory(session, previous)
    catalog.drop_relation(backup)


def discard(catalog: RelationCatalog, stage: Stage, session: SparkSession) -> None:
    """Remove a stage: the table if it was created, and the files that a failed build has left.

    The files stay if they belong to the target by now: a rename may have succeeded although its
    call failed.
    """
    catalog.drop_relation(stage.relation)
    location: str | None
    if stage.location is not None:
        delete_directory(session, stage.location)
        return
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
    """Return the name of a directory."""
    return location.rstrip("/").rpartition("/")[2]


def _previous_build(
    session: SparkSession, backup: HiveAcidRelation, target: HiveAcidRelation
) -> str | None:
    """Return the directory of the external table `backup`, if a build of `target` made it."""
    location = table_location(session, str(backup.schema), str(backup.identifier))
    schema, identifier = re.escape(str(target.schema)), re.escape(str(target.identifier))
    build = rf"{identifier}/{schema}__dbt_build_[0-9a-f]{{8}}"
    rows = rf"{schema}__{identifier}__dbt_[a-z]+_[0-9a-f]{{8}}(?:_[0-9t]+)?"
    ours = re.compile(rf"/(?:{build}|{rows})/?$", re.IGNORECASE)
    return location if location is not None and ours.search(location) else None


def digits(invocation_id: str) -> str:
    """Return the part of an invocation's id that is in the names of its tables."""
    return invocation_id[:8]


class Staging:
    """Stages of the nodes of this process, and the switch that makes a stage the target."""

    def __init__(
        self, catalog: RelationCatalog, statements: Statements, invocation_id: str
    ) -> None:
        self._catalog = catalog
        self._statements = statements
        self._invocation_id = invocation_id
        self._write_locks: dict[str, Lock] = {}
        """Locks by the name of the target."""

    def stage(
        self,
        target: HiveAcidRelation,
        location_root: str | None = None,
        role: str = "stage",
        batch: Mapping[str, object] | None = None,
    ) -> HiveAcidRelation:
        """Return the table in which to build `target` or a batch of it.

        It is removed after the model if it still exists.

        Raises:
            AdapterError: the stage would lie in the directory of a managed table.
        """
        batch_id = None if batch is None else str(batch["id"])
        stage = stage_of(target, self._invocation_id, location_root, role, batch_id)
        node = self._statements.node
        with self._statements.errors(f"find a location for {stage.relation}"):
            refuse_nested_build(node.session, stage)
        node.stages[role] = stage
        return stage.relation

    def stage_rows(
        self,
        target: HiveAcidRelation,
        location_root: str | None,
        batch: Mapping[str, object] | None = None,
        role: str = "stage",
    ) -> tuple[HiveAcidRelation, str | None]:
        """Return a table for rows that are about to be written into `target`, and its directory.

        The table is removed after the model. With a `location_root` it must be external, in the
        returned directory, since the metastore may refuse managed tables. Without one, the
        directory is None.
        """
        batch_id = None if batch is None else str(batch["id"])
        stage = stage_of(target, self._invocation_id, location_root, role, batch_id)
        location = None if location_root is None else rows_location(location_root, stage.relation)
        stage = replace(stage, location=location)
        self._statements.node.stages[role] = stage
        return stage.relation, location

    def serialize_writes(self, target: HiveAcidRelation) -> None:
        """Lock `target` against writes by this run's other threads until the model or batch ends.

        Iceberg gives up a commit after four retries (`commit.retry.num-retries`).
        """
        node, lock = self._statements.node, self._write_locks.setdefault(str(target), Lock())
        if node.write_lock is None:
            lock.acquire()
            node.write_lock = lock

    def switch(
        self, old: HiveAcidRelation | None, replacing: AbstractContextManager[None] | None = None
    ) -> None:
        """Replace the target by its finished stage; Ctrl-C takes effect before or after.

        Args:
            old: the table or view that has the target's name now.
            replacing: entered around the renames, to keep other runs from changing the target.

        Raises:
            ConcurrentRunError: another run has changed the target.
        """
        node = self._statements.node
        stage = node.stages["stage"]
        with node.uninterrupted(), replacing or nullcontext():
            try:
                backup = switch(self._catalog, stage, old)
            except Exception as error:
                if old is None and self.exists(stage.target):
                    raise overtaken(str(stage.target)) from error
                raise
            del node.stages["stage"]
            if backup is not None:
                self._remove_backup(node, stage, backup)

    def end(self) -> None:
        """Remove the remaining stages of this thread's node, and release its write lock.

        A stage that cannot be removed is a warning, so that an error of the node stays visible.
        """
        node = self._statements.node
        if node.write_lock is not None:
            node.write_lock.release()
            node.write_lock = None
        for role in list(node.stages):
            self._discard(node, node.stages.pop(role))

    def exists(self, relation: HiveAcidRelation) -> bool:
        """Return whether a table or view exists in Spark now; dbt's cache may be stale."""
        return self._statements.session.catalog.tableExists(str(relation))

    def _remove_backup(self, node: NodeContext, stage: Stage, backup: HiveAcidRelation) -> None:
        session = node.session if stage.location_root else None
        try:
            remove_backup(self._catalog, backup, stage.target, session)
        except Exception as error:
            logger.warning(
                "[HIVEACID_WARN_PREVIOUS_VERSION_KEPT] "
                f"{stage.target} is up to date, but its previous version, {backup}, could not be "
                f"removed. The next run of the model tries again. {error}"
            )

    def _discard(self, node: NodeContext, stage: Stage) -> None:
        try:
            with node.uninterrupted(), self._statements.errors(f"drop {stage.relation}"):
                discard(self._catalog, stage, node.session)
        except Exception as error:
            logger.warning(
                "[HIVEACID_WARN_STAGE_KEPT] "
                f"{stage.relation}, in which {stage.target} was being built, could not be removed. "
                f"The next run of the model tries again. {error}"
            )
