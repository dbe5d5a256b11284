"""Which transactions and which write ids a reader may see.

A *transaction id* is global to the metastore; a *write id* counts the writing transactions of one
table. Hive's `ValidReadTxnList` and `ValidReaderWriteIdList` (storage-api,
`org.apache.hadoop.hive.common`) are the model, and the string forms are theirs.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

NO_OPEN_ID = 2**63 - 1
"""Java's `Long.MAX_VALUE`, which Hive writes where no id is open."""


class RangeResponse(Enum):
    """How much of an id range is valid (`ValidWriteIdList.RangeResponse`)."""

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
        """How many of the ids `low`..`high`, both included, are valid."""
        if low > self.high_watermark:
            return RangeResponse.NONE
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
    """The transactions whose work a reader may see (Hive's `ValidReadTxnList`)."""

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
    """The write ids of one table that a reader may see (Hive's `ValidReaderWriteIdList`)."""

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
