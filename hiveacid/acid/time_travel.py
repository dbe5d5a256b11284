"""Time travel: the earlier instants of a location that its directories still show. Pure.

An instant is a write id. It includes every write id up to it that is valid in the snapshot. As of a
time it leaves out the write ids that were still open then (`later`: they were committed later). The
cleaner removes a directory once another one replaces it. So the directories that cover several
write ids decide which instants are lost:

- A base above an instant replaces everything below it.
- A compacted delta of an insert-only table holds rows that carry no write id. In a full-ACID table
  each row and each delete event has its write id, and the rows of later write ids are hidden.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from hiveacid.acid.layout import (
    BASE_OF_ORIGINALS,
    BaseDir,
    DeltaDir,
    Listing,
    is_side_file,
    try_parse_directory,
)
from hiveacid.acid.selection import AcidState, is_compacted
from hiveacid.acid.write_ids import RangeResponse, ValidTxnList, ValidWriteIdList, WriteIdRanges


@dataclass(frozen=True)
class Obstacle:
    """Instants that can no longer be read: write ids from `low` on, below `high`.

    `directory` is the path of the directory that replaced them, and `why` says how.
    """

    directory: str
    low: int
    high: int
    why: str

    def hides(self, write_id: int) -> bool:
        """Whether the instant of a write id is lost."""
        return self.low <= write_id < self.high


@dataclass(frozen=True)
class Cleaning:
    """Facts about Hive's cleaner in one location.

    `untouched` are the transactions of the compactions whose cleaning has not begun: every
    directory that they merged still exists. `may_be_partial` says that the cleaner may have removed
    only some of the directories that it removes together.
    """

    untouched: frozenset[int] = frozenset()
    may_be_partial: bool = False


def cut(
    write_ids: ValidWriteIdList, write_id: int, later: frozenset[int] = frozenset()
) -> ValidWriteIdList:
    """Return the write id list of a reader that sees nothing above `write_id`.

    Open and aborted write ids stay invalid. The write ids in `later` become open.
    """
    return replace(
        write_ids,
        high_watermark=min(write_id, write_ids.high_watermark),
        open=frozenset(i for i in write_ids.open | later if i <= write_id),
        aborted=frozenset(i for i in write_ids.aborted if i <= write_id),
    )


def obstacles(
    listing: Listing,
    write_ids: ValidWriteIdList,
    valid_txns: ValidTxnList,
    cleaning: Cleaning,
    *,
    is_full_acid: bool,
    path: str = "",
    create_time: int = 0,
    first: int = 1,
) -> list[Obstacle]:
    """Return what keeps earlier instants of a location from being read.

    Args:
        write_ids: the write ids of the whole snapshot.
        path: the location's path in the metastore. Hive 4.0 compacts nothing where a path is not
            ASCII, so an empty directory may stand for rows there.
        create_time: when the partition was created, in seconds; 0 if it is unknown.
        first: the first write id that the table can have allocated. If it is 1, the table was empty
            before; a converted table had its original files.
    """
    found = []
    lowest = 1 if first == 1 else 0
    for directory in _visible(listing, write_ids, valid_txns):
        where = f"{listing.location}/{directory.name}"
        if directory.visibility_txn in cleaning.untouched and directory.visibility_txn:
            continue
        if isinstance(directory, DeltaDir):
            low, high = directory.write_id_range
            if low < high and (not is_full_acid or _may_lack_rows(listing, directory, path)):
                why = f"holds the rows of write ids {low} to {high} together"
                found.append(Obstacle(where, low, high, why))
        elif directory.write_id == BASE_OF_ORIGINALS:
            continue
        elif is_compacted(listing, directory):
            why = "is a compaction that took in everything before, and the cleaner may have run"
            found.append(Obstacle(where, lowest, directory.write_id, why))
        elif cleaning.may_be_partial or not (
            _has_older(listing, directory, write_ids, valid_txns)
            or _came_first(listing, directory, create_time)
        ):
            why = "replaced everything before (overwrite or truncate), and nothing older is left"
            found.append(Obstacle(where, lowest, directory.write_id, why))
    return found


def instants_needed(write_id: int, later: Collection[int]) -> list[int]:
    """Return the instants at which a read must have no obstacle, ascending.

    A directory that merged a later write id with its neighbours cannot be read without it.
    """
    return sorted({write_id, *later, *(i - 1 for i in later)})


def listing_at(
    listing: Listing,
    write_id: int,
    valid_txns: ValidTxnList,
    *,
    is_full_acid: bool,
    path: str = "",
    later: Collection[int] = (),
) -> Listing:
    """Return a listing without the directories that cover an instant together with later ones.

    The listing must have no obstacle at `instants_needed`: what the directories merged still
    exists. Compactions that the snapshot does not see stay in the listing: no reader selects them,
    and they may be uncommitted (`AcidState.uncommitted_compactions`).
    """

    committed_later = WriteIdRanges.of_ids(later)

    def is_later(directory: BaseDir | DeltaDir) -> bool:
        low, high = directory.write_id_range
        has_later = committed_later.intersects(low, high)
        if isinstance(directory, BaseDir):
            return high > write_id or (has_later and is_compacted(listing, directory))
        spans = low <= write_id < high or (has_later and low < high)
        return spans and (not is_full_acid or _may_lack_rows(listing, directory, path))

    return _without(listing, valid_txns, is_later)


def listing_since(
    listing: Listing,
    write_id: int,
    valid_txns: ValidTxnList,
    *,
    is_full_acid: bool,
    renumbering: Collection[int] = (),
) -> Listing:
    """Return a listing whose directories show the changes since a write id.

    The listing must have no obstacle at this instant: what compactions have merged since still
    exists. Compactions that the snapshot does not see stay in the listing, as in `listing_at`.

    Args:
        renumbering: the transactions of compactions that gave rows new row ids. Later delete events
            name the new row ids, so the base must be read.
    """

    def hides_changes(directory: BaseDir | DeltaDir) -> bool:
        if isinstance(directory, BaseDir):
            is_later = directory.write_id > write_id and is_compacted(listing, directory)
            return is_later and directory.visibility_txn not in renumbering
        spans = directory.min_write_id <= write_id < directory.max_write_id
        return spans and not is_full_acid

    return _without(listing, valid_txns, hides_changes)


def traceless(
    write_ids: ValidWriteIdList, listings: Iterable[Listing], *, by_name: bool, first: int = 1
) -> WriteIdRanges:
    """Return the valid write ids that no directory covers.

    A write id without a directory wrote nothing, or removed files, as DROP PARTITION does; or its
    files were removed.

    Args:
        by_name: whether a compacted directory covers none of its write ids, because its range may
            include a write id that left nothing behind.
        first: the first write id that the table can have allocated.
    """
    covered = []
    for listing in listings:
        for directory in _parsed(listing):
            low, high = directory.write_id_range
            if by_name and isinstance(directory, BaseDir) and not is_compacted(listing, directory):
                low = high
            if not (by_name and (directory.visibility_txn or low < high)):
                covered.append((low - 1, high))
    valid = WriteIdRanges.of([(first - 1, write_ids.high_watermark)])
    invalid = WriteIdRanges.of_ids(write_ids.invalid)
    return valid.without(invalid).without(WriteIdRanges.of(covered))


def has_something_at(listing: Listing, write_id: int) -> bool:
    """Whether a directory or an original file may be from a write id, or from one below."""
    lowest = (
        directory.write_id if isinstance(directory, BaseDir) else directory.min_write_id
        for directory in _parsed(listing)
    )
    return _has_originals(listing) or any(low <= write_id for low in lowest)


def compacted_part(state: AcidState) -> AcidState:
    """Return the base of a location and the compacted deltas next to it: the read-optimized part.

    Original files take the place of a base. Compacted deltas are included up to the first delta of
    a single write, so that the part is the location at one write id.
    """
    single = [d.write_id_range[0] for d in state.all_deltas if not _is_compacted_delta(d.directory)]
    end = min(single, default=None)

    def is_in(directory: BaseDir | DeltaDir) -> bool:
        return _is_compacted_delta(directory) and (end is None or directory.write_id_range[1] < end)

    return replace(
        state,
        deltas=tuple(d for d in state.deltas if is_in(d.directory)),
        delete_deltas=tuple(d for d in state.delete_deltas if is_in(d.directory)),
    )


def write_ids_left_out(whole: AcidState, part: AcidState) -> WriteIdRanges:
    """Return the write ids of the directories that a part of a location leaves out."""
    kept = {d.directory.name for d in part.all_deltas}
    left = (d.write_id_range for d in whole.all_deltas if d.directory.name not in kept)
    return WriteIdRanges.of((low - 1, high) for low, high in left)


def _is_compacted_delta(directory: BaseDir | DeltaDir) -> bool:
    # Before Hive 4 the name of a compacted delta has no transaction.
    return isinstance(directory, DeltaDir) and (
        bool(directory.visibility_txn) or directory.min_write_id < directory.max_write_id
    )


def _parsed(listing: Listing) -> list[BaseDir | DeltaDir]:
    names = (name for name in listing.directories if "/" not in name)
    return [found for found in map(try_parse_directory, names) if found is not None]


def _visible(
    listing: Listing, write_ids: ValidWriteIdList, valid_txns: ValidTxnList
) -> list[BaseDir | DeltaDir]:
    """Return the directories because of which the cleaner may have removed others.

    The snapshot's transaction keeps the cleaner from acting on what was committed afterwards.
    """

    def is_visible(directory: BaseDir | DeltaDir) -> bool:
        if directory.visibility_txn:
            return valid_txns.is_valid(directory.visibility_txn)
        if isinstance(directory, DeltaDir):
            return write_ids.is_range_valid(*directory.write_id_range) is not RangeResponse.NONE
        return is_compacted(listing, directory) or write_ids.is_valid(directory.write_id)

    return [directory for directory in _parsed(listing) if is_visible(directory)]


def _is_compaction_seen(directory: BaseDir | DeltaDir, valid_txns: ValidTxnList) -> bool:
    """Whether a reader sees the compaction that made a directory, or no compaction made it."""
    return not directory.visibility_txn or valid_txns.is_valid(directory.visibility_txn)


def _has_older(
    listing: Listing, base: BaseDir, write_ids: ValidWriteIdList, valid_txns: ValidTxnList
) -> bool:
    """Whether something exists that the cleaner would have removed for an overwrite's base.

    The cleaner removes everything below a base together.
    """
    if _has_originals(listing):
        return True
    return any(
        directory.name != base.name and directory.write_id_range[1] <= base.write_id
        for directory in _visible(listing, write_ids, valid_txns)
    )


def _came_first(listing: Listing, base: BaseDir, create_time: int) -> bool:
    """Whether the files of a base were finished before the partition was created."""
    times = [
        file.modification_time
        for file in listing.files
        if file.relative.startswith(f"{base.name}/")
    ]
    return bool(create_time and times) and max(times) // 1000 <= create_time


def _has_originals(listing: Listing) -> bool:
    acid = {directory.name for directory in _parsed(listing)}
    return any(
        file.length and file.relative.partition("/")[0] not in acid and not is_side_file(file.name)
        for file in listing.files
    )


def _may_lack_rows(listing: Listing, directory: DeltaDir, path: str) -> bool:
    """Whether a compaction may have failed to merge what its directory's name covers."""
    if directory.name in listing.without_files:
        return True
    inside = f"{directory.name}/"
    has_data = any(f.length and f.relative.startswith(inside) for f in listing.files)
    return bool(directory.visibility_txn) and not path.isascii() and not has_data


def _without(
    listing: Listing, valid_txns: ValidTxnList, is_left_out: Callable[[BaseDir | DeltaDir], bool]
) -> Listing:
    names = {
        directory.name
        for directory in _parsed(listing)
        if _is_compaction_seen(directory, valid_txns) and is_left_out(directory)
    }
    if not names:
        return listing
    return replace(
        listing,
        files=tuple(f for f in listing.files if f.relative.partition("/")[0] not in names),
        directories=tuple(d for d in listing.directories if d.partition("/")[0] not in names),
        data_formats={k: v for k, v in listing.data_formats.items() if k not in names},
        without_files=_others(listing.without_files, names),
    )


def _others(names: Collection[str], left_out: Collection[str]) -> frozenset[str]:
    return frozenset(name for name in names if name not in left_out)
