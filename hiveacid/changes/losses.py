"""Where the history of a source since a state is no longer complete, and why. Pure.

A location's history is complete if every change since the state can still be told from its
directories: inserted rows by their write id, deleted rows by their delete events.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from hiveacid.acid.layout import BASE_OF_ORIGINALS, BaseDir, decode_bucket, parse_directory
from hiveacid.acid.selection import is_compacted
from hiveacid.acid.write_ids import WriteIdRanges, valid_only_in
from hiveacid.changes.decoding import changed_settings, decoding_settings, has_fingerprint
from hiveacid.changes.evidence import (
    base_directory,
    covers,
    emptied_by_compaction,
    has_seen,
    is_contradicted,
    meets,
)
from hiveacid.changes.state import LocationState, SourceState
from hiveacid.metastore.models import partition_name
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_footers import RowIdRange
from hiveacid.snapshots.tables import PinnedTable


class Extent(Enum):
    """What a loss makes unusable."""

    LOCATION = "location"
    """The changes of one location; its rows can be compared with the target's by row id."""

    TABLE = "table"
    """The changes of the whole source, or of a location whose rows cannot be compared."""

    ROW_IDS = "row ids"
    """Row ids that a target has stored; changes are complete for targets without them."""


@dataclass(frozen=True)
class Loss:
    """A part of the history that is gone.

    `location` is the partition's name, empty for the table's own location and for the whole table;
    `what` says what happened, with the directory and the write ids.
    """

    location: str
    what: str
    extent: Extent

    @property
    def reconcilable(self) -> bool:
        """Whether row ids in the target can make up for it."""
        return self.extent is Extent.LOCATION

    def __str__(self) -> str:
        where = f"partition {self.location}: " if self.location else ""
        return f"{where}{self.what}"


def table_losses(
    pinned: PinnedTable, since: SourceState, options: str, time_zone: str
) -> list[Loss]:
    """Reasons why nothing can be said about changes since the state.

    `options` and `time_zone` are those by which the source is read now.
    """
    table = pinned.table
    found = []
    if since.table_id is not None and table.id is not None and since.table_id != table.id:
        found.append(
            f"it is another table of the name (id {table.id} in the metastore, before "
            f"{since.table_id})"
        )
    elif since.create_time != table.create_time:
        found.append(
            f"it is another table of the name (createTime {table.create_time}, before "
            f"{since.create_time})"
        )
    elif since.is_full_acid != table.is_full_acid:
        kinds = ("insert-only", "full ACID")
        found.append(f"it was {kinds[since.is_full_acid]} and is {kinds[table.is_full_acid]} now")
    else:
        found += since.changed_columns(table.storage.columns)
        found += changed_settings(since.shown, decoding_settings(table, time_zone))
        gone = valid_only_in(since.write_ids, pinned.write_ids)
        if gone:
            found.append(
                f"write ids {gone} had been seen and are no longer valid: the metastore was "
                "restored from a backup, or does not know of them until the next write, as happens "
                "in Hive 4 when a later transaction took a lower write id and was aborted"
            )
    if since.options != options:
        found.append(
            f"it is read with other options ({options or 'none'}, before {since.options or 'none'})"
        )
    return [Loss("", what, Extent.TABLE) for what in found]


def dropped(pinned: PinnedTable, since: SourceState) -> list[Loss]:
    """The locations of the state that the table no longer has."""
    if not pinned.table.partition_keys:
        return []
    keys = [column.name for column in pinned.table.partition_keys]
    present = {partition.values for partition in pinned.partitions}
    extent = Extent.LOCATION if since.is_full_acid else Extent.TABLE
    return [
        Loss(partition_name(keys, old.values), f"it was dropped; it was at {old.path}", extent)
        for old in since.locations
        if old.values not in present and not old.is_empty
    ]


def is_renumbered(files: Sequence[tuple[int, RowIdRange]]) -> bool:
    """Whether the rows of a base may have been given new row ids by a REBALANCE compaction.

    That numbers all rows together from 0 on, in the order of the new buckets, and gives them
    statement 0 (`CompactionQueryBuilder.buildSelectClauseForRebalance`). Another compaction keeps
    the row ids, in which the number begins anew with each bucket and write. A base that holds only
    one write, without gaps, can be either; it is taken for renumbered, as is one whose files have
    no statistics.

    Args:
        files: for each file with rows how many there are, and their row ids.
    """
    if not all(ids.is_known for _, ids in files):
        return True
    next_row = 0
    for rows, ids in sorted(files, key=lambda file: file[1].row):
        bucket, last = decode_bucket(ids.bucket[0]), next_row + rows - 1
        if ids.bucket[0] != ids.bucket[1] or bucket.statement_id or ids.row != (next_row, last):
            return False
        next_row = last + 1
    return next_row > 0


def location_loss(
    pinned: PinnedTable,
    place: Location,
    since: SourceState,
    old: LocationState,
    name: str,
    new: WriteIdRanges,
    is_renumbered: bool,
    seen_at: Mapping[str, str],
) -> Loss | None:
    """Why the history of a location that the state knows is not complete, if so.

    `seen_at` are the names of compacted directories that the state has seen, and the paths of their
    locations.
    """
    if place.storage.location != old.path:
        what = f"it was moved from {old.path} to {place.storage.location}"
        return Loss(name, what, Extent.TABLE)
    if old.mark is not None and not has_fingerprint(pinned.table, place.storage, old.mark):
        what = (
            "its files are read in another way than when they were seen: by another SerDe, by "
            "other properties (SET SERDEPROPERTIES), or with other columns of the partition's own"
        )
        return Loss(name, what, Extent.TABLE)
    if old.witness is not None and is_contradicted(place.state, old.witness):
        what = (
            f"the files of {old.witness[0] or 'no ACID directory'} in it are not those that had "
            "been seen: another partition was given its name (RENAME PARTITION), or the files were "
            "replaced"
        )
        # Row ids are unique in a partition only, so those of two may be the same.
        return Loss(name, what, Extent.TABLE)
    # A compaction's transaction is in the name of its directory, and it is of one location.
    names = (directory.directory.name for directory in place.state.directories)
    foreign = next((n for n in names if seen_at.get(n, old.path) != old.path), None)
    if foreign is not None:
        what = (
            f"{foreign} in it had been seen in {seen_at[foreign]}: another partition was given its "
            "name (RENAME PARTITION)"
        )
        return Loss(name, what, Extent.TABLE)
    by_row_ids = Extent.LOCATION if since.is_full_acid and not is_renumbered else Extent.TABLE
    if pinned.table.partition_keys:
        create_time = pinned.partitions[place.partition].create_time
        if create_time != old.create_time:
            what = (
                f"it was dropped and created anew (createTime {create_time}, before "
                f"{old.create_time})"
            )
            # Rows that are older than it are those of another partition that was given its name.
            is_other = _may_have_seen(place, since)
            return Loss(name, what, Extent.TABLE if is_other else by_row_ids)
    reason = _lost_base(place, since, old, new)
    if reason is not None:
        return Loss(name, reason, by_row_ids)
    emptied = _emptied(place, since, old)
    if emptied:
        what = (
            f"the compaction that made {', '.join(emptied)} left nothing there, and Hive 4.0 finds "
            "nothing to compact where a path is not ASCII, nor in an insert-only table beside an "
            "aborted and an open write id: rows and delete events may have gone"
        )
        return Loss(name, what, by_row_ids)
    if old.last_write_id is not None and not covers(place.state, old.last_write_id):
        what = (
            f"what write id {old.last_write_id} wrote has gone, and no compaction took it in: it "
            "was truncated, or dropped and created anew, without a trace"
        )
        return Loss(name, what, by_row_ids)
    if not since.is_full_acid:
        for directory in place.state.deltas:
            low, high = directory.write_id_range
            if meets(directory, new) and has_seen(since.write_ids, low, high):
                what = (
                    f"{directory.directory.name} holds rows that had been seen together with those "
                    f"of write ids {new.within(low, high)}, and insert-only rows carry no write id"
                )
                return Loss(name, what, Extent.TABLE)
    return None


def _may_have_seen(place: Location, since: SourceState) -> bool:
    """Whether a location can hold rows of write ids that have been seen."""
    for directory in place.state.of_rows:
        low, high = directory.write_id_range
        base = directory.directory
        if isinstance(base, BaseDir) and not is_compacted(place.listing, base):
            low = high
        if has_seen(since.write_ids, low, high):
            return True
    return bool(place.state.originals)


def _emptied(place: Location, since: SourceState, old: LocationState) -> list[str]:
    """The compacted directories for which rows that the state has seen may have gone since."""
    base = parse_directory(old.base) if old.base is not None else None
    # What the state's base took in cannot go: the cleaner may be removing a directory below it.
    below = 0 if base is None else base.write_id_range[1]
    found = [
        d.directory.name
        for d in emptied_by_compaction(place)
        if d.directory.name not in old.emptied
        and d.write_id_range[1] > below
        and has_seen(since.write_ids, *d.write_id_range)
    ]
    # A major compaction may have removed the directory, too; or have come before the cleaner, and
    # have taken the rows in, which nothing tells.
    still = {d.directory.name for d in place.state.to_be_lost}
    found += [name for name in old.to_be_lost if name not in still and name not in found]
    return found


def _lost_base(
    place: Location, since: SourceState, old: LocationState, new: WriteIdRanges
) -> str | None:
    base = place.state.base
    if base is None:
        return None if old.base is None else f"its base {old.base} has gone"
    directory = base_directory(base)
    if directory.name == old.base:
        return None
    write_id = directory.write_id
    if directory.write_id == BASE_OF_ORIGINALS:
        return None
    if is_compacted(place.listing, directory):
        past = new.within(1, write_id)
        if not past:
            return None
        why = "it removed their delete events"
        if not since.is_full_acid:
            why = "its files do not tell which rows are theirs"
        return (
            f"the compaction that made {directory.name} took in write ids {past}, which had not "
            f"been seen: {why}"
        )
    if write_id in new:
        return f"write id {write_id} replaced all rows (overwrite or truncate): {directory.name}"
    return (
        f"its base was {old.base or 'none'} and is {directory.name}, though write id {write_id} "
        "is not new"
    )
