"""Read a table at every earlier write id, and compare with what Hive showed then."""

from __future__ import annotations

import datetime as dt
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import pairwise
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import hiveacid
from hiveacid.acid.time_travel import cut
from hiveacid.acid.write_ids import ValidWriteIdList, new_write_ids
from hiveacid.changes.state import SourceState
from hiveacid.metastore.models import TableName
from integration.support.dbt_project import SMALL
from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient
from integration.support.metastore import eventually

Shown = list[tuple[str, ...]]

_GONE = re.compile(r"FILE_NOT_EXIST|file:\S+ (does not exist|\S.*, and is gone)")


@dataclass(frozen=True)
class Moment:
    """What Hive showed at a write id, the write ids of then, and the time in seconds."""

    write_ids: ValidWriteIdList
    shown: Shown
    time: float


@dataclass
class Past:
    """The moments of one table, and how their later reads went.

    `read` and `refused` count reads by write id, `late` the moments below which a transaction was
    committed afterwards: by the rule for numbers it belongs to them, so that Hive's rows of then
    are others.
    """

    differential: Differential
    client: HiveClient
    table: str
    spark: SparkSession = field(init=False)
    moments: dict[int, Moment] = field(default_factory=dict)
    read: int = 0
    refused: int = 0
    late: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    told: int = 0
    untold: int = 0

    def __post_init__(self) -> None:
        self.spark = self.differential.spark.newSession()
        for key, value in SMALL.items():
            self.spark.conf.set(key, value)

    def run(self, script: str) -> None:
        """Run statements, `{t}` being the table; look back after each of them."""
        for statement in script.split(";"):
            if statement.strip():
                self.client.execute(statement.strip().format(t=self.table))
                self.look_back()

    def do(self, step: Callable[[], object]) -> None:
        """Do something to the table, and look back."""
        step()
        self.look_back()

    def compact(self, kind: str, partition: str | None = None, *, cleaned: bool) -> None:
        """Compact, and look back. Without `cleaned` a reader must keep the old directories."""
        self.do(partial(self.client.compact, self.table, kind, partition, cleaned=cleaned))

    def wait_for_cleaner(self) -> None:
        """Wait until what was compacted has been cleaned."""
        database, _, name = self.table.partition(".")

        def is_done() -> bool:
            compactions = self.client.show_compactions(database)
            of_table = [row for row in compactions if row["tabname"] == name]
            return all(row["state"] != "ready for cleaning" for row in of_table)

        assert eventually(is_done, seconds=60)

    def snapshot(self) -> hiveacid.Snapshot:
        """A snapshot of the table."""
        uri = self.differential.hive.metastore_uri
        return hiveacid.snapshot(self.spark, uri, [self.table], lock_timeout=60)

    def look_back(self) -> None:
        """Take the moment of now, and read each earlier one again.

        Hive's cleaner may be at work, and no lock keeps the files of an earlier moment: if a file
        goes while it is read, read again after the cleaner.
        """
        try:
            self._look_back()
        except (hiveacid.VanishedFileError, PySparkException) as error:
            if not _GONE.search(str(error)):
                raise
            self.wait_for_cleaner()
            self._look_back()

    def _look_back(self) -> None:
        with self.snapshot() as snapshot:
            now = self._now(snapshot)
            earlier = []
            for write_id, moment in sorted(self.moments.items()):
                if write_id > now.high_watermark:
                    self._check_unknown(snapshot, write_id)
                elif new_write_ids(moment.write_ids, cut(now, write_id)):
                    self.late += 1
                else:
                    earlier.append(write_id)
            self._check(snapshot, earlier)

    def state(self) -> SourceState:
        """The state of a target that has all rows of now."""
        with self.snapshot() as snapshot:
            return snapshot.changes(self.table).state

    def check_times(self) -> tuple[int, int]:
        """Read each moment by its time. Return how many were right and how many were refused."""
        right, refused = 0, 0
        with self.snapshot() as snapshot:
            for moment in self.moments.values():
                at = dt.datetime.fromtimestamp(moment.time, dt.timezone.utc)
                try:
                    rows = snapshot.table(self.table, timestamp_as_of=at).collect()
                except hiveacid.InstantLostError:
                    refused += 1
                    continue
                assert canonical(rows) == moment.shown, at
                right += 1
        return right, refused

    def check_changes(self) -> None:
        """Apply the changes between moments, two that follow and the outermost, to the first."""
        known = sorted(self.moments)
        with self.snapshot() as snapshot:
            for since, until in {*pairwise(known), (known[0], known[-1])}:
                self._check_changes(snapshot, since, until)

    def _now(self, snapshot: hiveacid.Snapshot) -> ValidWriteIdList:
        report = snapshot.report()
        assert report is not None
        (write_ids,) = report.write_ids.values()
        shown = canonical(self.differential.shown(self.table))
        moment = Moment(write_ids, shown, time.time())
        # A compaction has no write id: it must show what there was before.
        before = self.moments.setdefault(write_ids.high_watermark, moment)
        if not new_write_ids(before.write_ids, write_ids):
            assert before.shown == shown
        return write_ids

    def _check(self, snapshot: hiveacid.Snapshot, write_ids: list[int]) -> None:
        frames: dict[int, DataFrame] = {}
        for write_id in write_ids:
            try:
                frame = snapshot.table(self.table, version_as_of=write_id)
            except hiveacid.InstantLostError as error:
                assert str(TableName.parse(self.table)) in error.message
                assert f"write id {write_id}:" in error.message
                assert "can be read." in error.message
                self.refused += 1
                self.reasons[error.message] += 1
                continue
            frames[write_id] = frame.select(F.lit(write_id), "*")
        if not frames:
            return  # All are refused, and below the newest one a transaction was committed late.
        shown = {write_id: list[Any]() for write_id in frames}
        for write_id, *row in reduce(DataFrame.union, frames.values()).collect():
            shown[write_id].append(row)
        expected = {write_id: self.moments[write_id].shown for write_id in frames}
        assert {write_id: canonical(rows) for write_id, rows in shown.items()} == expected
        self.read += len(frames)

    def _check_unknown(self, snapshot: hiveacid.Snapshot, write_id: int) -> None:
        """Ask for a write id that Hive had: its high-water mark can go back (hive-quirks.md)."""
        try:
            snapshot.table(self.table, version_as_of=write_id)
        except hiveacid.InvalidSettingError as error:
            assert f"has no write id {write_id} in this snapshot" in error.message
            self.refused += 1
            self.reasons[error.message] += 1
            return
        raise AssertionError(f"{self.table} was read as of write id {write_id}")

    def _check_changes(self, snapshot: hiveacid.Snapshot, since: int, until: int) -> None:
        before, after = self.moments[since], self.moments[until]
        try:
            feed = snapshot.table_changes(self.table, since, until).collect()
        except (hiveacid.InstantLostError, hiveacid.HistoryLostError):
            self.untold += 1
            return
        left = Counter(before.shown)
        for row in feed:
            assert since < row["_commit_version"] <= until
            assert row["_commit_timestamp"] is None or row["_commit_timestamp"].year > 2000
        for kind, sign in (("delete", -1), ("insert", 1)):
            rows = [tuple(row)[:-3] for row in feed if row["_change_type"] == kind]
            for shown in canonical(rows):
                left[shown] += sign
                assert left[shown] >= 0, (since, until, shown)
        assert sorted(left.elements()) == after.shown, (since, until)
        self.told += 1
