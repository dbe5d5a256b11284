"""Recovery: restoring previous versions of targets, and removing leftovers of dead runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.relation import SparkRelation
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.node_context import Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation, RelationCatalog, ours
from dbt.adapters.hiveacid.spark.catalog import created_at
from dbt.adapters.hiveacid.spark.iceberg import IcebergTable, IcebergVersion
from dbt.adapters.hiveacid.spark.table_locations import (
    default_location,
    delete_directory,
    location_if_any,
    modified_at,
    names_matching,
)
from dbt.adapters.hiveacid.targets.staging import (
    BACKUP,
    Leftover,
    last_part,
    leftovers,
    remove_backup,
)
from dbt.adapters.hiveacid.targets.state import OtherRuns, WaitForRun

logger = AdapterLogger("HiveAcid")
_QUIET_SECONDS = 24 * 60 * 60
"""Age of a leftover at which its run counts as dead: a run without ACID sources holds no locks."""


T = TypeVar("T")
TableVersion = int | IcebergVersion
"""The version of a Delta or Iceberg table."""


def current_version(session: SparkSession, relation: SparkRelation) -> TableVersion:
    """Return the version of a Delta or Iceberg table, for `restore`."""
    if relation.is_delta:
        return int(session.sql(f"describe history {relation} limit 1").collect()[0]["version"])
    return IcebergTable(session, str(relation)).version()


def restore(session: SparkSession, relation: SparkRelation, version: TableVersion) -> None:
    """Make a previous version of a table the current one: rows, columns and properties."""
    if isinstance(version, IcebergVersion):
        IcebergTable(session, str(relation)).restore(version)
    else:
        session.sql(f"restore table {relation} to version as of {version}")


class Recovery:
    """Repair of targets after dead runs, and after a failure of this run."""

    def __init__(
        self,
        catalog: RelationCatalog,
        statements: Statements,
        runs: OtherRuns,
        finish_append: Callable[[HiveAcidRelation], None],
        invocation_id: str,
    ) -> None:
        """`finish_append` finishes an append to a table that a run has left undone."""
        self._catalog = catalog
        self._statements = statements
        self._runs = runs
        self._finish_append = finish_append
        self._invocation_id = invocation_id

    def recover(self, target: HiveAcidRelation) -> None:
        """Restore a target's previous version if a run has died between the renames of a switch.

        Waits for a run that is alive, which will put its new version in place.

        Raises:
            ConcurrentRunError: the other run has not finished within `lock_timeout`.
        """
        known = self._cached(target)
        backups = self._backups(target, known)
        if not backups or str(target.identifier).lower() in known:
            return
        wait = WaitForRun(str(target), self._runs.seconds, self._runs.raise_if_cancelled)
        while not self._exists(target):
            owner = next((b for b in backups if self._runs.are_alive(b.invocation)), None)
            if owner is None:
                self._restore(target, [known[backup.name] for backup in backups])
                return
            wait.wait_for(owner.invocation)
        self._learn_of(target)

    def remove_leftovers(self, target: HiveAcidRelation) -> None:
        """Remove the stages and backups next to a finished target that dead runs have left.

        Stages and backups of runs that are alive stay.
        """
        known = self._cached(target)
        directories = self._directories(target)
        if directories:
            directories -= self._in_use(target, known)
        names = {*known, *directories}
        dead = [left for left in self._leftovers(target, names) if self._is_dead(target, left)]
        if not dead:
            return
        session = self._statements.session
        existing = known.get(str(target.identifier).lower())
        with self._statements.node.uninterrupted():
            if existing is not None:
                # A stage may hold files of an append that is already committed to the target.
                self._finish_append(existing)
            for left in dead:
                named = target.incorporate(path={"identifier": left.name}, type="table")
                remove_backup(self._catalog, known.get(left.name, named), target, session)
                location = self._location(target, left.name)
                # dbt's cache may be stale: a stage of this name may be the target by now.
                if location is not None and last_part(location) not in self._in_use(target, known):
                    delete_directory(session, location)
        removed = ", ".join(left.name for left in dead)
        logger.info(f"Removed what a killed run has left next to {target}: {removed}")

    def run_or_restore(
        self,
        target: HiveAcidRelation,
        previous: HiveAcidRelation | None,
        version: TableVersion | None,
        steps: Callable[[], T],
    ) -> T:
        """Run the steps that follow the replacement of a target.

        If a step fails, restore the target's previous version, or drop a target that is new.
        """
        try:
            return steps()
        except BaseException:
            with self._statements.node.uninterrupted():
                if previous is None:
                    self._catalog.drop_relation(target)
                else:
                    assert version is not None, "`version_of` a table that exists"
                    restore(self._statements.session, previous, version)
            raise

    def version_of(self, relation: HiveAcidRelation | None) -> TableVersion | None:
        """Return the version of a Delta or Iceberg table; None for a table that does not exist."""
        return None if relation is None else current_version(self._statements.session, relation)

    def _exists(self, relation: BaseRelation) -> bool:
        return self._statements.session.catalog.tableExists(str(relation))

    def _restore(self, target: HiveAcidRelation, backups: Iterable[HiveAcidRelation]) -> None:
        """Rename the newest backup to the target; another run may be doing the same."""
        session = self._statements.session

        def made(backup: HiveAcidRelation) -> float:
            return created_at(session, str(backup.schema), str(backup.identifier))

        newest = max(backups, key=made)
        try:
            with self._statements.node.uninterrupted():
                self._catalog.rename_relation(newest, target.incorporate(type=newest.type))
        except Exception:
            if not self._exists(target):
                raise
            self._learn_of(target)  # another run has just done so
            return
        logger.warning(
            f"[HIVEACID_WARN_PREVIOUS_VERSION_RESTORED] {target} was missing: a run was "
            f"killed while it replaced the table. The previous version, kept as {newest}, was "
            "restored."
        )

    def _is_dead(self, target: HiveAcidRelation, left: Leftover) -> bool:
        """Return whether the run that has made a leftover is dead.

        If this run has read an ACID source for the model, the other run did the same under locks.
        A run that reads no ACID source holds no locks, so only the leftover's age decides.
        """
        if self._runs.are_alive(left.invocation):
            return False
        node = self._statements.node
        if node.has_read or node.changes is not None:
            return True
        location = self._location(target, left.name)
        return location is not None and (
            time.time() - modified_at(node.session, location) > _QUIET_SECONDS
        )

    def _in_use(self, target: HiveAcidRelation, known: Mapping[str, HiveAcidRelation]) -> set[str]:
        """Return the names of directories that hold rows of `target` or of a table next to it.

        A table's directory may still have the name under which the table was built
        (`table_locations.follow_directory`).
        """
        session = self._statements.session
        tables = [str(target.identifier), *(left.name for left in self._leftovers(target, known))]
        found = (location_if_any(session, str(target.schema), table) for table in tables)
        return {last_part(location) for location in found if location is not None}

    def _directories(self, target: HiveAcidRelation) -> set[str]:
        """Return the names of directories next to the target's that may be leftovers.

        A run that dies while Spark writes a table leaves a directory without a table.
        """
        prefix = self._location(target, f"{target.identifier}__dbt_")
        return set() if prefix is None else names_matching(self._statements.session, f"{prefix}*")

    def _location(self, target: HiveAcidRelation, name: str) -> str | None:
        """Return the default directory of a table of this name in the target's database."""
        return default_location(self._statements.session, str(target.schema), name)

    def _cached(self, target: HiveAcidRelation) -> dict[str, HiveAcidRelation]:
        return _by_name(self._catalog.list_relations(None, str(target.schema)))

    def _learn_of(self, target: HiveAcidRelation) -> None:
        """Add a target that another run has put in place meanwhile to dbt's cache."""
        name = str(target.identifier).lower()
        while self._exists(target):
            # It may disappear again during the listing: another run may be replacing it.
            found = _by_name(
                self._catalog.list_relations_without_caching(target.without_identifier())
            )
            if name in found:
                self._catalog.cache_added(found[name])
                return

    def _leftovers(self, target: HiveAcidRelation, names: Iterable[str]) -> list[Leftover]:
        return leftovers(str(target.identifier), names, self._invocation_id)

    def _backups(self, target: HiveAcidRelation, names: Iterable[str]) -> list[Leftover]:
        return [left for left in self._leftovers(target, names) if left.role == BACKUP]


def _by_name(relations: Iterable[BaseRelation]) -> dict[str, HiveAcidRelation]:
    return {str(relation.identifier).lower(): ours(relation) for relation in relations}
