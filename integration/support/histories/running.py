"""Running random histories for a while, and what must hold of them afterwards."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from integration.support.differential import CONTRADICTIONS
from integration.support.histories.history import Histories, Tally
from integration.support.histories.report import SUMMARY, summary

Record = Callable[[str, object], None]

_EXTENSION = 6
"""A run may take this many times its minutes on a machine that is slow to reach the counts."""

_FAILED_IN_HIVE = 0.2
"""The largest share of histories that may end because Hive itself fails a statement."""

_READ_AGAIN = 0.02
"""The largest share of comparisons that may be made again (`Tally.read_again`)."""


def run(
    histories: Histories,
    minutes: float,
    most_mismatches: int,
    record: Record,
    after_each: Callable[[float], None] = lambda seconds: None,
) -> None:
    """Run histories until the time is over and each operation has happened often enough.

    A single history that Hive fails in is made up for by others: one of four would be too many.

    `after_each` is told the seconds since the start.
    """
    minutes = float(os.environ.get("HISTORIES_MINUTES") or minutes)
    tally = histories.tally
    started = time.monotonic()

    def elapsed() -> float:
        return time.monotonic() - started

    def has_too_few() -> bool:
        return bool(tally.rare()) or (len(tally.failed_in_hive) == 1 and _fails_often(tally))

    while elapsed() < 60 * minutes * (_EXTENSION if has_too_few() else 1):
        histories.run_one(shrink_seconds=120)
        after_each(elapsed())
        if len(tally.mismatches) >= most_mismatches:
            break
    record(SUMMARY, summary(tally, histories.seed, elapsed()))
    assert tally.mismatches or not tally.rare(), (
        f"seed {histories.seed}: these operations happened less than {tally.least} times: "
        f"{tally.rare()}"
    )


def assert_sound(histories: Histories) -> None:
    """Assert that each comparison showed Hive's rows, and that Hive seldom failed a statement."""
    tally = histories.tally
    assert not tally.mismatches, f"seed {histories.seed}\n" + "\n\n".join(
        map(str, tally.mismatches)
    )
    # Many of these would mean that the generator makes statements that Hive refuses.
    assert not _fails_often(tally), "\n\n".join(map(str, tally.failed_in_hive))
    assert tally.read_again <= max(1, _READ_AGAIN * tally.comparisons), tally.read_again
    assert len(tally.contradictions) <= CONTRADICTIONS, "\n\n".join(tally.contradictions)


def _fails_often(tally: Tally) -> bool:
    return len(tally.failed_in_hive) > _FAILED_IN_HIVE * tally.tables
