"""Files that writers of several transactions have not closed: what counts of them is read.

Hive's streaming ingest (NiFi, Flume, Storm, Kafka) writes the transactions of a batch into one
delta. While the batch is open, a side file next to each file says how much of the file counts
(`AcidUtils.getLogicalLength`). Spark reads files as wholes, so the part that counts is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.acid.selection import AcidState, OpenFile, SelectedDir, Skipped
from hiveacid.jvm.scratch import Flushed
from hiveacid.reader.locations import Location
from hiveacid.snapshots.tables import PinnedTable


def with_flushed(
    spark: SparkSession, pinned: PinnedTable, locations: Iterable[Location]
) -> list[Location]:
    """Return locations whose open files are replaced by what counts of them.

    The rows of write ids that the snapshot must not show are among them, as in any delta.

    Raises:
        UnreadableTableError: see `Scratch.flushed`.
    """
    return [
        replace(location, state=_settled(spark, pinned, location.state))
        if location.state.open_files
        else location
        for location in locations
    ]


def _settled(spark: SparkSession, pinned: PinnedTable, state: AcidState) -> AcidState:
    found = {
        each: pinned.scratch.flushed(spark, each.file, each.side_file) for each in state.open_files
    }
    read: dict[str, list[ListedFile]] = {}
    for each, flushed in found.items():
        if flushed.file is not None and flushed.file.length:
            read.setdefault(each.directory, []).append(flushed.file)

    def with_files(selected: SelectedDir) -> SelectedDir:
        more = read.get(selected.directory.name, ())
        return replace(selected, files=(*selected.files, *more)) if more else selected

    return replace(
        state,
        deltas=tuple(map(with_files, state.deltas)),
        skipped=(
            *state.skipped,
            *chain.from_iterable(_told(each, flushed) for each, flushed in found.items()),
        ),
        open_files=(),
    )


def _told(each: OpenFile, flushed: Flushed) -> Iterator[Skipped]:
    """Yield what the report says of an open file; its side file is told of already."""
    if flushed.length is None:
        return
    reason = (
        f"its writer has not closed it: the {flushed.length} bytes that count are read from a copy"
        if flushed.length
        else "its writer has not closed it, and has flushed no rows yet"
    )
    yield Skipped(each.file.relative, reason)
