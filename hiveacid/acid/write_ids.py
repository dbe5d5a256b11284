"""Lists of the transactions and write ids that a reader may see; ranges of write ids. Pure.

A *transaction id* is global to the metastore; a *write id* counts the writing transactions of one
table. Hive's `ValidReadTxnList` and `ValidReaderWriteIdList` (storage-api,
`org.apache.hadoop.hive.common`) are the model, and the string forms are theirs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

NO_OPEN_ID = 2**63 - 1
"""Java's `Long.MAX_VALUE`, which Hive writes where no id is open."""


class RangeResponse(Enum):
    """Validity of a range of ids (`ValidWriteIdList.RangeResponse`)."""

    NONE = "none"
    SOME = "some"
    ALL = "all"


def _split_ids(text: str) -> frozenset[int]:
    return frozenset(int(part) for part in text.split(",") if part)


def _join_ids(ids: Iterable[int]) -> str:
    return ",".join(str(i) for i in sorted(ids))


@dataclass(frozen=True)
class _ValidIds:
    """Ids up to `high_watermark`, except the ones in `open` and `aborted`, are valid."""

    high_watermark: int
    open: frozenset[int] = frozenset()
    aborted: frozenset[int] = frozenset()

    @cached_property
    def invalid(self) -> frozenset[int]:
        """The open and the aborted ids at or below the high-water mark."""
        return self.open | self.aborted

    @cached_property
    def _in_order(self) -> list[int]:
        # Streaming ingest may leave thousands of aborted ids, and every directory has a range.
        return sorted(self.invalid)

    @property
    def min_open(self) -> int:
        """The lowest open id, or `NO_OPEN_ID`."""
        return min(self.open, default=NO_OPEN_ID)

    def is_valid(self, id_: int) -> bool:
        """Whether a reader sees what this id wrote."""
        return id_ <= self.high_watermark and id_ not in self.invalid

    def is_range_valid(self, low: int, high: int) -> RangeResponse:
        """Return whether all, some or none of the ids `low`..`high`, both included, are valid.

        Hive counts no invalid id in a reversed range, such as 4..3: all are valid, unless `low` is
        above the high-water mark.
        """
        if low > self.high_watermark:
            return RangeResponse.NONE
        if low > high:
            return RangeResponse.ALL
        top = min(high, self.high_watermark)
        invalid = bisect_right(self._in_order, top) - bisect_left(self._in_order, low)
        valid = (top - low + 1) - invalid
        if valid == 0:
            return RangeResponse.NONE
        return RangeResponse.ALL if valid == high - low + 1 else RangeResponse.SOME

    def _tail(self) -> str:
        ids = f"{_join_ids(self.open)}:{_join_ids(self.aborted)}"
        return f"{self.high_watermark}:{self.min_open}:{ids}"


@dataclass(frozen=True)
class ValidTxnList(_ValidIds):
    """Transactions whose work a reader may see (Hive's `ValidReadTxnList`)."""

    def __str__(self) -> str:
        """Hive's form, `hwm:minOpen:open,…:aborted,…`, which `get_valid_write_ids` takes."""
        return self._tail()

    @classmethod
    def parse(cls, text: str) -> ValidTxnList:
        """Read Hive's form. Raises `ValueError` on anything else."""
        parts = text.split(":")
        if len(parts) != 4:
            raise ValueError(f"not a valid transaction list: {text!r}")
        return cls(int(parts[0]), _split_ids(parts[2]), _split_ids(parts[3]))


@dataclass(frozen=True)
class ValidWriteIdList(_ValidIds):
    """Write ids of one table that a reader may see (Hive's `ValidReaderWriteIdList`)."""

    table: str = ""

    def is_valid_base(self, write_id: int) -> bool:
        """Whether a compacted base up to `write_id` may be used: no id in it is still open."""
        return write_id < self.min_open and write_id <= self.high_watermark

    def __str__(self) -> str:
        """Hive's form, `db.table:hwm:minOpen:open,…:aborted,…`."""
        return f"{self.table}:{self._tail()}"

    @classmethod
    def parse(cls, text: str) -> ValidWriteIdList:
        """Read Hive's form. Raises `ValueError` on anything else."""
        parts = text.split(":")
        if len(parts) != 5:
            raise ValueError(f"not a valid write id list: {text!r}")
        return cls(int(parts[1]), _split_ids(parts[3]), _split_ids(parts[4]), table=parts[0])


@dataclass(frozen=True)
class WriteIdRanges:
    """A set of write ids as ranges (exclusive, inclusive], ascending, with gaps between them."""

    ranges: tuple[tuple[int, int], ...] = ()

    @classmethod
    def of(cls, ranges: Iterable[tuple[int, int]]) -> WriteIdRanges:
        """Return the set of some ranges in any order; they may overlap or be empty."""
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
        """Return the set of single ids."""
        return cls.of((i - 1, i) for i in ids)

    def __contains__(self, write_id: object) -> bool:
        return isinstance(write_id, int) and self.intersects(write_id, write_id)

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __str__(self) -> str:
        """Return the ids as people write them: `3, 5-7`; `none` for an empty set."""
        return ", ".join(_text(after + 1, last) for after, last in self.ranges) or "none"

    @property
    def count(self) -> int:
        """The number of ids."""
        return sum(last - after for after, last in self.ranges)

    @property
    def first(self) -> int | None:
        """The lowest id; None for an empty set."""
        return self.ranges[0][0] + 1 if self.ranges else None

    @property
    def last(self) -> int | None:
        """The highest id; None for an empty set."""
        return self.ranges[-1][1] if self.ranges else None

    def intersects(self, low: int, high: int) -> bool:
        """Whether one of the ids `low`..`high`, both included, is in the set."""
        if low > high:
            return False
        i = bisect_left(self.ranges, low, key=_last)
        return i < len(self.ranges) and self.ranges[i][0] < high

    def within(self, low: int, high: int) -> WriteIdRanges:
        """Return the ids of the set that are among `low`..`high`, both included."""
        return WriteIdRanges.of((max(a, low - 1), min(b, high)) for a, b in self.ranges)

    def lowest(self, count: int) -> WriteIdRanges:
        """Return the `count` lowest ids, or all if there are fewer."""
        return WriteIdRanges(tuple(self._lowest(count)))

    def without(self, other: WriteIdRanges) -> WriteIdRanges:
        """Return the ids of the set that are not in `other`."""
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
    """Return the write ids that are valid in `one` and not valid in `other`."""
    above = WriteIdRanges.of([(max(other.high_watermark, 0), one.high_watermark)])
    below = WriteIdRanges.of_ids(i for i in other.invalid if i <= one.high_watermark)
    both = WriteIdRanges.of([*above.ranges, *below.ranges])
    return both.without(WriteIdRanges.of_ids(one.invalid))


def new_write_ids(since: ValidWriteIdList, now: ValidWriteIdList) -> WriteIdRanges:
    """Return the write ids whose work is visible now and was not visible before.

    An id that was aborted before is never new. Hive forgets it once a compaction has removed its
    files, and then lists it as if it were valid.
    """
    return valid_only_in(now, since).without(WriteIdRanges.of_ids(since.aborted))


def bounded(
    since: ValidWriteIdList, now: ValidWriteIdList, taken: WriteIdRanges, base: int = 0
) -> ValidWriteIdList:
    """Return the write ids that show what `since` shows, and of the new ones in `now` only `taken`.

    The high-water mark is the highest write id that is shown, or `base`, the highest base of `now`,
    if it is higher: a base may be named after an aborted write id. All other ids up to the mark are
    open, unless they are aborted. `taken` must be new in `now`, and must include every new write id
    up to the base.
    """
    high_watermark = max(since.high_watermark, taken.last or 0, base)
    aborted = {i for i in now.aborted | since.aborted if i <= high_watermark}
    unseen = {i for i in since.open if i not in taken}
    above = WriteIdRanges.of([(since.high_watermark, high_watermark)]).without(taken)
    unseen.update(i for after, last in above.ranges for i in range(after + 1, last + 1))
    return ValidWriteIdList(
        high_watermark, frozenset(unseen - aborted), frozenset(aborted), now.table
    )
