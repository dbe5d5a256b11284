"""States in the commits of a Delta table (`commitInfo.userMetadata`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import Row, SparkSession

from dbt.adapters.hiveacid.targets.state import (
    KEY,
    Checks,
    HistoryScan,
    LostState,
    Query,
    StateLookup,
    TargetState,
    check_confirmed,
    commit_of,
    overtaken,
    parse,
    reset_text,
)

USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"
APP_ID = "spark.databricks.delta.write.txnAppId"
APP_VERSION = "spark.databricks.delta.write.txnVersion"
_FIRST_LOOK = 20
"""Number of commits to read before the whole history is read."""

# Operations of dbt's strategies, one in each run. Other operations may take many commits, such as
# one for each comment of a column.
_WRITES = frozenset({"DELETE", "MERGE", "STREAMING UPDATE", "UPDATE", "WRITE"})

# Operations of Delta (`DeltaOperations`) that keep a table's rows, or change single rows, as a
# correction by hand does.
_HARMLESS = frozenset(
    {
        "ADD COLUMNS",
        "ADD CONSTRAINT",
        "CHANGE COLUMN",
        "CHANGE COLUMNS",
        "CLUSTER BY",
        "COMPUTE STATS",
        "DELETE",
        "DROP COLUMNS",
        "DROP CONSTRAINT",
        "FSCK",
        "MERGE",
        "OPTIMIZE",
        "REORG",
        "RENAME COLUMN",
        "SET TBLPROPERTIES",
        "STREAMING UPDATE",
        "UNSET TBLPROPERTIES",
        "UPDATE",
        "UPDATE COLUMN METADATA",
        "UPGRADE PROTOCOL",
        "VACUUM END",
        "VACUUM START",
    }
)

# The `predicate` of a DELETE of all rows.
_NO_CONDITION = (None, "", "[]", '["true"]')


def newest_state(history: Iterable[Row]) -> StateLookup:
    """Return the state of a table from the rows of DESCRIBE HISTORY, the newest commit first.

    A state that RESTORE has brought back gets a new lineage: Delta has already seen the next
    generation of the old lineage, and would skip a write with it.
    """
    scan = HistoryScan()
    restored: int | None = None
    restored_by: int | None = None
    for commit in history:
        met = parse(commit["userMetadata"])
        if restored is not None and commit["version"] > restored:
            scan.skip(met)
            continue
        restored = None
        state = scan.visit(met)
        if isinstance(state, TargetState) and restored_by is not None:
            return replace(state, lineage=f"{state.lineage}.{restored_by}")
        if state is not None:
            return state
        operation, parameters = commit["operation"], commit["operationParameters"] or {}
        if operation == "WRITE" and parameters.get("mode") == "Append":
            continue
        if operation == "RESTORE" and parameters.get("version") is not None:
            restored = int(parameters["version"])
            restored_by = restored_by or commit["version"]
            continue
        if operation == "DELETE" and parameters.get("predicate") in _NO_CONDITION:
            return LostState(f"version {commit['version']} of the table removed all rows")
        if operation not in _HARMLESS:
            return LostState(
                f"version {commit['version']} of the table was made by {operation}, without "
                "acid_changes"
            )
    return scan.end()


class DeltaStore:
    """Store of the state of one Delta table."""

    def __init__(self, session: SparkSession, query: Query, table: str) -> None:
        self._session = session
        self._query = query
        self._table = table

    def read(self) -> StateLookup:
        """Look up the state in the table's history."""
        return self._newest_state(list(self._history(_FIRST_LOOK)))

    def recent(self) -> StateLookup:
        """See `Store.recent`. Called by each run of a model without `acid_changes`.

        Counts only commits that write rows: comments and constraints make many commits in one run.
        """
        limit = _FIRST_LOOK
        while True:
            history = list(self._history(limit))
            known = newest_state(history)
            writes = sum(commit["operation"] in _WRITES for commit in history)
            if known is not None or writes >= _FIRST_LOOK or len(history) < limit:
                return known
            limit *= 2

    def begin(self, base: StateLookup) -> None:
        """See `CommitStore.begin`. Does nothing: Delta compares when it commits."""

    @contextmanager
    def committing(self, base: StateLookup, state: TargetState) -> Iterator[None]:
        """See `CommitStore.committing`.

        Of two overlapping transactions with the same `txnAppId`, Delta refuses one. It skips a
        later transaction with the same `txnVersion`. Together they make a compare-and-set.
        """
        settings = {USER_METADATA: state.to_text()}
        if isinstance(base, TargetState):
            settings |= {APP_ID: f"{state.lineage}", APP_VERSION: str(state.generation)}
        try:
            with self._configured(settings):
                yield
        except Exception as error:
            if "ConcurrentTransactionException" in str(error):
                raise overtaken(self._table) from error
            raise
        self._check(base, state)

    def confirm(self, built: TargetState) -> None:
        """See `CommitStore.confirm`."""
        passed = replace(built, checks=Checks.PASSED)
        with self._configured({USER_METADATA: passed.to_text()}):
            self._query(f"alter table {self._table} set tblproperties ('{KEY}' = 'checked')")
        check_confirmed(self._table, self.read(), built)

    def reset(self) -> None:
        """See `Store.reset`."""
        with self._configured({USER_METADATA: reset_text()}):
            self._query(f"alter table {self._table} set tblproperties ('{KEY}' = 'reset')")

    def _check(self, base: StateLookup, state: TargetState) -> None:
        history = list(self._history(_FIRST_LOOK))
        states = ((parse(commit["userMetadata"]), commit["version"]) for commit in history)
        commits = [
            (found.commit_id, version)
            for found, version in states
            # Checks of another run's rows may have passed since; they change no rows.
            if isinstance(found, TargetState) and found.checks is not Checks.PASSED
        ]
        if not commits or commits[0][0] != state.commit_id:
            raise overtaken(self._table)
        # Auto compaction makes a separate commit with the same metadata.
        version = min(version for commit_id, version in commits if commit_id == state.commit_id)
        if commit_of(self._newest_state(history, below=version)) != commit_of(base):
            # Another writer has created or replaced the table after `base` was read.
            self._query(f"restore table {self._table} to version as of {version - 1}")
            raise overtaken(self._table)

    def _newest_state(self, first: Sequence[Row], below: int | None = None) -> StateLookup:
        """Return the state from the commits below a version; `first` are the newest commits."""
        for history in (first, self._history() if len(first) == _FIRST_LOOK else ()):
            known = newest_state(c for c in history if below is None or c["version"] < below)
            if known is not None:
                return known
        return None

    def _history(self, limit: int | None = None) -> Iterable[Row]:
        clause = "" if limit is None else f" limit {limit}"
        return self._query(f"describe history {self._table}{clause}")

    @contextmanager
    def _configured(self, settings: dict[str, str]) -> Iterator[None]:
        for name, value in settings.items():
            self._session.conf.set(name, value)
        try:
            yield
        finally:
            for name in settings:
                self._session.conf.unset(name)
