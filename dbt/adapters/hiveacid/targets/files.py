"""States of Parquet and ORC tables: files in a directory that Spark ignores.

Each commit has a record, `_hiveacid_state/<generation>.json`. A new version of a table contains its
own record, and one switch of names puts both in place. Appended rows are first written to a stage.
The record, which names their files, is the commit; then the files are moved. A run that finds a
record with files still to move moves them.

A run that is about to switch writes a *claim* under the name of the old version's next record. From
then on no other run appends to the old version, or switches it. The claim of a dead run is ignored.

A record also has digests of the names of all files with the target's rows (`WrittenFiles`), because
Spark empties or drops partitions of a table without touching the directory of the records.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

from dbt.adapters.events.logging import AdapterLogger
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import ConcurrentRunError
from dbt.adapters.hiveacid.spark.catalog import partition_names
from dbt.adapters.hiveacid.spark.table_locations import delete_directory, location
from dbt.adapters.hiveacid.targets.file_records import (
    CLAIM,
    Directory,
    NewestRecord,
    WrittenFiles,
    claim_of,
    done_name,
    generations,
    record_name,
)
from dbt.adapters.hiveacid.targets.state import (
    LostState,
    OtherRuns,
    Query,
    StateLookup,
    TargetState,
    WaitForRun,
    commit_of,
    overtaken,
    parse,
    reset_text,
)
from hiveacid.formatting import first_few, quoted
from hiveacid.jvm.errors import is_missing

logger = AdapterLogger("HiveAcid")
STATE_DIRECTORY = "_hiveacid_state"
_KEPT = 5
"""Number of records to keep, the newest ones."""

T = TypeVar("T")
_MOVES = "moves"
_FILES = "files"


class FileStore:
    """Store of the state of one table in one of Spark's own formats."""

    def __init__(
        self, session: SparkSession, query: Query, database: str, table: str, others: OtherRuns
    ) -> None:
        self._session = session
        self._query = query
        self._database = database
        self._table = table
        self._shown = f"{database}.{table}"
        self._others = others

    def read(self) -> StateLookup:
        """Look up the state of the table's rows. Finishes an append that a run has left undone.

        Raises:
            ConcurrentRunError: another run is replacing the table.
        """
        return self._read(verified=True)[0]

    def recent(self) -> StateLookup:
        """See `Store.recent`."""
        return self._read(verified=False)[0]

    def check(self, base: StateLookup) -> None:
        """Check that the table has not changed since `base` was read.

        Raises:
            ConcurrentRunError: another run has changed it.
        """
        self._check(base, verified=True)

    def record(self, base: StateLookup, state: TargetState, database: str, stage: str) -> None:
        """Commit to appending the rows of the table `stage`, which is partitioned as this one.

        From here on the stage belongs to the store, and `read` moves its files.

        Raises:
            ConcurrentRunError: another run was faster; nothing has been appended.
        """
        # A file that was removed since `read` will be missed by the next run.
        written = self._check(base, verified=False)
        source = location(self._session, database, stage)
        files = Directory(self._session, source).data_files()
        moves = {"table": quoted(database, stage), "location": source, "files": files}
        self._create(base, _text(state, written.with_more(files), {_MOVES: moves}))

    @contextmanager
    def replacing(self, base: StateLookup, invocation_id: str) -> Iterator[None]:
        """Hold the claim during the switch that replaces the table by a new version.

        A table without a state needs no claim: no run appends to it.

        Raises:
            ConcurrentRunError: another run has changed the table since `base` was read.
        """
        if not isinstance(base, TargetState):
            yield
            return
        self.check(base)
        self._create(base, json.dumps({CLAIM: invocation_id}))
        try:
            yield
        except BaseException:
            self._withdraw(base.generation + 1, invocation_id)
            raise

    def reset(self) -> None:
        """See `Store.reset`."""
        known = self.recent()
        if isinstance(known, TargetState):
            self._create(known, reset_text())

    def _read(self, *, verified: bool) -> tuple[StateLookup, WrittenFiles]:
        """Return the table's state, and the files that must be there.

        With `verified`, check that the files exist.
        """
        newest = self._newest()
        known = parse(newest.text)
        if not isinstance(known, TargetState):
            return known, WrittenFiles({})
        record = json.loads(newest.text)
        moves, written = record.get(_MOVES), WrittenFiles.from_json(record.get(_FILES, {}))
        lost = None
        if moves is not None and not newest.records.has(done_name(newest.counting)):
            lost = self._finish(newest.counting, moves)
        if lost is None and verified:
            lost = self._gone(written)
        if lost is not None:
            if self._newest().text != newest.text:
                # Another run has put a new version in place meanwhile.
                return self._read(verified=verified)
            return LostState(lost), written
        # The next record must not have the number of a claim.
        return replace(known, generation=newest.generation), written

    def _check(self, base: StateLookup, *, verified: bool) -> WrittenFiles:
        now, written = self._read(verified=verified)
        if commit_of(now) != commit_of(base):
            raise overtaken(self._shown)
        return written

    def _gone(self, written: WrittenFiles) -> str | None:
        """Return a message on the files that are gone, after one listing of all partitions."""
        if not written.by_directory:
            return None
        directory = Directory(self._session, self._location())
        return written.gone(directory.data_files(), self._of_table(partition_names))

    def _create(self, base: StateLookup, text: str) -> None:
        """Create the record after `base`."""
        generation = base.generation + 1 if isinstance(base, TargetState) else 1
        try:
            is_first = self._records().create(record_name(generation), text)
        except FileNotFoundError as error:
            raise overtaken(self._shown) from error
        if not is_first:
            raise overtaken(self._shown)

    def _withdraw(self, generation: int, invocation_id: str) -> None:
        """Remove the claim of a failed switch. Never raises, to keep the switch's error visible."""
        try:
            records = self._records()
            # The new version, if it is in place already, has its state under the same number.
            if claim_of(records.read(record_name(generation))) == invocation_id:
                records.delete(record_name(generation))
        except Exception as error:
            logger.debug(f"A claim on {self._shown} may stay until this run ends: {error}")

    def _newest(self) -> NewestRecord:
        """Return the newest records; wait while another run is about to put a version in place."""
        others = self._others
        wait = WaitForRun(self._shown, others.seconds, others.raise_if_cancelled)
        owner: str | None = None
        while True:
            found = self._look(owner)
            if isinstance(found, NewestRecord):
                return found
            owner = found
            wait.wait_for(owner)

    def _look(self, owner: str | None) -> NewestRecord | str | None:
        """Return the newest records, or the run to wait for; None if that run is not known.

        `owner` is the run already waited for. Between its two renames there is no table, and with
        `location_root` its version has another directory.
        """

        def is_switching() -> bool:
            return owner is not None and self._others.are_alive(owner)

        try:
            records = self._records()
        except ConcurrentRunError:
            if is_switching():
                return owner
            raise
        found = generations(records.names())
        for generation in reversed(found):
            try:
                text = records.read(record_name(generation))
            except FileNotFoundError:
                return owner  # a new version has just come into place
            claimed_by = claim_of(text)
            if claimed_by is None:
                return NewestRecord(records, found[-1], generation, text)
            if self._others.are_alive(claimed_by):
                return claimed_by
        return owner if is_switching() else NewestRecord(records, 0, 0, "")

    def _finish(self, generation: int, moves: Mapping[str, Any]) -> str | None:
        """Move the files of an append. Return a message on files that are missing, or None."""
        target = Directory(self._session, self._location())
        source = Directory(self._session, moves["location"])
        missing = [
            name
            for name in moves["files"]
            if not target.move_in(source, name) and not target.has(name)
        ]
        if missing:
            return (
                f"files of its last append are neither in the table nor in {moves['table']}, "
                f"where they were: {first_few(missing, 3)}"
            )
        name_in_sql = quoted(self._database, self._table)
        # Files in subdirectories belong to partitions, which may be new.
        if any("/" in name for name in moves["files"]):
            self._query(f"alter table {name_in_sql} recover partitions")
        self._query(f"refresh table {name_in_sql}")
        self._query(f"drop table if exists {moves['table']}")
        delete_directory(self._session, moves["location"])
        records = self._records()
        # Another run may have finished the same append, and may already be replacing the table.
        with suppress(FileNotFoundError):
            records.create(done_name(generation), "")
        for old in generations(records.names())[:-_KEPT]:
            records.delete(record_name(old))
            records.delete(done_name(old))
        return None

    def _records(self) -> Directory:
        return Directory(self._session, f"{self._location()}/{STATE_DIRECTORY}")

    def _location(self) -> str:
        return self._of_table(location)

    def _of_table(self, look_up: Callable[[SparkSession, str, str], T]) -> T:
        try:
            return look_up(self._session, self._database, self._table)
        except AnalysisException as error:
            if not is_missing(error):
                raise
            # The table existed when the run began: another run is between its two renames.
            raise overtaken(self._shown) from error


def write_record(session: SparkSession, database: str, table: str, state: TargetState) -> None:
    """Write the first record of a table that has just been built."""
    directory = location(session, database, table)
    written = WrittenFiles.of(Directory(session, directory).data_files())
    records = Directory(session, f"{directory}/{STATE_DIRECTORY}")
    records.make()
    records.create(record_name(state.generation), _text(state, written, {}))


def _text(state: TargetState, written: WrittenFiles, more: Mapping[str, Any]) -> str:
    """Return the text of a record."""
    return json.dumps({**json.loads(state.to_text()), _FILES: written.to_json(), **more})
