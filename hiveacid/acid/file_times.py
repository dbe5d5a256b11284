"""Times of write ids, from the modification times of their files. Pure.

A file is finished shortly before its write commits. A compaction merges the files of many write
ids, of which only an upper bound is known: they were written before the compaction's files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hiveacid.acid.layout import BaseDir, DeltaDir, Listing, is_side_file, try_parse_directory
from hiveacid.acid.selection import is_compacted
from hiveacid.acid.write_ids import ValidWriteIdList, WriteIdRanges


@dataclass(frozen=True)
class Merged:
    """Write ids `low` to `high` that share one directory.

    Attributes:
        time: when all of them existed, in milliseconds since the epoch. None if the directory has
            no file, or one that is being written.
        path: the directory.
        is_batch: whether they may have been committed one after the other until `time`, as in a
            directory of streaming ingest.
    """

    low: int
    high: int
    time: int | None
    path: str
    is_batch: bool = False

    def was_there(self, time: int) -> bool:
        """Whether all of the write ids existed at a time, in milliseconds since the epoch."""
        return self.time is not None and self.time <= time


@dataclass(frozen=True)
class FileTimes:
    """Times of some write ids.

    `known` has the times of the write ids with files of their own, in milliseconds since the epoch.
    `merged` has the other write ids, by the directory that they share.
    """

    known: Mapping[int, int]
    merged: tuple[Merged, ...]

    def at(self, time: int, write_ids: ValidWriteIdList) -> int | UnknownTime:
        """Return the highest write id whose files existed at a time; 0 before the first write.

        A directory whose write ids may lie on either side of the time makes the result unknown. The
        write ids of a compaction had ended before it began; nothing follows for higher write ids.
        """
        before = [write_id for write_id, when in self.known.items() if when <= time]
        before += [merged.high for merged in self.merged if merged.was_there(time)]
        found = max(before, default=0)
        own = WriteIdRanges.of_ids(self.known)
        for merged in self.merged:
            if merged.was_there(time):
                continue
            low, high = max(merged.low, 1), min(merged.high, write_ids.high_watermark)
            valid = WriteIdRanges.of([(low - 1, high)])
            unknown = valid.without(own).without(WriteIdRanges.of_ids(write_ids.invalid))
            if unknown.last is not None and (merged.is_batch or unknown.last > found):
                return UnknownTime(merged.path, unknown, merged.time)
        return found

    def later(self, time: int, write_id: int) -> frozenset[int]:
        """Return the write ids below `write_id` whose files were finished after `time`."""
        return frozenset(i for i, when in self.known.items() if i < write_id and when > time)


@dataclass(frozen=True)
class UnknownTime:
    """Write ids of a directory whose times are not known; all of them existed at `latest`."""

    directory: str
    write_ids: WriteIdRanges
    latest: int | None


def file_times(
    listings: Iterable[Listing], write_ids: ValidWriteIdList, *, names_compactions: bool = True
) -> FileTimes:
    """Return the times of valid write ids, from the files of some locations.

    Args:
        write_ids: the write ids of the snapshot.
        names_compactions: whether the names of compacted directories have a transaction, as since
            Hive 4. If not, a delta of one write id and without a statement id may be a compaction
            of the write's statements.
    """
    known: dict[int, int] = {}
    merged: list[Merged] = []
    for listing in listings:
        times, being_written = _times(listing), _being_written(listing)
        for name in listing.directories:
            directory = None if "/" in name else try_parse_directory(name)
            if directory is None:
                continue
            low, high = directory.write_id_range
            path = f"{listing.location}/{name}"
            of_files = times.get(name, [])
            if _is_of_one_write(listing, directory, names_compactions):
                if write_ids.is_valid(high) and of_files:
                    known[high] = max(*of_files, known.get(high, 0))
                elif write_ids.is_valid(high):
                    merged.append(Merged(high, high, None, path))
            else:
                # The first file of a compaction is younger than all that it has read. Another
                # writer of several transactions is done with its last file.
                earliest = min if directory.visibility_txn else max
                time = earliest(of_files) if of_files and name not in being_written else None
                is_batch = isinstance(directory, DeltaDir) and not directory.visibility_txn
                merged.append(Merged(low, high, time, path, is_batch))
    return FileTimes(known, tuple(merged))


def _is_of_one_write(
    listing: Listing, directory: BaseDir | DeltaDir, names_compactions: bool
) -> bool:
    if isinstance(directory, BaseDir):
        return not is_compacted(listing, directory)
    if directory.statement_id is None and not names_compactions:
        return False
    return not directory.visibility_txn and directory.min_write_id == directory.max_write_id


def _being_written(listing: Listing) -> set[str]:
    """Return the directories with files that a writer has not closed.

    HDFS reports the creation time of an open file, which is before its writes.
    """
    return {f.relative.partition("/")[0] for f in listing.files if is_side_file(f.name)}


def _times(listing: Listing) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for file in listing.files:
        if not is_side_file(file.name):
            top = file.relative.partition("/")[0]
            found.setdefault(top, []).append(file.modification_time)
    return found
