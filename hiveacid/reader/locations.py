"""Locations of a table's files, and the snapshot that each holds. Pure: listings come in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hiveacid.acid.layout import ListedFile, Listing, is_export_directory, is_union_directory
from hiveacid.acid.selection import AcidState, Skipped, select, without_originals
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.snapshots.tables import PinnedTable, UnlockedTable


@dataclass(frozen=True)
class Location:
    """Location of a table's files: the table's own, or a partition's (number `partition`)."""

    partition: int
    storage: StorageDescriptor
    listing: Listing
    state: AcidState

    @property
    def path(self) -> str:
        """Path of the location's directory."""
        return self.listing.location

    def orc_files(self) -> Iterator[ListedFile]:
        """Yield every file of the snapshot in the location, for reading the footers."""
        yield from self.state.originals
        for directory in self.state.directories:
            yield from directory.files


def locations(pinned: PinnedTable, listings: Sequence[Listing]) -> list[Location]:
    """Select the snapshot of each listing. The listings are in the order of `pinned.storages`.

    Raises:
        UnreadableTableError: see `acid.selection.select` and `check_there`; or two partitions share
            files.
    """
    check_there(pinned, listings)
    _check_apart(pinned, listings)
    states = [select(listing, pinned.write_ids, pinned.valid_txns) for listing in listings]
    if pinned.table.is_insert_only and not pinned.shows_originals:
        states = [without_originals(state) for state in states]
    return [
        Location(i, storage, listing, state)
        for i, (storage, listing, state) in enumerate(
            zip(pinned.storages, listings, states, strict=True)
        )
    ]


def check_there(pinned: UnlockedTable, listings: Sequence[Listing]) -> None:
    """Refuse a table that was written to, but none of whose locations exist for Spark.

    A single partition without a directory is empty to Hive, and may be.

    Raises:
        UnreadableTableError: no location of the table exists.
    """
    highest = pinned.write_ids.high_watermark
    if highest > 0 and listings and all(listing.is_missing for listing in listings):
        first, *others = (listing.location for listing in listings)
        rest = f", nor do the {len(others)} other locations of its partitions" if others else ""
        raise UnreadableTableError(
            f"{pinned.table.name} was written to (up to write id {highest}), but {first} does not "
            f"exist for Spark{rest}. Check that Spark sees the file system that Hive writes to "
            "(mounts; `spark.hadoop.fs.defaultFS` and other settings in "
            "`server_side_parameters`). If the rows may be gone, make the directory again."
        )


def _check_apart(pinned: UnlockedTable, listings: Sequence[Listing]) -> None:
    """Refuse partitions at one location, or one inside another's: their files are listed twice."""
    seen: set[str] = set()
    for listing in listings:
        paths = [file.path for file in listing.files]
        seen_before = len(seen)
        seen.update(paths)
        if len(seen) != seen_before + len(paths):
            raise UnreadableTableError(
                f"{pinned.table.name} cannot be read: {listing.location} is the location of one of "
                "its partitions, and files there are listed for another one as well. Give each "
                "partition a directory of its own (ALTER TABLE … PARTITION … SET LOCATION)."
            )


def check_depth(pinned: PinnedTable, location: Location, *, is_insert_only: bool = False) -> None:
    """Refuse files further down in a base or delta, unless Hive makes the directories there.

    Hive shows such files of a full-ACID table in one query and fails in the next. In insert-only
    tables it makes directories for the branches of UNION ALL, for the directories of a table that
    it imports, and, in a partition with a location of its own, a directory of the same name
    (`acid.selection`). It shows their files where it reads directories recursively.

    Raises:
        UnreadableTableError: there are such files.
    """
    for directory in location.state.directories:
        name = directory.directory.name
        in_namesake = set()
        for file in directory.files:
            _, *inner, _ = file.relative.split("/")
            is_nested = is_insert_only and inner[:1] == [name]
            in_namesake.add(is_nested)
            rest = inner[1:] if is_nested else inner
            if not all(is_insert_only and _is_made_by_hive(part) for part in rest):
                raise refusal(pinned, f"{file.path} is in a directory inside {name}")
        if len(in_namesake) > 1:
            raise refusal(
                pinned,
                f"{location.path}/{name} has files and a directory of its own name with "
                "files, one of which may be a copy",
            )


def _is_made_by_hive(name: str) -> bool:
    return is_union_directory(name) or is_export_directory(name)


def missing_locations(locations: Iterable[Location]) -> tuple[str, ...]:
    """Return the locations that do not exist (`ReadPlan.missing`)."""
    return tuple(location.path for location in locations if location.listing.is_missing)


def paths_to_be_lost(location: Location) -> Iterator[str]:
    """Yield the directories that a compaction has left empty (`ReadPlan.to_be_lost`)."""
    for empty in location.state.to_be_lost:
        yield f"{location.path}/{empty.directory.name}"


def passed_over(locations: Iterable[Location]) -> tuple[ListedFile, ...]:
    """Return the original files that Hive does not show (`ReadPlan.passed_over`)."""
    return tuple(file for location in locations for file in location.state.passed_over)


def skipped_entries(location: Location) -> Iterator[Skipped]:
    """Yield what the snapshot passes over in the location, by whole paths."""
    for skipped in location.state.skipped:
        yield replace(skipped, relative=f"{location.path}/{skipped.relative}")


def refusal(pinned: PinnedTable, what: str) -> UnreadableTableError:
    """Return the error for something that Hive would not have written."""
    return UnreadableTableError(
        f"{pinned.table.name} cannot be read: {what}. Find out who wrote it: it may hold rows. If "
        "it was Hive, report the case."
    )
