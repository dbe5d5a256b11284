"""Findings of a check of one table: counts, and what nothing explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from hiveacid.acid.layout import ListedFile, Listing
from hiveacid.reader.plan import DataFile, ReadPlan

SHOWN = 20
"""Skipped names and problems that are printed one by one at most."""


@dataclass(frozen=True)
class DeleteEvents:
    """Delete events that the snapshot may see.

    `hits` is the number of rows that they delete. `repeated` counts the events that name a row
    which an earlier event names, too. `explained` counts events that name a row which is not there,
    by the reason why this is right.
    """

    total: int = 0
    hits: int = 0
    repeated: int = 0
    explained: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Verification:
    """Outcome of the check of one table in one snapshot.

    `rows` are the rows in the data files. `hidden` counts the rows among them whose write id the
    snapshot must not show. `shown` is the number of rows that the reader gives. `problems` is empty
    for a table that is as Hive writes it and is read as it is. `nanoseconds` counts the timestamps
    in the data files that Spark cuts to microseconds, by column.
    """

    plan: ReadPlan
    listed: int
    rows: int
    hidden: int
    shown: int
    events: DeleteEvents
    problems: tuple[str, ...]
    nanoseconds: Mapping[str, int] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report, for people to read."""
        plan, write_ids = self.plan, self.plan.pinned.write_ids
        yield (
            f"{plan.pinned.table.name} in transaction {plan.pinned.transaction_id}: write ids up "
            f"to {write_ids.high_watermark}; open: {_ids(write_ids.open)}; aborted: "
            f"{_ids(write_ids.aborted)}"
        )
        yield (
            f"files: {self.listed} listed, {len(plan.data)} read for rows, {len(plan.deletes)} for "
            f"delete events; {len(plan.skipped)} directories and files not read"
        )
        for skipped in plan.skipped[:SHOWN]:
            yield f"  not read: {skipped.relative}: {skipped.reason}"
        yield from _and_more(len(plan.skipped))
        yield (
            f"rows: {self.rows} in the files, {self.hidden} of write ids not to be seen, "
            f"{self.events.hits} deleted, {self.shown} shown"
        )
        yield (
            f"delete events: {self.events.total}, of which {self.events.repeated} name a row once "
            "more"
        )
        for reason, count in sorted((self.events.explained or {}).items()):
            yield f"  without a row: {count}: {reason}"
        for column, count in self.nanoseconds.items():
            yield f"timestamps: {count} of {column} have nanoseconds, which Spark cuts"
        for path in plan.to_be_lost[:SHOWN]:
            yield f"to be lost: a compaction has left {path} empty; Hive will remove what it covers"
        yield from _and_more(len(plan.to_be_lost))
        for problem in self.problems[:SHOWN]:
            yield f"PROBLEM: {problem}"
        yield from _and_more(len(self.problems))
        if not self.problems:
            yield "every check passed"


def _ids(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids))) or "none"


def _and_more(count: int) -> Iterator[str]:
    if count > SHOWN:
        yield f"  and {count - SHOWN} more"


def file_problems(
    plan: ReadPlan, listings: Iterable[Listing], still_there: Set[str]
) -> Iterator[str]:
    """Yield listed files that the plan neither reads nor skips by name, and files it reads twice.

    `still_there` are the paths of the files that a later listing found, too.
    """
    planned = Counter(f.file.path for files in (plan.data, plan.deletes) for f in files)
    skipped = {item.relative for item in plan.skipped}
    for listing in listings:
        for file in listing.files:
            top = file.relative.partition("/")[0]
            named = {f"{listing.location}/{part}" for part in (top, file.relative)}
            if file.path not in planned and not named & skipped and file.path in still_there:
                yield f"{file.path} is neither read nor named as skipped"
    for path, times in sorted(planned.items()):
        if times > 1:
            yield f"{path} is read {times} times"


def count_problems(
    files: Iterable[ListedFile],
    expected: Mapping[ListedFile, int],
    counted: Mapping[ListedFile, int],
) -> Iterator[str]:
    """Yield files in which Spark found another number of rows than their footers say."""
    for file in files:
        found = counted.get(file, 0)
        if found != expected[file]:
            yield f"{file.path} has {expected[file]} rows by its footer, but Spark read {found}"


def numbering_problems(files: Sequence[DataFile], rows: Mapping[ListedFile, int]) -> Iterator[str]:
    """Yield raw files of one partition whose rows would have row ids in common."""
    by_bucket: dict[tuple[int, int, int], list[tuple[int, int, str]]] = {}
    for file in files:
        if file.row_ids is not None:
            ids = file.row_ids
            key = (file.partition, ids.write_id, ids.bucket)
            end = ids.first_row + rows[file.file]
            by_bucket.setdefault(key, []).append((ids.first_row, end, file.file.path))
    for ranges in by_bucket.values():
        ordered = sorted(ranges)
        for (_, end, path), (first, _, other) in zip(ordered, ordered[1:], strict=False):
            if first < end:
                yield f"{path} and {other} have row ids in common"
