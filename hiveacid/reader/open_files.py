"""Open files of Hive's streaming ingest: their flushed part is read.

Streaming ingest (NiFi, Flume, Storm, Kafka) writes the transactions of a batch into one delta.
While the batch is open, a side file next to each file holds the file's flushed length
(`AcidUtils.getLogicalLength`). Spark reads whole files, so the flushed part is copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.acid.selection import AcidState, OpenFile, SelectedDir, Skipped
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.filesystem import PATH
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java
from hiveacid.jvm.scratch import IO, Scratch
from hiveacid.reader.locations import Location
from hiveacid.snapshots.tables import PinnedTable

_LONG = 8
"""Size in bytes of one length in a side file."""


@dataclass(frozen=True)
class Flushed:
    """Flushed part of an open file.

    `file` is read in place of the open file; None if the writer has flushed no rows yet. `length`
    is the flushed length in bytes; None if the writer has closed the file meanwhile.
    """

    file: ListedFile | None
    length: int | None


def replace_open_files(
    spark: SparkSession, pinned: PinnedTable, locations: Iterable[Location]
) -> list[Location]:
    """Return the locations with open files replaced by their flushed parts.

    A flushed part may have rows of write ids that the snapshot must not show, as any delta.

    Raises:
        UnreadableTableError: see `flushed_part`.
        SnapshotEndedError: the snapshot's copies were removed.
    """
    return [
        replace(location, state=_settled(spark, pinned, location.state))
        if location.state.open_files
        else location
        for location in locations
    ]


def _settled(spark: SparkSession, pinned: PinnedTable, state: AcidState) -> AcidState:
    found = {
        each: flushed_part(spark, pinned.scratch, each.file, each.side_file)
        for each in state.open_files
    }
    read: dict[str, list[ListedFile]] = {}
    for each, part in found.items():
        if part.file is not None and part.file.length:
            read.setdefault(each.directory, []).append(part.file)

    def with_files(selected: SelectedDir) -> SelectedDir:
        more = read.get(selected.directory.name, ())
        return replace(selected, files=(*selected.files, *more)) if more else selected

    return replace(
        state,
        deltas=tuple(map(with_files, state.deltas)),
        skipped=(
            *state.skipped,
            *chain.from_iterable(_skipped(each, part) for each, part in found.items()),
        ),
        open_files=(),
    )


def flushed_part(
    spark: SparkSession, scratch: Scratch, file: ListedFile, side_file: ListedFile
) -> Flushed:
    """Return the flushed part of a file with a side file; copy it once in a snapshot.

    The side file holds all flushed lengths, the last one at its end, as
    `OrcAcidUtils.getLastFlushLength` reads it. The bytes up to this length end with an ORC footer.

    Raises:
        UnreadableTableError: the side file holds no length, the copies would be too large, or
            a file cannot be read or copied.
        SnapshotEndedError: the copies were removed.
    """
    return scratch.once(file, lambda: _look(spark, scratch, file, side_file))


def _look(
    spark: SparkSession, scratch: Scratch, file: ListedFile, side_file: ListedFile
) -> Flushed:
    path, side_path = (java(spark.sparkContext, PATH)(each.path) for each in (file, side_file))
    file_system = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    try:
        length = _last_length(spark, file_system, side_path)
    except JAVA_ERRORS:
        if file_system.exists(side_path):
            raise
        # The writer has closed the file since the listing.
        status = file_system.getFileStatus(path)
        length, time = status.getLen(), status.getModificationTime()
        return Flushed(ListedFile(file.relative, file.path, length, time), None)
    if length is None:
        raise UnreadableTableError(
            f"{side_file.path} holds no length, so the flushed part of {file.path}, which is "
            "still being written, is unknown. Hive cannot read the table either. Wait until "
            "the writer has flushed.",
            code="HIVEACID_NO_FLUSHED_LENGTH",
        )
    if length == 0:
        return Flushed(None, 0)
    return Flushed(ListedFile(file.relative, scratch.copy(spark, file, length), length), length)


def _last_length(spark: SparkSession, file_system: JavaObject, side_path: JavaObject) -> int | None:
    """Return the last complete length in a side file; None if there is none."""
    content = java(spark.sparkContext, "java.io.ByteArrayOutputStream")()
    stream = file_system.open(side_path)
    try:
        java(spark.sparkContext, IO).copyLarge(stream, content)
    finally:
        stream.close()
    numbers = bytes(content.toByteArray())
    whole = len(numbers) // _LONG * _LONG
    return int.from_bytes(numbers[whole - _LONG : whole], "big") if whole else None


def _skipped(each: OpenFile, part: Flushed) -> Iterator[Skipped]:
    """Yield the report's entry for an open file. The side file has an entry already."""
    if part.length is None:
        return
    reason = (
        f"its writer has not closed it: the {part.length} flushed bytes are read from a copy"
        if part.length
        else "its writer has not closed it, and has flushed no rows yet"
    )
    yield Skipped(each.file.relative, reason)
