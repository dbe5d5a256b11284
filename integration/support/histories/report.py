"""What a run of random histories did, as text."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping

from integration.support.histories.history import Tally
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
