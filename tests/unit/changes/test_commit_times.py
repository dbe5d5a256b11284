"""Write ids of times, and times of write ids, by the notification log and by files."""

from __future__ import annotations

import time

import pytest

from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges
from hiveacid.changes import commit_times as module
from hiveacid.changes.commit_times import commit_times, find_point
from hiveacid.changes.history import Evidence, History, Point
from hiveacid.errors import InstantLostError
from hiveacid.metastore.event_log import TableEvents
from hiveacid.snapshots.read_options import AsOf
from tests.unit.changes.test_history import HIVE_3, HIVE_4, listing, past


@pytest.fixture
def ask(monkeypatch):
    """Maps a time in milliseconds; returns the write id and what the log says."""
    monkeypatch.setattr(module, "milliseconds_of", lambda spark, text: int(text))
    said: list[str] = []
    monkeypatch.setattr(module.logger, "info", said.append)

    def ask(of: History, milliseconds: float) -> tuple[int, str]:
        point = find_point(None, of, AsOf(timestamp=str(int(milliseconds))))
        assert not point.later
        return point.write_id, said[-1]

    return ask


def test_a_write_id_needs_no_mapping():
    assert find_point(None, past(listing("delta_1_1_0000/b")), AsOf(3)) == Point(3)


def test_times_of_files(ask):
    of = past(listing("delta_1_1_0000/b", "delta_3_3_0000/b"))
    assert ask(of, 1999) == (
        1,
        "shop.orders as of timestamp '1999' is its write id 1, by the modification times of "
        "its files.",
    )
    assert ask(of, 2000)[0] == 3


def test_a_time_that_has_not_passed_is_the_snapshot(ask):
    assert ask(past(listing("delta_1_1_0000/b")), time.time() * 1000 + 60_000)[0] == 5


def test_the_notification_log_comes_first(ask):
    events = TableEvents(1, {4: 2, 9: 3}, frozenset({4, 9}))
    of = past(listing("delta_1_1_0000/b"), evidence=Evidence(HIVE_4, (), lambda: events))
    assert ask(of, 2500)[0] == 4
    assert ask(of, 2500)[1].endswith("write id 4, by the metastore's notification log.")
    assert ask(of, 9000)[0] == 5, "9 was committed after the snapshot"
    assert ask(of, 999)[1].endswith("by the modification times of its files.")


@pytest.mark.parametrize(("server", "found"), [(HIVE_4, 1), (HIVE_3, None)])
def test_a_compaction_of_hive_3_may_look_like_a_write(ask, server, found):
    of = past(listing("delta_1_1_0000/b", "delta_3_3/b"), evidence=Evidence(server, ()))
    if found is None:
        with pytest.raises(InstantLostError, match="which of its write ids 3 had been committed"):
            ask(of, 1999)
    else:
        assert ask(of, 1999)[0] == found
    assert ask(of, 2000)[0] == 3
    known = commit_times(of, WriteIdRanges(((0, 5),)))
    assert known == ({1: 1000, 3: 2000} if found else {1: 1000})


def test_a_compaction_hides_times(ask):
    of = past(listing("base_4_v0000007/b"))
    with pytest.raises(InstantLostError) as error:
        ask(of, 999)
    assert error.value.message == (
        "shop.orders cannot be read as of timestamp '999': which of its write ids 1-4 had been "
        "committed then, neither /t/base_4_v0000007 nor the metastore's notification log tells."
        " The write ids 4 to 5 can be read. Give one of them as `version_as_of`."
    )
    assert ask(of, 1000)[0] == 4


@pytest.mark.parametrize("has_log", [False, True])
def test_what_was_committed_later_does_not_count(ask, has_log):
    directories = listing("delta_1_1_0000/b", "delta_3_3_0000/b", "delta_2_2_0000/b")
    events = TableEvents(1, {1: 1, 3: 2, 2: 3}, frozenset({1, 2, 3})) if has_log else None
    of = past(directories, newest=3, evidence=Evidence(HIVE_4, (), lambda: events))
    point = find_point(None, of, AsOf(timestamp="2000"))
    assert point == Point(3, frozenset({2}))
    instant = of.at_point(point)
    assert instant.pinned.write_ids == ValidWriteIdList(3, frozenset({2}))
    compacted = listing("base_2_v0000007/b", "delta_3_3_0000/b")
    with pytest.raises(InstantLostError) as error:
        past(compacted, newest=3).at_point(point)
    assert error.value.message.startswith(
        "shop.orders can no longer be read as of write id 3 without 2, committed later: "
        "/t/base_2_v0000007 is a compaction"
    )


def test_times_of_commits():
    directories = listing("delta_1_1_0000/b", "delta_3_3_0000/b", "delta_5_5_0000/b")
    events = TableEvents(1, {3: 2})
    of = past(directories, evidence=Evidence(HIVE_4, (), lambda: events))
    assert commit_times(of, WriteIdRanges(((0, 4),))) == {1: 1000, 3: 2000}
    assert commit_times(past(directories), WriteIdRanges(((4, 9),))) == {5: 3000}
