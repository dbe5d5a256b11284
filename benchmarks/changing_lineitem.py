"""What changes in TPC-H's lineitem: for `benchmarks.incremental`.

The table is one write. Each of the changes has write ids of its own, and no two of them touch the
same row, so that every choice of them is a snapshot that Hive could have shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from benchmarks.lineitem import COLUMNS
from hiveacid.acid.write_ids import ValidWriteIdList

_HASH = "pmod(murmur_hash(l_orderkey, l_linenumber), 4000)"
_PLACES = {"0.1": (0.05, 0.051), "1": (0.1, 0.11), "10": (0.2, 0.3)}
"""Where the keys that change together lie, as parts of all keys, by the percentage."""

_SCATTERED = {"0.1": (0, 4), "1": (4, 44), "10": (44, 444)}
"""Which of 4,000 hashes change."""

PERCENTS = tuple(_PLACES)
"""Of the rows: how many a change of each pattern touches."""


@dataclass(frozen=True)
class Change:
    """A part of the table that changes, and the write ids of that.

    `pattern` is `inserts` (new rows only), `places` (neighbouring keys) or `scattered`. Of the
    latter two's rows a half is updated, a quarter deleted, and for a quarter a new one inserted.
    """

    pattern: str
    percent: str
    statements: tuple[str, ...]
    write_ids: range

    @property
    def name(self) -> str:
        """For the tables of results."""
        return f"{self.pattern} {self.percent} %"


def changes(scale: str, percents: Collection[str] = PERCENTS) -> list[Change]:
    """The changes of these percentages, the smallest first."""
    keys = float(scale) * 6_000_000
    found: list[Change] = []
    next_id = 2
    for percent in PERCENTS:
        if percent not in percents:
            continue
        for pattern in ("inserts", "places", "scattered"):
            statements = tuple(_statements(pattern, percent, keys))
            write_ids = range(next_id, next_id + len(statements))
            next_id = write_ids.stop
            found.append(Change(pattern, percent, statements, write_ids))
    return found


def snapshot(table: str, made: Iterable[Change]) -> ValidWriteIdList:
    """What shows the base and some changes. Others are open, so that they can come later."""
    shown = {1, *(i for change in made for i in change.write_ids)}
    return ValidWriteIdList(
        max(shown), open=frozenset(range(1, max(shown))) - shown, aborted=frozenset(), table=table
    )


def _statements(pattern: str, percent: str, keys: float) -> Iterator[str]:
    if pattern == "inserts":
        # Line numbers go up to 7.
        number = {"0.1": 20, "1": 30, "10": 40}[percent]
        parts = round(float(percent) * 40)
        yield _insert(number, f"pmod(murmur_hash(l_partkey, l_suppkey), 4000) < {parts}")
        return
    if pattern == "places":
        low, high = (round(part * keys) for part in _PLACES[percent])
        step = (high - low) / 4
        first, second, third = (round(low + step * i) for i in (2, 3, 4))
        updated = f"l_orderkey > {low} AND l_orderkey <= {first}"
        deleted = f"l_orderkey > {first} AND l_orderkey <= {second}"
        inserted = f"l_orderkey > {second} AND l_orderkey <= {third}"
    else:
        start, stop = _SCATTERED[percent]
        quarter = (stop - start) // 4
        apart = " AND ".join(
            f"NOT (l_orderkey > {round(low * keys)} AND l_orderkey <= {round(high * keys)})"
            for low, high in _PLACES.values()
        )
        bounds = (start, start + 2 * quarter, start + 3 * quarter, stop)
        updated, deleted, inserted = (
            f"{_HASH} >= {a} AND {_HASH} < {b} AND {apart}"
            for a, b in zip(bounds, bounds[1:], strict=False)
        )
    yield f"UPDATE lineitem SET l_quantity = l_quantity + 1 WHERE l_linenumber < 8 AND {updated}"
    yield f"DELETE FROM lineitem WHERE l_linenumber < 8 AND {deleted}"
    yield _insert(10, inserted)


def _insert(number: int, condition: str) -> str:
    """New rows like those of a condition, with line numbers from `number` on."""
    columns = [column.split()[0] for column in COLUMNS.split(", l_")]
    names = [columns[0], *(f"l_{column}" for column in columns[1:])]
    values = [f"{name} + {number}" if name == "l_linenumber" else name for name in names]
    return f"INSERT INTO lineitem SELECT {', '.join(values)} FROM flat WHERE {condition}"
