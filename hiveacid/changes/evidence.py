"""What write ids have left in the directories of a location. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from hiveacid.acid.layout import BaseDir, ListedFile
from hiveacid.acid.selection import AcidState, SelectedDir
from hiveacid.acid.write_ids import RangeResponse, ValidWriteIdList, WriteIdRanges
from hiveacid.reader.locations import Location


def grown_part(state: AcidState, new: WriteIdRanges) -> AcidState:
    """What of a location can hold rows and delete events of new write ids.

    No base can: one with new write ids is a loss.
    """
    return AcidState(
        base=None,
        deltas=tuple(d for d in state.deltas if meets(d, new)),
        delete_deltas=tuple(d for d in state.delete_deltas if meets(d, new)),
        originals=(),
        skipped=(),
    )


def seen_part(state: AcidState, seen: WriteIdRanges) -> AcidState:
    """What of a location can hold rows of write ids that have been seen, less what was deleted."""
    base = state.base if state.base is not None and meets(state.base, seen) else None
    deltas = tuple(d for d in state.deltas if meets(d, seen))
    return replace(state, base=base, deltas=deltas, originals=())


def has_grown(state: AcidState, new: WriteIdRanges) -> bool:
    """Whether a location can hold rows or delete events of new write ids."""
    return any(meets(directory, new) for directory in state.all_deltas)


def has_seen(write_ids: ValidWriteIdList, low: int, high: int) -> bool:
    """Whether a state with these write ids has seen any of `low` to `high`."""
    return write_ids.is_range_valid(low, high) is not RangeResponse.NONE


def base_directory(base: SelectedDir) -> BaseDir:
    """The name of a base, parsed."""
    assert isinstance(base.directory, BaseDir)
    return base.directory


def emptied_by_compaction(place: Location) -> tuple[SelectedDir, ...]:
    """The directories in which a compaction of Hive may have lost what it was to take in.

    Hive 4.0.1's `CompactorInputSplit` writes the paths as bytes, one for a character. If one is not
    ASCII the compactor finds none of the files, and makes a directory without data files: rows and
    delete events are gone. Its `CompactionQueryBuilder` leaves a directory without any file, of
    which the rows are gone once the cleaner has removed what the name covers. Either may also have
    been made of nothing.
    """
    state = place.state
    cleaned = tuple(d for d in state.left_empty if d not in state.to_be_lost)
    if place.storage.location.isascii():
        return cleaned
    unread = (d for d in state.of_rows if d.directory.visibility_txn and not d.files)
    return (*cleaned, *unread)


def meets(directory: SelectedDir, new: WriteIdRanges) -> bool:
    """Whether a directory can hold something of new write ids."""
    return new.intersects(*directory.write_id_range)


def last_write_id(state: AcidState) -> int | None:
    """See `LocationState.last_write_id`."""
    last = max((d.write_id_range[1] for d in state.all_deltas if d.files), default=None)
    return 0 if last is None and state.originals else last


def directory_fingerprint(state: AcidState) -> tuple[str, str] | None:
    """The newest directory that nobody writes into any more, and a digest of its files.

    Original files have no directory, and an empty name. None if there is nothing of that kind.
    """
    closed = [directory for directory in state.directories if _is_closed(directory)]
    newest = max(closed, key=lambda d: (d.write_id_range[1], d.directory.name), default=None)
    if newest is not None:
        return newest.directory.name, _digest(newest.files)
    return ("", _digest(state.originals)) if state.originals else None


def is_contradicted(state: AcidState, directory_fingerprint: tuple[str, str]) -> bool:
    """Whether the directory of a witness is there, with other files."""
    name, digest = directory_fingerprint
    found = {d.directory.name: d.files for d in state.directories}
    if state.originals:
        found[""] = state.originals
    return name in found and _digest(found[name]) != digest


def _is_closed(directory: SelectedDir) -> bool:
    # Streaming ingest writes on below a name that has no statement.
    name = directory.directory
    return isinstance(name, BaseDir) or bool(name.visibility_txn) or name.statement_id is not None


def _digest(files: Iterable[ListedFile]) -> str:
    known = sorted((file.relative, file.length, file.modification_time) for file in files)
    return sha256(repr(known).encode()).hexdigest()[:8]


def covers(state: AcidState, write_id: int) -> bool:
    """Whether what a write id wrote is still there, as written or compacted.

    A base takes in all that is below it; original files are write id 0.
    """
    if state.base is not None and (write_id == 0 or write_id <= state.base.write_id_range[1]):
        return True
    if write_id == 0:
        return bool(state.originals)
    ranges = (directory.write_id_range for directory in state.all_deltas)
    return any(low <= write_id <= high for low, high in ranges)
