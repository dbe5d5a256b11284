"""States of Parquet and ORC tables: files in a directory that Spark does not look into.

Each commit has a record, `_hiveacid_state/<generation>.json`. A table that is built anew brings its
record with it, and one switch of names puts both in place. Rows that are appended lie in a stage
first: the record, which names their files, is the commit; then the files are moved. A run that
finds a record whose files are not all moved moves the others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.incremental.stores import Query, overtaken
from dbt.adapters.hiveacid.incremental.stores.directory import Directory
from dbt.adapters.hiveacid.incremental.target_state import (
    Known,
    TargetState,
    parse,
    reset_text,
)
from dbt.adapters.hiveacid.spark.files import delete_directory, location

STATE_DIRECTORY = "_hiveacid_state"

_KEPT = 5
"""So many of the newest records stay."""

_RECORD = re.compile(r"(\d{12})\.json")
_MOVES = "moves"


class PlainStore:
    """The state of one table of a format of Spark's own."""

    def __init__(self, session: SparkSession, query: Query, database: str, table: str) -> None:
        self._session = session
        self._query = query
        self._database = database
        self._table = table

    @property
    def name(self) -> str:
        """The table in SQL."""
        return f"`{self._database}`.`{self._table}`"

    def read(self) -> Known:
        """What the table's rows come from. Finishes an append that a run has left undone."""
        records = self._records()
        generations = _generations(records)
        if not generations:
            return None
        generation = generations[-1]
        text = records.read(_file(generation))
        known = parse(text)
        if isinstance(known, TargetState):
            moves = json.loads(text).get(_MOVES)
            if moves is not None and not records.has(_done(generation)):
                self._finish(generation, moves)
        return known

    def check(self, base: Known) -> None:
        """Make sure that the table is still as it was when `base` was read.

        Raises:
            ConcurrentRunError: it is not.
        """
        now = self.read()
        if _commit(now) != _commit(base):
            raise overtaken(f"{self._database}.{self._table}")

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
        if not self._records().create(_file(state.generation), text):
            raise overtaken(f"{self._database}.{self._table}")

    def reset(self) -> None:
        """See `Store.reset`."""
        self.read()
        records = self._records()
        generations = _generations(records)
        records.create(_file(generations[-1] + 1 if generations else 1), reset_text())

    def _finish(self, generation: int, moves: Mapping[str, Any]) -> None:
        here = location(self._session, self._database, self._table)
        target, source = Directory(self._session, here), Directory(self._session, moves["location"])
        for name in moves["files"]:
            target.move_in(source, name)
        if any("/" in name for name in moves["files"]):
            self._query(f"alter table {self.name} recover partitions")
        self._query(f"refresh table {self.name}")
        self._query(f"drop table if exists {moves['table']}")
        delete_directory(self._session, moves["location"])
        records = self._records()
        records.create(_done(generation), "")
        for old in _generations(records)[:-_KEPT]:
            records.delete(_file(old))
            records.delete(_done(old))

    def _records(self) -> Directory:
        here = location(self._session, self._database, self._table)
        return Directory(self._session, f"{here}/{STATE_DIRECTORY}")


def write_record(session: SparkSession, database: str, table: str, state: TargetState) -> None:
    """Give a table that has just been built its state."""
    records = Directory(session, f"{location(session, database, table)}/{STATE_DIRECTORY}")
    records.create(_file(state.generation), state.to_text())


def _generations(records: Directory) -> list[int]:
    matches = map(_RECORD.fullmatch, records.names())
    return sorted(int(match.group(1)) for match in matches if match is not None)


def _commit(known: Known) -> str | None:
    return known.commit_id if isinstance(known, TargetState) else None


def _file(generation: int) -> str:
    return f"{generation:012d}.json"


def _done(generation: int) -> str:
    return f"{generation:012d}.done"
