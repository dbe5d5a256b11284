"""Versions of tables that keep their history: Delta's versions, Iceberg's snapshots."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dbt.adapters.base.meta import AdapterMeta
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.relation import SparkRelation
from dbt_common.invocation import get_invocation_id
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import available
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.catalog import created_at
from dbt.adapters.hiveacid.spark.iceberg import IcebergTable
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
from dbt.adapters.hiveacid.targets.state import WaitForRun

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.invocation import Invocation
    from dbt.adapters.hiveacid.spark.session import SessionHandle


def current_version(session: SparkSession, relation: SparkRelation) -> Any:
    """What `restore` takes to make a Delta or Iceberg table again what it is now."""
    if relation.is_delta:
        return session.sql(f"describe history {relation} limit 1").collect()[0]["version"]
    return IcebergTable(session, str(relation)).version()


def restore(session: SparkSession, relation: SparkRelation, version: Any) -> None:
    """Make a former version of a table its current one: rows, columns and properties."""
    if relation.is_delta:
        session.sql(f"restore table {relation} to version as of {version}")
    else:
        IcebergTable(session, str(relation)).restore(version)


logger = AdapterLogger("HiveAcid")
_QUIET_SECONDS = 24 * 60 * 60
"""A run that reads no ACID source holds no locks, so that only time tells that it is dead."""


class RecoveryMethods(metaclass=AdapterMeta):
    """The adapter's methods that look for what dead runs have left."""

    run: Invocation
    cache_added: Any
    drop_relation: Any
    finish_append: Any
    list_relations: Any
    list_relations_without_caching: Any
    rename_relation: Any
    _handle: Callable[[], SessionHandle]

    @available
    def hiveacid_recover(self, target: HiveAcidRelation) -> None:
        """Put a target's former version back if a run has died between the renames of a switch.

        A run that is alive is waited for: it will put its new version in place.

        Raises:
            ConcurrentRunError: that run has not finished within `lock_timeout`.
        """
        known = self._cached(target)
        backups = _backups(target, known)
        if not backups or str(target.identifier).lower() in known:
            return
        patience = WaitForRun(str(target), self.run.lock_timeout, self.run.raise_if_cancelled)
        while not self.exists(target):
            owner = next((b for b in backups if self.run.is_another_alive(b.invocation)), None)
            if owner is None:
                self._restore(target, [known[backup.name] for backup in backups])
                return
            patience.wait_for(owner.invocation)
        self._learn_of(target)

    @available
    def hiveacid_remove_leftovers(self, target: HiveAcidRelation) -> None:
        """Remove the stages and backups beside a finished target that dead runs have left.

        Those of runs that are alive stay.
        """
        known = self._cached(target)
        names = {*known, *(self._directories(target) - self._in_use(target, known))}
        dead = [left for left in _beside(target, names) if self._is_dead(target, left)]
        if not dead:
            return
        session = self._handle().session
        existing = known.get(str(target.identifier).lower())
        with self._handle().uninterrupted():
            if existing is not None:
                # One of the stages may hold rows that the target has taken over already.
                self.finish_append(existing)
            for left in dead:
                named = target.incorporate(path={"identifier": left.name}, type="table")
                remove_backup(self, known.get(left.name, named), target, session)
                place = self._place(target, left.name)
                # dbt's cache may be behind: a stage of this name may be the target by now.
                if place is not None and last_part(place) not in self._in_use(target, known):
                    delete_directory(session, place)
        removed = ", ".join(left.name for left in dead)
        logger.info(f"Removed what a run that was killed has left beside {target}: {removed}")

    def exists(self, relation: BaseRelation) -> bool:
        """Whether Spark finds a table or view at this moment; dbt's cache may be behind."""
        return self._handle().session.catalog.tableExists(str(relation))

    def _restore(self, target: HiveAcidRelation, backups: Iterable[Any]) -> None:
        """Rename the newest of the backups; another run may be doing the same."""
        session = self._handle().session

        def made(backup: Any) -> float:
            return created_at(session, str(backup.schema), str(backup.identifier))

        newest = max(backups, key=made)
        try:
            with self._handle().uninterrupted():
                self.rename_relation(newest, target.incorporate(type=newest.type))
        except Exception:
            if not self.exists(target):
                raise
            self._learn_of(target)  # another run has just done so
            return
        logger.warning(
            f"{target} was missing, since a run was killed while it put a new version in place. "
            f"The former version is back, which was kept as {newest}."
        )

    def _is_dead(self, target: HiveAcidRelation, left: Leftover) -> bool:
        """Whether the run that has made this can no longer need it.

        If this run has read an ACID source for the model, so has that one, and has had locks.
        """
        if self.run.is_another_alive(left.invocation):
            return False
        handle = self._handle()
        if handle.has_read or handle.incremental is not None:
            return True
        place = self._place(target, left.name)
        return place is not None and (
            time.time() - modified_at(handle.session, place) > _QUIET_SECONDS
        )

    def _in_use(self, target: HiveAcidRelation, known: Mapping[str, Any]) -> set[str]:
        """The names of directories that hold the rows of `target` or of a table beside it.

        A table may be where it was built under another name (`spark.files.follow_directory`).
        """
        session = self._handle().session
        tables = [str(target.identifier), *(left.name for left in _beside(target, known))]
        found = (location_if_any(session, str(target.schema), table) for table in tables)
        return {last_part(place) for place in found if place is not None}

    def _directories(self, target: HiveAcidRelation) -> set[str]:
        """The names beside the target's directory that may be those of leftovers.

        A run that dies while Spark writes a table leaves its directory, and no table.
        """
        prefix = self._place(target, f"{target.identifier}__dbt_")
        return set() if prefix is None else names_matching(self._handle().session, f"{prefix}*")

    def _place(self, target: HiveAcidRelation, name: str) -> str | None:
        """The directory of a table of this name beside the target, in Spark's own catalog."""
        return default_location(self._handle().session, str(target.schema), name)

    def _cached(self, target: HiveAcidRelation) -> dict[str, Any]:
        return _by_name(self.list_relations(None, str(target.schema)))

    def _learn_of(self, target: HiveAcidRelation) -> None:
        """Let dbt's cache know a target that another run has put in place since it was filled."""
        name = str(target.identifier).lower()
        while self.exists(target):
            # It may go again while the list is made: another run may be replacing it.
            found = _by_name(self.list_relations_without_caching(target.without_identifier()))
            if name in found:
                self.cache_added(found[name])
                return


def _by_name(relations: Iterable[Any]) -> dict[str, Any]:
    return {str(relation.identifier).lower(): relation for relation in relations}


def _beside(target: HiveAcidRelation, names: Iterable[str]) -> list[Leftover]:
    return leftovers(str(target.identifier), names, get_invocation_id())


def _backups(target: HiveAcidRelation, names: Mapping[str, Any]) -> list[Leftover]:
    return [left for left in _beside(target, names) if left.role == BACKUP]
