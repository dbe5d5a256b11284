"""From the snapshots of an insert-only table's locations to the files of a read. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbt.adapters.hiveacid.acid.directories import BaseDir
from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.acid.selection import SelectedDir, Skipped, is_compacted
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader.locations import (
    Location,
    check_depth,
    missing,
    paths_to_be_lost,
    refusal,
    skipped_entries,
)
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooter
from dbt.adapters.hiveacid.reader.plan import DataFile, ReadPlan, converted_columns
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable


def plan_insert_only(
    pinned: PinnedTable,
    places: Sequence[Location],
    footers: Mapping[ListedFile, OrcFooter],
) -> ReadPlan:
    """Plan the read of an insert-only table. `footers` may lack files that are not ORC.

    Raises:
        UnreadableTableError: a delete delta in an insert-only table, or a directory that mixes
            write ids to be seen with others, whose rows cannot be told apart, or original files,
            which Hive shows or not, as one of its settings says.
    """
    data: list[DataFile] = []
    skipped: list[Skipped] = []
    to_be_lost: list[str] = []
    for place in places:
        if place.state.delete_deltas:
            name = place.state.delete_deltas[0].directory.name
            raise refusal(
                pinned, f"{place.listing.location}/{name} is a delete delta in an insert-only table"
            )
        check_depth(pinned, place, is_insert_only=True)
        if place.state.originals:
            raise UnreadableTableError(
                f"{pinned.table.name} cannot be read: {place.state.originals[0].path} is in no "
                "base and no delta. In an insert-only table Hive passes over such files, unless "
                "its setting hive.mm.allow.originals is true. Move them away, or into the table "
                "with LOAD DATA, and run again."
            )
        files: list[ListedFile] = []
        for directory in place.state.of_rows:
            _check_whole(pinned, place, directory)
            files.extend(directory.files)
        for file in files:
            footer = footers.get(file)
            columns = footer.columns if footer else None
            converted = converted_columns(pinned, file, footer) if footer else ()
            data.append(
                DataFile(
                    file,
                    place.partition,
                    columns,
                    is_acid=False,
                    converted=converted,
                    nanoseconds=footer.nanoseconds if footer else (),
                )
            )
        skipped.extend(skipped_entries(place))
        to_be_lost.extend(paths_to_be_lost(place))
    return ReadPlan(pinned, tuple(data), (), tuple(skipped), tuple(to_be_lost), missing(places))


def _check_whole(pinned: PinnedTable, place: Location, directory: SelectedDir) -> None:
    """A compaction leaves out what was aborted, but never what is still open.

    One that the snapshot may see began when all its write ids had ended. If they go on above the
    high-water mark, that has gone back since (docs/decisions.md). The base of an overwrite or a
    truncate holds what that wrote and nothing else.
    """
    low, high = directory.write_id_range
    if isinstance(directory.directory, BaseDir) and not is_compacted(
        place.listing, directory.directory
    ):
        low = high
    open_ids = sorted(i for i in pinned.write_ids.open if low <= i <= high)
    is_above = high > pinned.write_ids.high_watermark
    if open_ids or (is_above and not directory.directory.visibility_txn):
        raise refusal(
            pinned,
            f"{place.listing.location}/{directory.directory.name} holds rows of write ids that "
            f"this snapshot must not show (open: {open_ids}, high-water mark "
            f"{pinned.write_ids.high_watermark}), and insert-only rows carry no write id",
        )
