"""States of Parquet and ORC tables: files in a directory that Spark does not look into.

Each commit has a record, `_hiveacid_state/<generation>.json`. A table that is built anew brings its
record with it, and one switch of names puts both in place. Rows that are appended lie in a stage
first: the record, which names their files, is the commit; then the files are moved. A run that
finds a record whose files are not all moved moves the others.

A run that is about to switch puts a *claim* in the place of the old version's next record: from
then on nobody appends to that version, or switches it. The claim of a run that has died counts for
nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.exceptions import ConcurrentRunError
from dbt.adapters.hiveacid.incremental.stores import Patience, Query, overtaken
from dbt.adapters.hiveacid.incremental.stores.directory import Directory
from dbt.adapters.hiveacid.incremental.target_state import (
    Known,
    LostState,
    TargetState,
    commit_of,
    parse,
    reset_text,
)
from dbt.adapters.hiveacid.spark.errors import is_missing
from dbt.adapters.hiveacid.spark.files import delete_directory, location

logger = AdapterLogger("HiveAcid")

STATE_DIRECTORY = "_hiveacid_state"

_KEPT = 5
"""So many of the newest records stay."""

_RECORD = re.compile(r"(\d{12})\.json")
_MOVES = "moves"
_CLAIM = "claimed_by"


@dataclass(frozen=True)
class Others:
    """The other runs: whether one is alive, by its invocation, and how many seconds to wait.

    `raise_if_cancelled` raises if the waiting run itself is cancelled.
    """

    are_alive: Callable[[str], bool]
    patience: float
    raise_if_cancelled: Callable[[], None]


@dataclass(frozen=True)
class _Newest:
    """The number of the newest record, and number and text of the newest that is no claim.

    The text is empty, and the numbers are 0, if there is none.
    """

    records: Directory
    generation: int
    counting: int
    text: str


class PlainStore:
    """The state of one table of a format of Spark's own."""

    def __init__(
        self, session: SparkSession, query: Query, database: str, table: str, others: Others
    ) -> None:
        self._session = session
        self._query = query
        self._database = database
        self._table = table
        self._shown = f"{database}.{table}"
        self._others = others

    def read(self) -> Known:
        """What the table's rows come from. Finishes an append that a run has left undone.

        Raises:
            ConcurrentRunError: another run replaces the table.
        """
        newest = self._newest()
        known = parse(newest.text)
        if not isinstance(known, TargetState):
            return known
        moves = json.loads(newest.text).get(_MOVES)
        if moves is not None and not newest.records.has(_done(newest.counting)):
            missing = self._finish(newest.counting, moves)
            if missing:
                if self._newest().text != newest.text:
                    return self.read()  # another run has put a new version in place meanwhile
                return LostState(
                    f"files of its last append are neither in the table nor in {moves['table']}, "
                    f"where they were: {', '.join(missing[:3])}"
                )
        # The next record must not have the number of a claim.
        return replace(known, generation=newest.generation)

    def recent(self) -> Known:
        """See `Store.recent`."""
        return self.read()

    def check(self, base: Known) -> None:
        """Make sure that the table is still as it was when `base` was read.

        Raises:
            ConcurrentRunError: it is not.
        """
        now = self.read()
        if commit_of(now) != commit_of(base):
            raise overtaken(self._shown)

    def record(self, base: Known, state: TargetState, database: str, stage: str) -> None:
        """Commit to appending the rows of the table `stage`, which is partitioned as this one.

        From here on the stage belongs to the store, and `read` moves its files.

        Raises:
            ConcurrentRunError: another run was faster; nothing has been appended.
        """
        self.check(base)
        source = location(self._session, database, stage)
        moves = {
            "table": f"`{database}`.`{stage}`",
            "location": source,
            "files": Directory(self._session, source).data_files(),
        }
        text = json.dumps({**json.loads(state.to_text()), _MOVES: moves})
        self._create(base, text)

    @contextmanager
    def replacing(self, base: Known, invocation_id: str) -> Iterator[None]:
        """Around the switch that puts a new version in the table's place.

        A table that has no state needs no claim: nobody appends to it.

        Raises:
            ConcurrentRunError: another run has changed the table since `base` was read.
        """
        if not isinstance(base, TargetState):
            yield
            return
        self.check(base)
        self._create(base, json.dumps({_CLAIM: invocation_id}))
        try:
            yield
        except BaseException:
            self._withdraw(base.generation + 1, invocation_id)
            raise

    def reset(self) -> None:
        """See `Store.reset`."""
        known = self.read()
        if isinstance(known, TargetState):
            self._create(known, reset_text())

    def _create(self, base: Known, text: str) -> None:
        """Make the record after `base`."""
        generation = base.generation + 1 if isinstance(base, TargetState) else 1
        try:
            is_first = self._records().create(_file(generation), text)
        except FileNotFoundError as error:
            raise overtaken(self._shown) from error
        if not is_first:
            raise overtaken(self._shown)

    def _withdraw(self, generation: int, invocation_id: str) -> None:
        """Remove a claim that came to nothing. Raises nothing: why it did has to be told."""
        try:
            records = self._records()
            # The new version, if it is in place already, has its state under the same number.
            if _claim(records.read(_file(generation))) == invocation_id:
                records.delete(_file(generation))
        except Exception as error:
            logger.debug(f"A claim on {self._shown} may stay until this run ends: {error}")

    def _newest(self) -> _Newest:
        """Wait for other runs that are about to put a new version in place, and look."""
        others = self._others
        patience = Patience(self._shown, others.patience, others.raise_if_cancelled)
        owner: str | None = None
        while True:
            found = self._look(owner)
            if isinstance(found, _Newest):
                return found
            owner = found
            patience.wait_for(owner)

    def _look(self, owner: str | None) -> _Newest | str | None:
        """The newest records, or the run that has to be waited for; None if it is not known.

        `owner` is the run that is waited for already: between its two renames there is no table,
        and with `location_root` its version has a directory of its own.
        """

        def is_switching() -> bool:
            return owner is not None and self._others.are_alive(owner)

        try:
            records = self._records()
        except ConcurrentRunError:
            if is_switching():
                return owner
            raise
        generations = _generations(records)
        for generation in reversed(generations):
            try:
                text = records.read(_file(generation))
            except FileNotFoundError:
                return owner  # a new version has just come into place
            claimed_by = _claim(text)
            if claimed_by is None:
                return _Newest(records, generations[-1], generation, text)
            if self._others.are_alive(claimed_by):
                return claimed_by
        return owner if is_switching() else _Newest(records, 0, 0, "")

    def _finish(self, generation: int, moves: Mapping[str, Any]) -> list[str]:
        """Move the files of an append; those that are nowhere."""
        here = location(self._session, self._database, self._table)
        target, source = Directory(self._session, here), Directory(self._session, moves["location"])
        missing = [
            name
            for name in moves["files"]
            if not target.move_in(source, name) and not target.has(name)
        ]
        if missing:
            return missing
        name_in_sql = f"`{self._database}`.`{self._table}`"
        # Files in subdirectories are those of partitions, which may be new.
        if any("/" in name for name in moves["files"]):
            self._query(f"alter table {name_in_sql} recover partitions")
        self._query(f"refresh table {name_in_sql}")
        self._query(f"drop table if exists {moves['table']}")
        delete_directory(self._session, moves["location"])
        records = self._records()
        # Another run may have finished the same append, and be replacing the table by now.
        with suppress(FileNotFoundError):
            records.create(_done(generation), "")
        for old in _generations(records)[:-_KEPT]:
            records.delete(_file(old))
            records.delete(_done(old))
        return []

    def _records(self) -> Directory:
        try:
            here = location(self._session, self._database, self._table)
        except AnalysisException as error:
            if not is_missing(error):
                raise
            # It was there when the run began: another run is between its two renames.
            raise overtaken(self._shown) from error
        return Directory(self._session, f"{here}/{STATE_DIRECTORY}")


def write_record(session: SparkSession, database: str, table: str, state: TargetState) -> None:
    """Give a table that has just been built its state."""
    records = Directory(session, f"{location(session, database, table)}/{STATE_DIRECTORY}")
    records.make()
    records.create(_file(state.generation), state.to_text())


def _generations(records: Directory) -> list[int]:
    matches = map(_RECORD.fullmatch, records.names())
    return sorted(int(match.group(1)) for match in matches if match is not None)


def _claim(text: str) -> str | None:
    """The invocation that a record says is about to replace the table."""
    return json.loads(text).get(_CLAIM) if _CLAIM in text else None


def _file(generation: int) -> str:
    return f"{generation:012d}.json"


def _done(generation: int) -> str:
    return f"{generation:012d}.done"
