"""Runs of random histories in a test, and their section of docs/random-histories.md."""

from __future__ import annotations

import datetime as dt
import os
import re
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from integration.support.differential import CONTRADICTIONS
from integration.support.histories.history import Histories, Tally
from integration.support.histories.hives import histories_hive, left_out
from integration.support.hive.jars import HIVE_VERSION

SUMMARY = "random histories"
"""The property of a test's report by which its summary comes to the end of pytest's output."""

PAGE = Path(__file__).parents[3] / "docs" / "random-histories.md"

HEAD = """\
# Random histories

A seed chooses tables and series of operations for a real Hive: writes that commit, commit late or \
abort, compactions, loads, overwrites, changed columns, dropped and moved partitions. After each \
operation our rows, their count and a filtered select are compared with Hive's answers. In the \
sections on dbt runs, incremental models of every kind are compared instead: after each run, and \
after a `dbt run --full-refresh` at the end, a target must have the rows that Hive answers to the \
model's query (a model with `max_write_ids` once its backlog is done).

A section is the last long run of its kind; `make long` writes the sections of Hive 4.0.1, and \
`make long HIVE=3.1.3` those of Hive 3.1.3. A history ends where Hive itself fails a statement. \
Operations after which Hive's answer changes without a write are left out \
([Hive's quirks](hive-quirks.md)).
"""


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


def write_reads(tally: Tally, seed: int, seconds: float, today: dt.date) -> None:
    """Write the section on reads in the Hive that is chosen."""
    version = histories_hive()
    paragraphs = [f"{ran(today, seed, seconds)}: {_counts(tally)}.", *shared(tally, version)]
    write_section(f"Reads on Hive {version}", paragraphs)


def write_other_writers(
    tally: Tally, seed: int, seconds: float, today: dt.date, compactions: Counter[str]
) -> None:
    """Write the section on reads of what other writers than Hive's statements wrote."""
    about = (
        "Besides Hive's statements: batches of Hive's streaming client that stay open, are aborted "
        "in part, or whose client is killed; compactions that put files together or run on Tez; "
        "loads of files that pyorc and pyarrow wrote."
    )
    paragraphs = [
        about,
        f"{ran(today, seed, seconds)}: {_counts(tally)}.",
        f"Compactions: {listed(compactions)}.",
        *shared(tally, HIVE_VERSION),
    ]
    write_section(f"Reads on Hive {HIVE_VERSION} with other writers", paragraphs)


def write_turns(tally: Tally, seed: int, seconds: float, today: dt.date, query: bool) -> None:
    """Write the section on writes of the library and of Hive in turns."""
    about = (
        "`hiveacid.transaction` appends, overwrites, deletes and merges, also two tables at once, "
        "beside statements of Hive and beside another transaction, and fails; Hive writes, changes "
        "and compacts the same tables. Each state is compared with the rows of a model: Hive's "
        "rows vectorized, not vectorized and fetched, and ours, and both under a filter."
    )
    version = histories_hive()
    paragraphs = [
        about,
        f"{ran(today, seed, seconds)}: {_counts(tally)}.",
        *shared(tally, version),
    ]
    on_tez = " with compactions on Tez" if query else ""
    write_section(f"Writes on Hive {version}{on_tez}", paragraphs)


def write_section(title: str, paragraphs: Sequence[str]) -> None:
    """Replace one section of the page, and leave all others as they are."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    PAGE.write_text(with_section(text, title, "\n\n".join(paragraphs)), "utf-8")


def with_section(text: str, title: str, body: str) -> str:
    """Return the page with a section replaced, or added as the last one."""
    _, *parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    sections = dict(zip(parts[::2], parts[1::2], strict=True)) | {title: body}
    return "\n".join([HEAD, *(f"## {name}\n\n{own.strip()}\n" for name, own in sections.items())])


def ran(today: dt.date, seed: int, seconds: float) -> str:
    """Return when a run was, how long it took and its seed."""
    return f"{today.isoformat()}, {seconds / 60:.0f} minutes, seed {seed}"


def shared(tally: Tally, version: str) -> list[str]:
    """Return what every section has: operations, tables, what was left out, and what failed."""
    paragraphs = [f"Operations: {_range(tally.operations)}. Tables: {_kinds(tally.shapes)}."]
    if reasons := left_out(version):
        paragraphs.append(f"Left out, since such a Hive fails: {'; '.join(reasons)}.")
    if tally.failed_in_hive:
        failures = (_shortened(str(failure)) for failure in tally.failed_in_hive)
        paragraphs += ["Hive failed:", "\n".join(f"- {failure}" for failure in failures)]
    for mismatch in tally.mismatches:
        paragraphs += ["**A mismatch:**", _block(str(mismatch))]
    return paragraphs


def listed(counts: Counter[str]) -> str:
    """Return counts in one line."""
    return "; ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _counts(tally: Tally) -> str:
    counts = [
        f"{tally.tables} tables",
        f"{tally.operations.total()} operations",
        f"{tally.comparisons} comparisons",
        f"{len(tally.mismatches)} mismatches",
        f"{len(tally.failed_in_hive)} failures of Hive",
    ]
    if tally.contradictions:
        counts.append(f"{len(tally.contradictions)} answers of Hive that contradicted each other")
    if tally.read_again:
        counts.append(f"{tally.read_again} reads repeated after Hive's cleaner removed a file")
    return ", ".join(counts)


def _range(counts: Counter[str]) -> str:
    """Return how many kinds there are, and which is the rarest and the most frequent."""
    ranked = Counter(dict(sorted(counts.items()))).most_common()
    (most, times), (least, few) = ranked[0], ranked[-1]
    return f"{len(counts)} kinds, from {few} ({least}) to {times} ({most})"


def _kinds(shapes: Counter[str]) -> str:
    """Return how many tables are of which format, and how many have which property."""
    formats, properties = Counter[str](), Counter[str]()
    for shape, count in shapes.items():
        # As `Shape.name` has them.
        kind, *rest = shape.split(", ")
        formats[kind] += count
        for name in ("partitioned", "bucketed", "converted"):
            properties[name] += count * any(part.startswith(name) for part in rest)
    return f"{_ranked(formats)}; of all {_ranked(properties)}"


def _ranked(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.most_common())


def _shortened(failure: str) -> str:
    """Return which table failed, why and in which statement, without the script."""
    told = failure.partition("\nTo run again in Hive:")[0].splitlines()
    return " ".join(textwrap.shorten(line, 160, placeholder=" …") for line in told)


def _block(text: str) -> str:
    return textwrap.indent(text, "    ")


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
