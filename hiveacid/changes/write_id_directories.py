"""Directories of write ids in a location: which hold new ones, and which hold seen ones. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256

from hiveacid.acid.layout import BaseDir, ListedFile, is_mergeable
from hiveacid.acid.selection import AcidState, SelectedDir
from hiveacid.acid.write_ids import RangeResponse, ValidWriteIdList, WriteIdRanges

OF_ORIGINALS = ""
"""The name that stands for the original files, which have no directory (`files_fingerprint`)."""


def grown_part(state: AcidState, new: WriteIdRanges) -> AcidState:
    """Return the directories of a location that can hold rows or delete events of new write ids.

    A base cannot: a base with new write ids is a loss.
    """
    return AcidState(
        base=None,
        deltas=tuple(d for d in state.deltas if meets(d, new)),
        delete_deltas=tuple(d for d in state.delete_deltas if meets(d, new)),
        originals=(),
        skipped=(),
    )


def seen_part(state: AcidState, seen: WriteIdRanges) -> AcidState:
    """Return the directories that can hold rows of seen write ids, and all delete deltas."""
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
    """Return the parsed name of a base."""
    assert isinstance(base.directory, BaseDir)
    return base.directory


def emptied_by_compaction(state: AcidState, path: str) -> tuple[SelectedDir, ...]:
    """Return the directories in which Hive's compaction may have lost rows or delete events.

    Hive 4.0.1's `CompactorInputSplit` writes one byte for each character of a path. If a path is
    not ASCII, the compactor finds none of the files and makes a directory without data files: rows
    and delete events are gone. Its `CompactionQueryBuilder` can leave a directory without any file;
    the rows are gone once the cleaner has removed what the directory's name covers. So are rows
    below an empty base of another engine. All of these directories can also come from a writer that
    had nothing to merge or to replace.

    Args:
        state: the location's snapshot.
        path: the location's path in the metastore.
    """
    cleaned = tuple(d for d in state.empty_directories if d not in state.above_rows)
    if path.isascii():
        return cleaned
    unread = (d for d in state.of_rows if d.directory.visibility_txn and not d.files)
    return (*cleaned, *unread)


def meets(directory: SelectedDir, new: WriteIdRanges) -> bool:
    """Whether a directory can hold rows or delete events of new write ids."""
    return new.intersects(*directory.write_id_range)


def last_write_id(state: AcidState) -> int | None:
    """Return the highest write id of a delta with files.

    0 if there are original files only; None without any file outside of the base.
    """
    last = max((d.write_id_range[1] for d in state.all_deltas if d.files), default=None)
    return 0 if last is None and state.originals else last


def unmergeable_write_ids(state: AcidState, *, is_full_acid: bool) -> tuple[int, ...]:
    """Return the write ids of directories with a file that a merging compaction leaves out.

    Its rows are lost then. Original files are left out, too, but have no directory.
    """
    return tuple(
        sorted(
            {
                directory.write_id_range[1]
                for directory in state.of_rows
                if not all(
                    is_mergeable(f.relative, is_full_acid=is_full_acid) for f in directory.files
                )
            }
        )
    )


def merged_over(state: AcidState, write_id: int) -> str | None:
    """Return the name of the compacted directory that covers a write id; None without one."""
    for directory in state.of_rows:
        low, high = directory.write_id_range
        if directory.directory.visibility_txn and low <= write_id <= high:
            return directory.directory.name
    return None


def files_fingerprint(state: AcidState) -> tuple[str, str] | None:
    """Return the name of the newest closed directory, and a digest of its files.

    A directory is closed if nobody writes into it any more. Without one, `OF_ORIGINALS` is the name
    for the original files, which have no directory. None if there are no original files either.
    """
    closed = [directory for directory in state.directories if _is_closed(directory)]
    newest = max(closed, key=lambda d: (d.write_id_range[1], d.directory.name), default=None)
    if newest is not None:
        return newest.directory.name, _digest(newest.files)
    return (OF_ORIGINALS, _digest(state.originals)) if state.originals else None


def originals_digest(state: AcidState) -> str | None:
    """Return a digest of the original files; None without any.

    Original files have no write id, so only the digest shows that a file was added.
    """
    return _digest(state.originals) if state.originals else None


def is_contradicted(state: AcidState, fingerprint: tuple[str, str]) -> bool:
    """Whether the directory of a `files_fingerprint` is there, with other files."""
    name, digest = fingerprint
    found = {d.directory.name: d.files for d in state.directories}
    if state.originals:
        found[OF_ORIGINALS] = state.originals
    return name in found and _digest(found[name]) != digest


def _is_closed(directory: SelectedDir) -> bool:
    # Streaming ingest keeps writing into a directory, whose name has no statement id.
    name = directory.directory
    return isinstance(name, BaseDir) or bool(name.visibility_txn) or name.statement_id is not None


def _digest(files: Iterable[ListedFile]) -> str:
    known = sorted((file.relative, file.length, file.modification_time) for file in files)
    return sha256(repr(known).encode()).hexdigest()[:8]


def covers(state: AcidState, write_id: int) -> bool:
    """Whether what a write id wrote is still there, as written or compacted.

    A base covers all lower write ids; original files are write id 0.
    """
    if state.base is not None and (write_id == 0 or write_id <= state.base.write_id_range[1]):
        return True
    if write_id == 0:
        return bool(state.originals)
    ranges = (directory.write_id_range for directory in state.all_deltas)
    return any(low <= write_id <= high for low, high in ranges)
