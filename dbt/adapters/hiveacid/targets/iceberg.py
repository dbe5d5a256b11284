"""States in the snapshots of an Iceberg table: a property of the summary.

A run writes its changes into a branch of the table that only this run knows. One commit then
fast-forwards `main` to the branch, if `main` has not moved since. So readers see all of a run or
nothing, and of two concurrent runs one fails before its rows are visible.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.spark.iceberg import (
    MAIN,
    IcebergTable,
    MetadataBuilder,
    TableMetadata,
    head,
)
from dbt.adapters.hiveacid.targets.state import (
    KEY,
    Checks,
    HistoryScan,
    LostState,
    StateLookup,
    TargetState,
    check_confirmed,
    commit_of,
    overtaken,
    parse,
    reset_text,
)
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.java_types import JavaObject

SNAPSHOT_PROPERTY = f"spark.sql.iceberg.snapshot-property.{KEY}"
BRANCH = "dbt_hiveacid_"
"""Prefix of the names of runs' branches."""


@dataclass(frozen=True)
class Snapshot:
    """A snapshot of a table; `parent_id` is None for the first one."""

    id: int
    parent_id: int | None
    operation: str
    summary: Mapping[str, str]


def newest_state(ancestry: Iterable[Snapshot], undone: Iterable[Snapshot] = ()) -> StateLookup:
    """Return the state of a table from its current snapshot and its ancestors, newest first.

    `undone` are the table's other snapshots: a rollback may have gone behind the snapshot with the
    passed checks.

    Operations of other writers (`DataOperations`) keep a state if they keep the rows, or change
    single rows, as a correction by hand does.
    """
    scan = HistoryScan()
    snapshot = None
    for snapshot in ancestry:
        met = parse(snapshot.summary.get(KEY))
        state = scan.visit(met)
        if isinstance(state, LostState) and state.commit_id is not None:
            for other in undone:
                scan.skip(parse(other.summary.get(KEY)))
            state = scan.visit(met)
        if state is not None:
            return state
        if snapshot.operation == "delete" and snapshot.summary.get("total-data-files") == "0":
            return LostState(f"snapshot {snapshot.id} of the table removed all rows")
        if snapshot.operation == "overwrite" and not _changes_single_rows(snapshot):
            return LostState(
                f"snapshot {snapshot.id} of the table replaced rows, without acid_changes"
            )
    checked = scan.end()
    if checked is None and snapshot is not None and snapshot.parent_id is not None:
        return LostState(
            f"snapshot {snapshot.parent_id} of the table has expired, and later snapshots "
            "have no state"
        )
    return checked


def _changes_single_rows(snapshot: Snapshot) -> bool:
    # INSERT OVERWRITE and a copy-on-write UPDATE look the same. MERGE records its counts, and
    # merge-on-read operations add delete files.
    return any(
        name.startswith("spark.merge-into.") or name == "added-delete-files"
        for name in snapshot.summary
    )


class IcebergStore:
    """Store of the state of one Iceberg table."""

    def __init__(self, session: SparkSession, table: str) -> None:
        self._session = session
        self._name = table
        self._branch: str | None = None
        self._begun_at: int | None = None

    def read(self) -> StateLookup:
        """Look up the state in the table's snapshots."""
        return _state(self._table().metadata())

    def recent(self) -> StateLookup:
        """See `Store.recent`."""
        return self.read()

    def begin(self, base: StateLookup) -> str:
        """See `CommitStore.begin`."""
        branch = BRANCH + uuid.uuid4().hex

        def create(metadata: TableMetadata, builder: MetadataBuilder) -> None:
            if commit_of(_state(metadata)) != commit_of(base):
                raise overtaken(self._name)
            self._begun_at = head(metadata)
            builder.setBranchSnapshot(self._begun_at, branch)

        self._table().commit(create)
        self._branch = branch
        return f"branch_{branch}"

    @contextmanager
    def committing(self, base: StateLookup, state: TargetState) -> Iterator[None]:
        """See `CommitStore.committing`."""
        branch = self._branch
        if branch is None and commit_of(unless_missing(self.read)) != commit_of(base):
            raise overtaken(self._name)
        try:
            self._session.conf.set(SNAPSHOT_PROPERTY, state.to_text())
            try:
                yield
            finally:
                self._session.conf.unset(SNAPSHOT_PROPERTY)
            if branch is not None:
                self._publish(branch, state)
        except Exception as error:
            if branch is None:
                raise
            self._discard(branch)
            if commit_of(self.read()) != commit_of(base):
                raise overtaken(self._name) from error
            raise
        if branch is None:
            self._add_state(state)
            self._check(state)

    def confirm(self, built: TargetState) -> None:
        """See `CommitStore.confirm`."""
        passed = replace(built, checks=Checks.PASSED)
        self._table().java.newAppend().set(KEY, passed.to_text()).commit()
        check_confirmed(self._name, self.read(), built)

    def reset(self) -> None:
        """See `Store.reset`."""
        self._table().java.newAppend().set(KEY, reset_text()).commit()

    def _add_state(self, state: TargetState) -> None:
        """Add the state to the table that this Spark has just built, unless it is there already.

        Iceberg for Spark 3.5 has no session setting for snapshot properties. A run that dies before
        this commit leaves a table without a state, which the next run builds again.
        """
        table = self._table()
        metadata = table.metadata()
        newest = head(metadata)
        summary = {} if newest is None else _snapshot(metadata.snapshot(newest)).summary
        is_ours = summary.get("spark.app.id") == self._session.sparkContext.applicationId
        if KEY in summary or not is_ours:
            return
        # On a branch, so that the state is never added to rows that another writer has put there.
        branch = BRANCH + uuid.uuid4().hex
        self._begun_at = newest
        table.commit(lambda _, builder: builder.setBranchSnapshot(newest, branch))
        try:
            self._publish(branch, state)
        except Exception:
            self._discard(branch)
            raise

    def _check(self, state: TargetState) -> None:
        metadata = self._table().metadata()
        texts = (s.summary.get(KEY) for s in _ancestry(metadata, head(metadata)))
        if state.to_text() not in texts:
            # Another writer has replaced the table since.
            raise overtaken(self._name)

    def _publish(self, branch: str, state: TargetState) -> None:
        table = self._table()
        if commit_of(_state(table.metadata(), branch)) != state.commit_id:
            # A statement without rows to write may make no snapshot.
            table.java.newAppend().toBranch(branch).set(KEY, state.to_text()).commit()

        def publish(metadata: TableMetadata, builder: MetadataBuilder) -> None:
            newest = head(metadata, branch)
            if newest is None or head(metadata) != self._begun_at:
                raise overtaken(self._name)
            builder.setBranchSnapshot(newest, MAIN)
            # Also the branches of dead runs, and of runs that this one has overtaken.
            for name in list(metadata.refs()):
                if name.startswith(BRANCH):
                    builder.removeRef(name)

        table.commit(publish)

    def _discard(self, branch: str) -> None:
        self._table().commit(lambda _, builder: builder.removeRef(branch))

    def _table(self) -> IcebergTable:
        return IcebergTable(self._session, self._name)


def _state(metadata: TableMetadata, branch: str = MAIN) -> StateLookup:
    every = (_snapshot(snapshot) for snapshot in metadata.snapshots())
    return newest_state(_ancestry(metadata, head(metadata, branch)), every)


def _ancestry(metadata: TableMetadata, snapshot_id: int | None) -> Iterator[Snapshot]:
    while snapshot_id is not None:
        found = metadata.snapshot(snapshot_id)
        if found is None:
            return
        snapshot = _snapshot(found)
        yield snapshot
        snapshot_id = snapshot.parent_id


def _snapshot(found: JavaObject) -> Snapshot:
    """Convert Iceberg's `Snapshot`."""
    operation, summary = str(found.operation()), dict(found.summary() or {})
    return Snapshot(found.snapshotId(), found.parentId(), operation, summary)
