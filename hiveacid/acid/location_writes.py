"""Writes to a location that a listing shows, with the times of their files.

A write leaves directories of its own. Its files are finished shortly before the commit. A
compaction merges the directories of many writes into a directory of its own. Once the cleaner has
removed the merged directories, only an upper bound is known: the writes are older than the
compaction's files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from hiveacid.acid.layout import (
    BASE_OF_ORIGINALS,
    BaseDir,
    DeltaDir,
    ListedFile,
    Listing,
    is_side_file,
    parse_directory,
)
from hiveacid.acid.selection import AcidState, is_compacted, select
from hiveacid.acid.write_ids import RangeResponse, ValidTxnList, ValidWriteIdList
from hiveacid.errors import UnreadableTableError

ORIGINALS = 0
"""The write id that stands for files from before the table's first write id."""


@dataclass(frozen=True)
class Write:
    """The files of one write in one location. None is of length 0, but they may hold no rows."""

    write_id: int
    files: tuple[ListedFile, ...]

    @property
    def time(self) -> int:
        """The time when the write's last file was finished, in milliseconds since the epoch."""
        return max(file.modification_time for file in self.files)


@dataclass(frozen=True)
class Compacted:
    """Writes up to `write_id` in directories that hold several writes.

    All of them existed at `time`, in milliseconds since the epoch.
    """

    write_id: int
    time: int


@dataclass(frozen=True)
class LocationWrites:
    """Committed writes of a location that nothing has overwritten since.

    `known` are the writes with files of their own. `compacted` are the other writes that a reader
    still reads.
    """

    known: tuple[Write, ...]
    compacted: tuple[Compacted, ...]


def location_writes(
    listing: Listing, write_ids: ValidWriteIdList, valid_txns: ValidTxnList
) -> LocationWrites:
    """Return the writes that a listing shows.

    Raises:
        UnreadableTableError: as `selection.select` does; or a file is being written.
    """
    state = select(listing, write_ids, valid_txns)
    _check_closed(state)
    files = dict(_files(listing))
    names = [name for name in _top(listing) if name not in listing.without_files]
    directories = [d for d in map(parse_directory, names) if d is not None]
    overwrites = [
        d.write_id
        for d in directories
        if isinstance(d, BaseDir)
        and not is_compacted(listing, d)
        and d.write_id != BASE_OF_ORIGINALS
        and write_ids.is_valid(d.write_id)
    ]
    overwritten = max(overwrites, default=None)

    known: list[Write] = []
    if overwritten is None and files.get(""):
        known.append(Write(ORIGINALS, tuple(files[""])))
    merged: list[tuple[BaseDir | DeltaDir, Sequence[ListedFile]]] = []
    for directory in directories:
        found = files.get(directory.name)
        if not found or not _is_visible(listing, directory, write_ids, valid_txns):
            continue
        if overwritten is not None and _highest(directory) < overwritten:
            continue
        if _is_of_one_write(listing, directory):
            known.append(Write(_highest(directory), tuple(found)))
        else:
            merged.append((directory, found))

    read = {selected.directory.name for selected in state.directories}
    highest = {_highest(d) for d, _ in merged if d.name in read}
    return LocationWrites(
        tuple(known),
        tuple(Compacted(write_id, _not_after(write_id, merged)) for write_id in sorted(highest)),
    )


def _check_closed(state: AcidState) -> None:
    """Refuse files that are being written: HDFS reports their creation time, and no length."""
    for each in state.open_files:
        raise UnreadableTableError(
            f"{each.file.path} is still being written, so its modification time is not that "
            "of its last write: HDFS keeps the creation time until the file is closed. Give "
            "the source a loaded_at_field or a loaded_at_query, or wait until the writer has "
            "closed the file.",
            code="HIVEACID_FILE_BEING_WRITTEN_HAS_NO_TIME",
        )


def compactions(listing: Listing) -> Iterator[int]:
    """Yield the transaction ids of the compactions that have a directory in the listing."""
    for directory in map(parse_directory, _top(listing)):
        if directory is not None and directory.visibility_txn:
            yield directory.visibility_txn


def _top(listing: Listing) -> list[str]:
    return [relative for relative in listing.directories if "/" not in relative]


def _files(listing: Listing) -> Iterator[tuple[str, list[ListedFile]]]:
    """Yield the files with a length of each ACID directory, and under "" the original files."""
    acid = {name for name in _top(listing) if parse_directory(name) is not None}
    found: dict[str, list[ListedFile]] = {}
    for file in listing.files:
        if file.length and not is_side_file(file.name):
            top = file.relative.partition("/")[0]
            found.setdefault(top if top in acid else "", []).append(file)
    yield from found.items()


def _is_visible(
    listing: Listing,
    directory: BaseDir | DeltaDir,
    write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList,
) -> bool:
    if directory.visibility_txn and not valid_txns.is_valid(directory.visibility_txn):
        return False
    if isinstance(directory, DeltaDir):
        low, high = directory.min_write_id, directory.max_write_id
        return write_ids.is_range_valid(low, high) is not RangeResponse.NONE
    if is_compacted(listing, directory):
        return write_ids.is_valid_base(_highest(directory))
    return write_ids.is_valid(_highest(directory))


def _is_of_one_write(listing: Listing, directory: BaseDir | DeltaDir) -> bool:
    """Whether one write has written the files, and no compaction."""
    if isinstance(directory, BaseDir):
        return not is_compacted(listing, directory) and directory.write_id != BASE_OF_ORIGINALS
    return not directory.visibility_txn and directory.min_write_id == directory.max_write_id


def _highest(directory: BaseDir | DeltaDir) -> int:
    if isinstance(directory, DeltaDir):
        return directory.max_write_id
    return max(directory.write_id, ORIGINALS)


def _not_after(
    write_id: int, merged: Iterable[tuple[BaseDir | DeltaDir, Sequence[ListedFile]]]
) -> int:
    """Return the earliest time at which all writes up to `write_id` are known to have existed.

    Compactions that have been compacted again count while their directories exist. The first file
    of a compaction is younger than everything that it has read. A directory of several transactions
    of one writer has no compaction's transaction in its name; the writer ends with its last file.
    """
    same = [(d, files) for d, files in merged if _highest(d) == write_id]
    compacted = [file.modification_time for d, files in same if d.visibility_txn for file in files]
    others = [file.modification_time for d, files in same if not d.visibility_txn for file in files]
    return min([*compacted, *([max(others)] if others else [])])
