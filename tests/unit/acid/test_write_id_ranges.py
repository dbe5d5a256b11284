"""Sets of write ids as ranges, against sets of numbers."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from hiveacid.acid.write_ids import (
    ValidWriteIdList,
    WriteIdRanges,
    bounded,
    new_write_ids,
    valid_only_in,
)

HIGHEST = 20
ALL = range(1, HIGHEST + 5)
ids = st.frozensets(st.integers(1, HIGHEST))


def in_(ranges):
    return {i for i in ALL if i in ranges}


def valid_in(write_ids):
    return {i for i in ALL if write_ids.is_valid(i)}


@st.composite
def write_id_lists(draw):
    high_watermark = draw(st.integers(0, HIGHEST))
    open_ids = frozenset(i for i in draw(ids) if i <= high_watermark)
    aborted = frozenset(i for i in draw(ids) if i <= high_watermark) - open_ids
    return ValidWriteIdList(high_watermark, open_ids, aborted, "shop.orders")


@st.composite
def two_snapshots(draw):
    """Those of a table's history: what was open has committed, aborted, or is open still."""
    since = draw(write_id_lists())
    high_watermark = draw(st.integers(since.high_watermark, HIGHEST))
    new = frozenset(range(since.high_watermark + 1, high_watermark + 1)) & draw(ids)
    still_open = since.open & draw(ids)
    aborted_since = (since.open - still_open) & draw(ids)
    open_ids = still_open | new & draw(ids)
    forgotten = draw(ids)
    aborted = (since.aborted - forgotten) | aborted_since | (new - open_ids)
    return since, ValidWriteIdList(high_watermark, open_ids, aborted, "shop.orders")


@given(ids, ids, st.integers(1, HIGHEST), st.integers(1, HIGHEST), st.integers(0, HIGHEST))
def test_ranges_are_sets(one, other, low, high, count):
    ranges = WriteIdRanges.of_ids(one)
    assert in_(ranges) == one
    assert ranges.count == len(one)
    assert bool(ranges) == bool(one)
    assert (ranges.first, ranges.last) == (min(one, default=None), max(one, default=None))
    assert ranges.intersects(low, high) == any(low <= i <= high for i in one)
    assert in_(ranges.within(low, high)) == {i for i in one if low <= i <= high}
    assert in_(ranges.lowest(count)) == set(sorted(one)[:count])
    assert in_(ranges.without(WriteIdRanges.of_ids(other))) == one - other
    assert ranges == WriteIdRanges.of((a, b) for a, b in reversed(ranges.ranges))
    gaps = zip(ranges.ranges, ranges.ranges[1:], strict=False)
    assert all(before[1] < after[0] for before, after in gaps)


def test_ranges_read_as_people_write_them():
    assert str(WriteIdRanges.of_ids([3, 5, 6, 7])) == "3, 5-7"
    assert str(WriteIdRanges()) == "none"
    assert WriteIdRanges.of([(4, 4), (6, 9), (7, 8), (9, 10)]).ranges == ((6, 10),)


@given(write_id_lists(), write_id_lists())
def test_the_difference_of_any_two_lists(one, other):
    assert in_(valid_only_in(one, other)) == valid_in(one) - valid_in(other)


@given(two_snapshots())
def test_new_is_what_has_become_valid_and_was_not_aborted(snapshots):
    since, now = snapshots
    assert in_(new_write_ids(since, now)) == valid_in(now) - valid_in(since) - since.aborted


def test_late_commits_are_new_and_aborted_ids_never():
    since = ValidWriteIdList(9, frozenset({4, 5}), frozenset({2}))
    now = ValidWriteIdList(12, frozenset({5}), frozenset({11}))  # Hive has forgotten 2
    assert str(new_write_ids(since, now)) == "4, 10, 12"


@given(two_snapshots(), st.integers(1, HIGHEST))
def test_a_bounded_snapshot_shows_what_was_taken(snapshots, count):
    since, now = snapshots
    new = new_write_ids(since, now)
    taken = new.lowest(count)
    part = bounded(since, now, taken)
    assert valid_in(part) == valid_in(since) | in_(taken)
    assert not part.open & part.aborted
    # Step by step all of it comes.
    assert in_(new_write_ids(part, now)) == in_(new) - in_(taken)
    assert valid_in(bounded(since, now, new)) == valid_in(since) | in_(new)
    # A base of now may be named after an id that is not taken, since it was aborted.
    base = max((i for i in now.aborted if i <= (taken.last or 0) + 1), default=0)
    assert valid_in(bounded(since, now, taken, base)) == valid_in(part)
    assert part.table == now.table
    assert part == replace(part, high_watermark=max([since.high_watermark, *in_(taken)]))
