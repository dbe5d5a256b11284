"""Losses: where the history of a source since a state is not complete, and why. Pure.

A location's history is complete if its directories still show every change since the state:
inserted rows by their write id, deleted rows by their delete events.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from hiveacid.acid.layout import BASE_OF_ORIGINALS, BaseDir, decode_bucket, parse_directory
from hiveacid.acid.write_ids import WriteIdRanges, valid_only_in
from hiveacid.changes.current_source import CurrentLocation, CurrentSource
from hiveacid.changes.decoding import are_originals_shown, changed_settings
from hiveacid.changes.state import LocationState, SourceState
from hiveacid.changes.write_id_directories import (
    base_directory,
    covers,
    has_seen,
    is_contradicted,
    meets,
    merged_over,
)
from hiveacid.metastore.models import partition_name
from hiveacid.reader.orc_footers import RowIdRange


class Extent(Enum):
    """Extent of a loss: what it makes unusable."""

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
        """Whether comparing row ids with the target can replace the history."""
        return self.extent is Extent.LOCATION

    def __str__(self) -> str:
        where = f"partition {self.location}: " if self.location else ""
        return f"{where}{self.what}"


def table_losses(before: SourceState, now: SourceState) -> list[Loss]:
    """Return the losses that leave the changes of the whole source unknown."""
    found = []
    if before.table_id is not None and now.table_id is not None and before.table_id != now.table_id:
        found.append(
            f"it is another table of the same name (id {now.table_id} in the metastore, "
            f"before {before.table_id})"
        )
    elif before.create_time != now.create_time:
        found.append(
            f"it is another table of the same name (createTime {now.create_time}, before "
            f"{before.create_time})"
        )
    elif before.is_full_acid != now.is_full_acid:
        kinds = ("insert-only", "full ACID")
        found.append(f"it was {kinds[before.is_full_acid]} and is {kinds[now.is_full_acid]} now")
    else:
        found += before.changed_columns(now)
        found += changed_settings(before.decoding_settings, now.decoding_settings)
        gone = valid_only_in(before.write_ids, now.write_ids)
        if gone:
            found.append(
                f"write ids {gone} were read before and are no longer valid: the metastore "
                "was restored from a backup, or has forgotten them until the next write (in "
                "Hive 4, when a later transaction with a lower write id was aborted)"
            )
    if before.options != now.options:
        found.append(
            f"it is read with other options ({now.options or 'none'}, before "
            f"{before.options or 'none'})"
        )
    return [Loss("", what, Extent.TABLE) for what in found]


def dropped(before: SourceState, now: CurrentSource) -> list[Loss]:
    """Return a loss for each location of the state that the table no longer has."""
    if not now.partition_keys:
        return []
    extent = Extent.LOCATION if before.is_full_acid else Extent.TABLE
    return [
        Loss(
            partition_name(now.partition_keys, old.values),
            f"it was dropped; it was at {old.path}",
            extent,
        )
        for old in before.locations
        if old.values not in now.state.by_values and not old.is_empty
    ]


def is_renumbered(files: Sequence[tuple[int, RowIdRange]]) -> bool:
    """Whether the rows of a base may have been given new row ids by a REBALANCE compaction.

    A REBALANCE compaction numbers all rows together from 0 on, in the order of the new buckets, and
    gives them statement 0 (`CompactionQueryBuilder.buildSelectClauseForRebalance`). Other
    compactions keep the row ids, which begin again with each bucket and write. A base of a single
    write without gaps can come from either kind, and is treated as renumbered. So is a base whose
    files have no statistics.

    Args:
        files: for each file with rows, the number of rows and their row ids.
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


def row_id_loss(now: CurrentLocation) -> Loss | None:
    """Return the loss of the row ids that a target has stored, if the base may have new ones."""
    base = now.selected.base
    if not now.is_renumbered or base is None:
        return None
    what = (
        f"the compaction that made {base.directory.name} may have numbered the rows again "
        "(REBALANCE), so stored row ids are no longer valid"
    )
    return Loss(now.name, what, Extent.ROW_IDS)


def loss(before: SourceState, now: CurrentLocation, new_ids: WriteIdRanges) -> Loss | None:
    """Return why the history of a location in the state is incomplete; None if it is complete."""
    old = before.by_values[now.state.values]
    by_row_ids = Extent.LOCATION if before.is_full_acid and not now.is_renumbered else Extent.TABLE
    # Row ids are unique in a partition only, so row ids of two partitions may be the same.
    reason = _other_files(before, old, now)
    if reason is not None:
        return Loss(now.name, reason, Extent.TABLE)
    if now.state.create_time != old.create_time:
        what = (
            f"it was dropped and created again (createTime {now.state.create_time}, before "
            f"{old.create_time})"
        )
        # Rows that are older than the partition belong to another one that was given its name.
        is_other = _may_have_seen(before, now)
        return Loss(now.name, what, Extent.TABLE if is_other else by_row_ids)
    reason = _gone_rows(before, old, now, new_ids)
    if reason is not None:
        return Loss(now.name, reason, by_row_ids)
    reason = _mixed_rows(before, now, new_ids)
    return None if reason is None else Loss(now.name, reason, Extent.TABLE)


def _other_files(before: SourceState, old: LocationState, now: CurrentLocation) -> str | None:
    """Return why the files are not the ones that have been seen, or are decoded differently."""
    if now.state.path != old.path:
        return f"it was moved from {old.path} to {now.state.path}"
    decoding, files = old.decoding_fingerprint, old.files_fingerprint
    # Equal fingerprints are the usual case: no digest needs to be made again.
    if decoding == now.state.decoding_fingerprint:
        decoding = None
    if files == now.state.files_fingerprint:
        files = None
    if decoding is not None and not now.decoding.has_fingerprint(decoding):
        return (
            "its files are now read differently: with another SerDe, other properties (SET "
            "SERDEPROPERTIES) or other columns of the partition"
        )
    if files is not None and is_contradicted(now.selected, files):
        return (
            f"its files {_where(files[0])} are not the files that were read before: another "
            "partition was given its name (RENAME PARTITION), or the files were replaced"
        )
    if _has_other_originals(before, old, now):
        return (
            f"its files {_where('')} are not the files that were read before: somebody has added, "
            "removed or replaced files, and such files have no write id"
        )
    # A compaction's transaction is in the name of its directory, and belongs to one location.
    for directory in now.selected.directories:
        name = directory.directory.name
        seen_at = before.compacted_at.get(name, old.path)
        if seen_at != old.path:
            return (
                f"{name} in it was read before in {seen_at}: another partition was given its "
                "name (RENAME PARTITION)"
            )
    return None


def _has_other_originals(before: SourceState, old: LocationState, now: CurrentLocation) -> bool:
    """Whether original files are shown that are not the ones that have been seen.

    A base replaces original files, and Hive 3's TRUNCATE removes all of them. Another partition of
    the same name has another creation time.
    """
    if now.state.create_time != old.create_time:
        return False
    seen, shown = old.originals, now.state.originals
    if seen is None and not are_originals_shown(before.decoding_settings):
        return False
    return bool(shown) and shown != seen


def _gone_rows(
    before: SourceState, old: LocationState, now: CurrentLocation, new_ids: WriteIdRanges
) -> str | None:
    """Return why rows or delete events may be gone without a delete event for them."""
    reason = _lost_base(before, old, now, new_ids)
    if reason is not None:
        return reason
    emptied = _emptied(before, old, now)
    if not_compacted := [name for name in emptied if not _is_compaction(name)]:
        return (
            f"{', '.join(not_compacted)} has no file that Hive 4 sees, and Hive's cleaner goes by "
            "its name: rows and delete events may have gone"
        )
    if emptied:
        return (
            f"the compaction that made {', '.join(emptied)} left it empty. Hive 4.0 finds "
            "nothing to compact where a path is not ASCII, or in an insert-only table next to "
            "an aborted and an open write id: rows and delete events may be lost"
        )
    reason = _left_out(old, now)
    if reason is not None:
        return reason
    for write_id in (old.last_write_id, 0 if old.originals else None):
        if write_id is not None and not covers(now.selected, write_id):
            return (
                f"the rows of write id {write_id} are gone, and no compaction includes them: the "
                "table or partition was truncated, or dropped and created again, without a trace"
            )
    return None


def _left_out(old: LocationState, now: CurrentLocation) -> str | None:
    """Return which rows a merging compaction has left out; None if it can have left out none."""
    if not now.is_merged:
        return None
    seen = {*old.unmergeable, *([0] if old.originals else [])}
    still = {*now.state.unmergeable, *([0] if now.selected.originals else [])}
    left_out = {id_: name for id_ in seen - still if (name := merged_over(now.selected, id_))}
    if not left_out:
        return None
    return (
        f"the compaction that made {', '.join(sorted(set(left_out.values())))} merged files "
        "(hive.compaction.merge.enabled) and left out files that Hive's own writers did not "
        f"name: rows of write ids {WriteIdRanges.of_ids(left_out)} are lost"
    )


def _mixed_rows(before: SourceState, now: CurrentLocation, new_ids: WriteIdRanges) -> str | None:
    """Return which directory of an insert-only table holds both seen and new rows."""
    if before.is_full_acid:
        return None
    for directory in now.selected.deltas:
        low, high = directory.write_id_range
        if meets(directory, new_ids) and has_seen(before.write_ids, low, high):
            return (
                f"{directory.directory.name} mixes rows that were read before with rows of "
                f"write ids {new_ids.within(low, high)}, and insert-only rows have no write id"
            )
    return None


def _may_have_seen(before: SourceState, now: CurrentLocation) -> bool:
    """Whether a location can hold rows of write ids that have been seen."""
    for directory in now.selected.of_rows:
        low, high = directory.write_id_range
        if isinstance(directory.directory, BaseDir) and not now.is_base_compacted:
            low = high
        if has_seen(before.write_ids, low, high):
            return True
    return bool(now.selected.originals)


def _emptied(before: SourceState, old: LocationState, now: CurrentLocation) -> list[str]:
    """Return the compacted directories for which seen rows may have gone since."""
    # What the state's base merged cannot be lost: the cleaner may be removing a directory below it.
    below = 0 if old.base is None else _write_id_range(old.base)[1]
    found = []
    for name in now.state.emptied:
        low, high = _write_id_range(name)
        if name not in old.emptied and high > below and has_seen(before.write_ids, low, high):
            found.append(name)
    # A major compaction may have removed the directory, too; or it may have come before the
    # cleaner and have merged the rows. Nothing distinguishes the two.
    still = {d.directory.name for d in now.selected.above_rows}
    found += [name for name in old.rows_hive_will_drop if name not in still and name not in found]
    return found


def _is_compaction(name: str) -> bool:
    directory = parse_directory(name)
    return directory is not None and bool(directory.visibility_txn)


def _write_id_range(name: str) -> tuple[int, int]:
    directory = parse_directory(name)
    return (0, 0) if directory is None else directory.write_id_range


def _lost_base(
    before: SourceState, old: LocationState, now: CurrentLocation, new_ids: WriteIdRanges
) -> str | None:
    """Return why the base of a location does not keep the history; None if it does."""
    base = now.selected.base
    if base is None:
        return None if old.base is None else f"its base {old.base} is gone"
    directory = base_directory(base)
    write_id = directory.write_id
    if directory.name == old.base or write_id == BASE_OF_ORIGINALS:
        return None
    if now.is_base_compacted:
        past = new_ids.within(1, write_id)
        if not past:
            return None
        why = "it removed their delete events"
        if not before.is_full_acid:
            why = "its files do not show which rows belong to them"
        return (
            f"the compaction that made {directory.name} includes write ids {past}, which had "
            f"not been read: {why}"
        )
    if write_id in new_ids:
        return f"write id {write_id} replaced all rows (overwrite or truncate): {directory.name}"
    return (
        f"its base was {old.base or 'none'} and is {directory.name}, though write id {write_id} "
        "is not new"
    )


def _where(directory: str) -> str:
    """Return where files are, for a message; `OF_ORIGINALS` is not a directory's name."""
    return f"in {directory}" if directory else "outside of ACID directories"
