"""Which write ids are new since a snapshot of a table.

The *new* write ids are valid now and were not valid then, so they are more than those above the old
high-water mark: a transaction that was open then may have committed since.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList


@dataclass(frozen=True)
class WriteIdRanges:
    """A set of write ids as ranges (exclusive, inclusive], ascending, with gaps between them."""

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> WriteIdRanges:
        """From ranges (exclusive, inclusive] in any order, which may overlap or be empty."""
        merged: list[tuple[int, int]] = []
        for after, last in sorted(ranges):
            if after >= last:
                continue
            if merged and after <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(last, merged[-1][1])
            else:
                merged.append((after, last))
        return cls(tuple(merged))

    @classmethod
    def of_ids(cls, ids: Iterable[int]) -> WriteIdRanges:
        """From single ids."""
        return cls.of((i - 1, i) for i in ids)

    def __contains__(self, write_id: object) -> bool:
        return isinstance(write_id, int) and self.intersects(write_id, write_id)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __str__(self) -> str:
        """As people write them: `3, 5-7`; `none` without any."""
        return ", ".join(_text(after + 1, last) for after, last in self.ranges) or "none"

    @property
    def count(self) -> int:
        """How many ids there are."""
        return sum(last - after for after, last in self.ranges)

    @property
    def first(self) -> int | None:
        """The lowest id, None without any."""
        return self.ranges[0][0] + 1 if self.ranges else None

    @property
    def last(self) -> int | None:
        """The highest id, None without any."""
        return self.ranges[-1][1] if self.ranges else None

    def intersects(self, low: int, high: int) -> bool:
        """Whether one of the ids `low`..`high`, both included, is here."""
        if low > high:
            return False
        i = bisect_left(self.ranges, low, key=_last)
        return i < len(self.ranges) and self.ranges[i][0] < high

    def within(self, low: int, high: int) -> WriteIdRanges:
        """The ids here that are among `low`..`high`, both included."""
        return WriteIdRanges.of((max(a, low - 1), min(b, high)) for a, b in self.ranges)

    def lowest(self, count: int) -> WriteIdRanges:
        """The `count` lowest ids, or all if there are no more."""
        return WriteIdRanges(tuple(self._lowest(count)))

    def without(self, other: WriteIdRanges) -> WriteIdRanges:
        """The ids here that are not in `other`."""
        left = []
        for after, last in self.ranges:
            for gap_after, gap_last in other.within(after + 1, last).ranges:
                left.append((after, gap_after))
                after = gap_last
            left.append((after, last))
        return WriteIdRanges.of(left)

    def _lowest(self, count: int) -> Iterator[tuple[int, int]]:
        for after, last in self.ranges:
            if count <= 0:
                return
            yield after, min(last, after + count)
            count -= last - after


def _last(range_: tuple[int, int]) -> int:
    return range_[1]


def _text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def valid_only_in(one: ValidWriteIdList, other: ValidWriteIdList) -> WriteIdRanges:
    """The write ids that are valid in `one` and not valid in `other`."""
    above = WriteIdRanges.of([(max(other.high_watermark, 0), one.high_watermark)])
    below = WriteIdRanges.of_ids(i for i in other.invalid if i <= one.high_watermark)
    both = WriteIdRanges.of([*above.ranges, *below.ranges])
    return both.without(WriteIdRanges.of_ids(one.invalid))


def new_write_ids(since: ValidWriteIdList, now: ValidWriteIdList) -> WriteIdRanges:
    """The write ids whose work is visible now and was not then.

    An id that was aborted then is never new: Hive forgets it once a compaction has removed its
    files, and then lists it as if it were valid.
    """
    return valid_only_in(now, since).without(WriteIdRanges.of_ids(since.aborted))


def bounded(
    since: ValidWriteIdList, now: ValidWriteIdList, taken: WriteIdRanges, base: int = 0
) -> ValidWriteIdList:
    """The snapshot that shows what `since` shows and, of what is new in `now`, only `taken`.

    It goes up to the highest id of both, and to that of the highest `base` of `now`, which may be
    named after an aborted one; what it does not show up to there counts as open, unless it is
    aborted. `taken` must be new in `now`, with all that is new up to the base.
    """
    high_watermark = max(since.high_watermark, taken.last or 0, base)
    aborted = {i for i in now.aborted | since.aborted if i <= high_watermark}
    unseen = {i for i in since.open if i not in taken}
    above = WriteIdRanges.of([(since.high_watermark, high_watermark)]).without(taken)
    unseen.update(i for after, last in above.ranges for i in range(after + 1, last + 1))
    return ValidWriteIdList(
        high_watermark, frozenset(unseen - aborted), frozenset(aborted), now.table
    )
