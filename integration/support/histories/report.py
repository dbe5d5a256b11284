"""How random histories are run in a test, and what they did, as text."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping

from integration.support.differential import CONTRADICTIONS
from integration.support.histories.history import Histories, Tally
from integration.support.histories.hives import histories_hive, make_long
from integration.support.hive.jars import HIVE_VERSION

SUMMARY = "random histories"
"""The property of a test's report by which its summary comes to the end of pytest's output."""


def summary(tally: Tally, seed: int, seconds: float) -> str:
    """A short account for a log."""
    return (
        f"Random histories with seed {seed}: {tally.tables} tables, "
        f"{sum(tally.operations.values())} operations, {tally.comparisons} comparisons, "
        f"{len(tally.mismatches)} mismatches, {len(tally.failed_in_hive)} failed in Hive, in "
        f"{seconds:.0f} s. Operations: {listed(tally.operations)}."
        + "".join(f"\nFailed in Hive: {failure.reason[:500]}" for failure in tally.failed_in_hive)
        + "".join(f"\nHive contradicted itself: {text}" for text in tally.contradictions)
    )


def document(tally: Tally, seed: int, seconds: float, today: dt.date) -> str:
    """The content of docs/random-histories.md."""
    about = (
        f"Random operations in a real Hive {histories_hive()}, and after each one our rows, their "
        f"count and a filtered select beside Hive's. `{make_long()}` runs them and writes this "
        "page; a shorter run with Hive 4.0.1 is part of `make test`."
    )
    return _page("Random histories", about, tally, seed, seconds, today, {})


def document_of_other_writers(
    tally: Tally, seed: int, seconds: float, today: dt.date, compactions: Counter[str]
) -> str:
    """The content of docs/random-histories-other-writers.md."""
    about = (
        f"[Random histories](random-histories.md) in a real Hive {HIVE_VERSION} with other writers "
        "than Hive's statements: batches of Hive's streaming client that stay open, are aborted in "
        "part, or whose client is killed; compactions that put files together or run on Tez; loads "
        "of files that pyorc and pyarrow wrote. `make long` runs them and writes this page."
    )
    title = "Random histories with other writers"
    return _page(title, about, tally, seed, seconds, today, {"compaction": compactions})


def _page(
    title: str,
    about: str,
    tally: Tally,
    seed: int,
    seconds: float,
    today: dt.date,
    more: Mapping[str, Counter[str]],
) -> str:
    """`more` are further tables of counts, by what they count."""
    lines = [
        f"# {title}",
        "",
        about,
        "",
        f"The last long run: {today.isoformat()}, seed {seed}, {seconds / 60:.0f} minutes, "
        f"{tally.tables} tables, {sum(tally.operations.values())} operations, {tally.comparisons} "
        f"comparisons, {len(tally.mismatches)} mismatches; {len(tally.failed_in_hive)} histories "
        "ended since Hive itself failed a statement; Hive contradicted itself "
        f"{len(tally.contradictions)} times, and was asked again; {tally.read_again} comparisons "
        "were made again, since Hive's cleaner removed a file from under them.",
        "",
        *table("operation", tally.operations),
    ]
    for what, counts in {**more, "table": tally.shapes}.items():
        lines += ["", *table(what, counts)]
    return "\n".join([*lines, *endings(tally)]) + "\n"


def endings(tally: Tally) -> list[str]:
    """The histories that ended before their time, as a document has them."""
    lines = []
    ended = [("A mismatch", mismatch) for mismatch in tally.mismatches]
    ended += [("A failure of Hive's", failure) for failure in tally.failed_in_hive]
    for title, history in ended:
        lines += ["", f"## {title}", "", *(f"    {line}" for line in str(history).splitlines())]
    return lines


def listed(counts: Counter[str]) -> str:
    """Counts in one line."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def table(what: str, counts: Counter[str]) -> list[str]:
    """Counts as a table."""
    rows = [f"| {name} | {count} |" for name, count in sorted(counts.items())]
    return [f"| {what} | times |", "|---|---|", *rows]


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
