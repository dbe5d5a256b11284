"""A process that is killed while it writes leaves nothing that Hive shows, then or later."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import hiveacid
from hiveacid.acid.layout import try_parse_directory
from hiveacid.metastore.models import LockType, TableName
from hiveacid.metastore.writing_client import Operation, WriteLock, WritingClient
from hiveacid.snapshots.transaction import Transaction
from hiveacid.writer import publication
from hiveacid.writer.files import Files
from hiveacid.writer.publication import _Attempt
from integration.support.crash_page import WRITES, write_section
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import assert_nothing_held, open_transactions
from integration.support.stopped_writer import (
    KINDS,
    OLD,
    SCHEMA,
    CrashPoint,
    Row,
    StoppedWriter,
    crash_points,
    document,
)
from integration.support.tables import REPEATS

_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
_BY_TASK, _BY_FETCH = ("true", "none"), ("true", "more")
_WAYS = (_BY_TASK, ("false", "none"), _BY_FETCH)
"""How Hive reads: vectorized or not, and by a task or as it fetches the answer."""

Shown = dict[CrashPoint, list[Row]]
_FOUND: dict[CrashPoint, str] = {}
_SECONDS: list[float] = []
"""What the long tests of this process have found so far, and how long they took."""


class Crashes:
    """Tables that a killed process was writing, one a crash point."""

    def __init__(
        self, hive: HiveServer, client: HiveClient, spark: SparkSession, database: str, work: Path
    ) -> None:
        self._hive, self._client, self._spark = hive, client, spark
        self._database, self._work = database, work
        self.points: Sequence[CrashPoint] = ()

    def outcomes(self, points: Sequence[CrashPoint]) -> dict[CrashPoint, str]:
        """Kill the process that writes, and return what is wrong with each table, or `right`."""
        self.make(points)
        with StoppedWriter(points, self._hive.metastore_uri, self._database, self._work) as writer:
            writer.wait()
            writer.kill()
        wrong: dict[CrashPoint, str] = {}
        rows = {point: sorted(point.shown) for point in points}

        def compare(when: str, shown: Shown) -> None:
            for point, found in shown.items():
                if found != rows[point]:
                    wrong.setdefault(point, f"{when} {found}")

        with self.without_read_locks():
            compare("after the kill Hive shows", self.hives([_BY_TASK]))
        self.time_out()
        compare("after the timeout Hive shows", self.hives())
        with self.later_write_ids():
            sure = [point for point in points if not point.leaves_base]
            compare("with a later write id Hive shows", self.hives(_WAYS, sure))
            compare("with a later write id we show", self.ours())
        assert set(self.left()) == set(points), "each has left something"
        self.append((9, 9, 1))
        rows = {point: sorted([*shown, (9, 9, 1)]) for point, shown in rows.items()}
        compare("after the next write Hive shows", self.hives())
        compare("after the next write we show", self.ours())
        for point, names in self.left().items():
            wrong.setdefault(point, f"left are {names}")
        return {point: wrong.get(point, "right") for point in points}

    def make(self, points: Sequence[CrashPoint]) -> Sequence[CrashPoint]:
        """Make the tables, and return the points."""
        self.points = points
        for point in points:
            columns = "(id INT, v INT, k INT)"
            if KINDS[point.kind].is_partitioned:
                columns = "(id INT, v INT) PARTITIONED BY (k INT)"
            self._client.execute(f"CREATE TABLE {point.table} {columns} {_ACID}")
        self.append(*OLD)
        return points

    def write(self, point: CrashPoint) -> None:
        """Write a table, in this process."""
        with hiveacid.transaction(self._spark, self._hive.metastore_uri) as transaction:
            name = f"{self._database}.{point.table}"
            KINDS[point.kind].write(transaction, name, self._rows)

    def append(self, *rows: Row) -> None:
        """Add rows to each table, in one transaction."""
        frame = self._rows(*rows)
        with hiveacid.transaction(self._spark, self._hive.metastore_uri) as transaction:
            for point in self.points:
                transaction.append(f"{self._database}.{point.table}", frame)

    def _rows(self, *rows: Row) -> DataFrame:
        return self._spark.createDataFrame(list(rows), SCHEMA).coalesce(1)

    def hives(
        self,
        ways: Sequence[tuple[str, str]] = (_BY_FETCH,),
        points: Sequence[CrashPoint] | None = None,
    ) -> Shown:
        """Return the rows that Hive shows, which must be the same in each way to read."""
        points = self.points if points is None else points
        query = " UNION ALL ".join(
            f"SELECT {number} AS n, id, v, k FROM {point.table}"
            for number, point in enumerate(points)
        )
        answers = []
        for vectorized, fetched in ways:
            self._client.execute(f"SET hive.vectorized.execution.enabled={vectorized}")
            self._client.execute(f"SET hive.fetch.task.conversion={fetched}")
            if fetched == "more":
                found = [
                    (number, *row)
                    for number, point in enumerate(points)
                    for row in self._client.query(f"SELECT id, v, k FROM {point.table}")
                ]
            else:
                found = self._client.query(query)
            shown: Shown = {point: [] for point in points}
            for number, *row in sorted(found):
                shown[points[number]].append(tuple(row))
            answers.append(shown)
        for answer in answers:
            assert answer == answers[0]
        return answers[0]

    def ours(self) -> Shown:
        """Return the rows that our reader shows."""
        names = {point: f"{self._database}.{point.table}" for point in self.points}
        with hiveacid.snapshot(self._spark, self._hive.metastore_uri, names.values()) as snapshot:
            return {
                point: sorted(tuple(row) for row in snapshot.table(name).collect())
                for point, name in names.items()
            }

    def time_out(self) -> None:
        """Abort the transactions of the dead process, as the metastore does after its timeout."""
        found = " ".join(str(row["txnid"]) for row in open_transactions(self._client))
        if found:
            self._client.execute(f"ABORT TRANSACTIONS {found}")

    @contextmanager
    def later_write_ids(self) -> Iterator[None]:
        """Hold a higher write id open in each table, with a lock as that of an INSERT."""
        names = [TableName(self._database, point.table) for point in self.points]
        client = WritingClient(self._hive.metastore_uri)
        txn = client.open_txn("etl", "node3", "nightly load", read_only=False)
        for name in names:
            client.allocate_table_write_ids(txn, name)
        locks = [WriteLock(it, LockType.SHARED_READ, Operation.INSERT, False) for it in names]
        client.lock_to_write(txn, locks, "etl", "node3", "nightly load")
        try:
            yield
        finally:
            client.abort_txn(txn)
            client.close()

    @contextmanager
    def without_read_locks(self) -> Iterator[None]:
        """Let Hive read tables that somebody holds an EXCLUSIVE lock on."""
        self._client.execute("SET hive.txn.read.locks=false")
        try:
            yield
        finally:
            self._client.execute("SET hive.txn.read.locks=true")

    def left(self) -> dict[CrashPoint, list[str]]:
        """Return the stages in each table, and the directories of write ids that are aborted."""
        left = {}
        with WritingClient(self._hive.metastore_uri) as client:
            names = [TableName(self._database, point.table) for point in self.points]
            write_ids = client.get_valid_write_ids(names, client.get_valid_txns())
        for point, name in zip(self.points, names, strict=True):
            root = self._hive.warehouse / f"{self._database}.db" / point.table
            found = [*root.glob(".hiveacid_stage_*")]
            for path in root.rglob("*_*"):
                parsed = try_parse_directory(path.name)
                if parsed is not None and parsed.write_id_range[1] in write_ids[name].aborted:
                    found.append(path)
            left[point] = sorted(path.name for path in found)
        return {point: names for point, names in left.items() if names}


@pytest.fixture
def crashes(
    hive: HiveServer, hive_client: HiveClient, spark: SparkSession, database: str, tmp_path: Path
) -> Crashes:
    """Tables of a process that is killed."""
    return Crashes(hive, hive_client, spark, database, tmp_path)


SHORT = [
    CrashPoint("append", "rows being staged"),
    CrashPoint("overwrite", "write ids allocated"),
    CrashPoint("overwrite", "all directories moved"),
    CrashPoint("overwrite of all partitions", "record being written"),
    CrashPoint("overwrite of some partitions", "one directory moved"),
    CrashPoint("delete", "all directories moved"),
    CrashPoint("merge", "record written"),
    CrashPoint("merge", "committed"),
]
"""Each kind of write, and each state that a crash can leave."""


@pytest.mark.long("two minutes: kills processes at twelve steps")
def test_a_write_that_is_killed_shows_nothing(
    crashes: Crashes, hive_client: HiveClient, database: str
) -> None:
    outcomes = crashes.outcomes(SHORT)
    assert {point.table: text for point, text in outcomes.items() if text != "right"} == {}
    assert_nothing_held(hive_client, database)


@pytest.mark.long("every step of every write, and the page on them")
@pytest.mark.parametrize("kind", KINDS)
def test_a_write_that_is_killed_at_any_step_shows_nothing(crashes: Crashes, kind: str) -> None:
    started = time.monotonic()
    outcomes = crashes.outcomes(crash_points(kind))
    _FOUND.update(outcomes)
    _SECONDS.append(time.monotonic() - started)
    write_section(WRITES, document(_FOUND, dt.date.today(), sum(_SECONDS)))
    assert {point.table: text for point, text in outcomes.items() if text != "right"} == {}


@pytest.mark.parametrize("is_recovered", [False, True])
def test_a_writer_that_is_late_moves_nothing_more(
    crashes: Crashes, monkeypatch: pytest.MonkeyPatch, is_recovered: bool
) -> None:
    """The metastore has aborted its transactions between two renames, unnoticed."""
    point = crashes.make([CrashPoint("overwrite of all partitions", "one directory moved")])[0]
    move, rows = _Attempt.move, [*OLD]

    def late(attempt: _Attempt, *arguments: Any) -> None:
        if attempt.moved:
            monkeypatch.undo()
            crashes.time_out()
            if is_recovered:
                crashes.append((9, 9, 1))
                rows.append((9, 9, 1))
        move(attempt, *arguments)

    monkeypatch.setattr(_Attempt, "move", late)
    with pytest.raises((hiveacid.WriteAbortedError, hiveacid.PublicationError)):
        crashes.write(point)
    with crashes.later_write_ids():
        assert crashes.hives([_BY_TASK]) == crashes.ours() == {point: sorted(rows)}
    assert crashes.left() == {}


@pytest.mark.parametrize("nth", [pytest.param(1, marks=REPEATS), 2, pytest.param(3, marks=REPEATS)])
def test_a_rename_that_the_file_system_refuses_leaves_nothing(
    crashes: Crashes, monkeypatch: pytest.MonkeyPatch, hive: HiveServer, nth: int
) -> None:
    """A partition's directory becomes a file just before the rename into it."""
    point = crashes.make([CrashPoint("overwrite of all partitions", "one directory moved")])[0]
    move = _Attempt.move

    def refused(attempt: _Attempt, transaction: Transaction, old: str, new: str) -> None:
        place = Path(new.removeprefix("file:").replace("//", "/")).parent
        aside = place.with_name("aside")
        if len(attempt.moved) == nth - 1:
            place.rename(aside)
            place.touch()
        try:
            move(attempt, transaction, old, new)
        finally:
            if aside.exists():
                place.unlink()
                aside.rename(place)

    monkeypatch.setattr(_Attempt, "move", refused)
    with pytest.raises(hiveacid.PublicationError, match="HIVEACID_PUBLICATION_FAILED"):
        crashes.write(point)
    assert crashes.left() == {}
    with crashes.later_write_ids():
        assert crashes.hives() == {point: OLD}


@pytest.mark.parametrize("call", ["write", "make_directory"])
def test_a_full_disk_leaves_nothing(
    crashes: Crashes, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    point = crashes.make([CrashPoint("append", "record being written")])[0]

    def full(*_: Any) -> None:
        raise hiveacid.PublicationError("No space left on device.")

    monkeypatch.setattr(Files, call, full)
    with pytest.raises(hiveacid.PublicationError, match="HIVEACID_PUBLICATION_FAILED"):
        crashes.write(point)
    assert crashes.left() == {}
    assert crashes.hives() == {point: OLD}


def test_what_cannot_be_removed_is_removed_by_the_next_write(
    crashes: Crashes, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The permission to move and to delete is lost between two renames."""
    point = crashes.make([CrashPoint("overwrite of some partitions", "one directory moved")])[0]
    move = _Attempt.move

    def refuse(*_: Any) -> None:
        raise hiveacid.PublicationError("Permission denied.")

    def last(attempt: _Attempt, *arguments: Any) -> None:
        move(attempt, *arguments)
        monkeypatch.setattr(Files, "rename", refuse)
        monkeypatch.setattr(Files, "delete", refuse)

    monkeypatch.setattr(_Attempt, "move", last)
    with pytest.raises(hiveacid.PublicationError, match="Permission denied"):
        crashes.write(point)
    assert "HIVEACID_WARN_FILES_LEFT" in caplog.text
    monkeypatch.undo()
    assert crashes.left() != {}
    assert crashes.hives([_BY_TASK]) == {point: OLD}
    with crashes.later_write_ids():
        assert crashes.ours() == {point: OLD}
    crashes.append((9, 9, 1))
    assert crashes.left() == {}
    assert crashes.hives() == {point: [*OLD, (9, 9, 1)]}


@pytest.mark.parametrize("arrives", [False, True])
def test_a_commit_without_an_answer_is_decided_by_the_next_write(
    crashes: Crashes, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    """The metastore commits, or aborts after its timeout, and never answers."""
    point = crashes.make([CrashPoint("overwrite", "all directories moved")])[0]
    commit, end = WritingClient.commit_txn, publication._commit

    def no_answer(client: WritingClient, txn_id: int) -> None:
        if arrives:
            commit(client, txn_id)
        raise hiveacid.MetastoreUnavailableError("The connection was cut.")

    def cut(*arguments: Any) -> None:
        clock = SimpleNamespace(monotonic=count(0, 40).__next__, sleep=lambda _: None)
        monkeypatch.setattr(publication, "time", clock)
        monkeypatch.setattr(WritingClient, "commit_txn", no_answer)
        end(*arguments)

    monkeypatch.setattr(publication, "_commit", cut)
    with pytest.raises(hiveacid.WriteAbortedError, match="HIVEACID_COMMIT_UNKNOWN"):
        crashes.write(point)
    monkeypatch.undo()
    assert crashes.left() != {}
    crashes.time_out()
    rows = KINDS[point.kind].new if arrives else OLD
    assert crashes.hives() == {point: rows}
    crashes.append((9, 9, 1))
    assert crashes.left() == {}
    assert crashes.hives() == {point: [*rows, (9, 9, 1)]}
