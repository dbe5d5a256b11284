"""Locations of a table's files, and the snapshot of each. Pure: listings are arguments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hiveacid.acid.layout import (
    ListedFile,
    Listing,
    hidden_part,
    is_export_directory,
    is_union_directory,
)
from hiveacid.acid.selection import AcidState, Skipped, select, without_originals
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.snapshots.tables import HiveListing, PinnedTable, UnlockedTable


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

    @property
    def skipped(self) -> list[Skipped]:
        """Directories and files in the location that the snapshot does not read, by full path."""
        return [replace(it, relative=f"{self.path}/{it.relative}") for it in self.state.skipped]

    @property
    def rows_hive_will_drop(self) -> list[str]:
        """Directories that a compaction left empty (`ReadPlan.rows_hive_will_drop`)."""
        return [f"{self.path}/{empty.directory.name}" for empty in self.state.rows_hive_will_drop]

    @property
    def ignored_directories(self) -> list[str]:
        """Directories without files whose names cover rows (`ReadPlan.ignored_directories`)."""
        return [f"{self.path}/{it.directory.name}" for it in self.state.ignored_directories]

    @property
    def uncommitted_compactions(self) -> list[tuple[str, int]]:
        """Directories of compactions that the snapshot does not see yet, with their transactions.

        Compactions of this metastore are included while they run, and if they began after the
        snapshot.
        """
        return [
            (f"{self.path}/{it.name}", it.visibility_txn)
            for it in self.state.uncommitted_compactions
        ]

    def orc_files(self) -> Iterator[ListedFile]:
        """Yield every file of the snapshot in the location, for reading the footers."""
        yield from self.state.originals
        for directory in self.state.directories:
            yield from directory.files

    def check_depth(self, pinned: PinnedTable) -> None:
        """Refuse files in subdirectories of a base or delta that Hive does not create itself.

        In a full-ACID table Hive shows the files in one query and fails in the next. In insert-only
        tables Hive creates subdirectories for the branches of UNION ALL, for the directories of an
        imported table, and, in a partition with its own location, a subdirectory of the same name
        (`acid.selection`). Hive shows their files where it reads directories recursively.

        Raises:
            UnreadableTableError: there are such files.
        """
        is_insert_only = pinned.table.is_insert_only
        for directory in self.state.directories:
            name = directory.directory.name
            in_namesake = set()
            for file in directory.files:
                _, *inner, _ = file.relative.split("/")
                is_nested = is_insert_only and inner[:1] == [name]
                in_namesake.add(is_nested)
                rest = inner[1:] if is_nested else inner
                if not all(is_insert_only and _is_made_by_hive(part) for part in rest):
                    raise pinned.refusal(f"{file.path} is in a directory inside {name}")
            if len(in_namesake) > 1:
                raise pinned.refusal(
                    f"{self.path}/{name} has files and a directory of its own name with "
                    "files, one of which may be a copy"
                )


def locations(pinned: PinnedTable, listings: Sequence[Listing]) -> list[Location]:
    """Select the snapshot of each listing, in the order of `pinned.storages`.

    Raises:
        UnreadableTableError: see `acid.selection.select`, `check_there` and `check_listed_alike`;
            or two partitions share files.
    """
    check_there(pinned, listings)
    _check_apart(pinned, listings)
    check_listed_alike(pinned, listings)
    listings = as_hive_lists(pinned, listings)
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
    """Refuse a table that was written to, but has no location that exists for Spark.

    Single missing partition directories are allowed: Hive shows the partitions as empty.

    Raises:
        UnreadableTableError: no location of the table exists.
    """
    highest = pinned.write_ids.high_watermark
    if highest > 0 and listings and all(listing.is_missing for listing in listings):
        first, *others = (listing.location for listing in listings)
        rest = f", nor do the {len(others)} other locations of its partitions" if others else ""
        raise UnreadableTableError(
            f"{pinned.table.name} was written to (up to write id {highest}), but {first} does "
            f"not exist for Spark{rest}. Check that Spark sees the file system that Hive "
            "writes to (mounts; `spark.hadoop.fs.defaultFS` and other settings in "
            "`server_side_parameters`). If the rows were removed on purpose, create the "
            "directory again.",
            code="HIVEACID_LOCATION_NOT_VISIBLE",
        )


def as_hive_lists(table: UnlockedTable, listings: Sequence[Listing]) -> list[Listing]:
    """Return the listings with the bases and deltas that Hive finds in them.

    A directory without files counts for a Hive that lists directories.
    """
    return [
        replace(listing, without_files=frozenset())
        if table.listing_of(listing) is HiveListing.DIRECTORIES
        else listing
        for listing in listings
    ]


def check_listed_alike(table: UnlockedTable, listings: Sequence[Listing]) -> None:
    """Refuse locations that Hive 4 and Hive 3.1 show differently, where neither answer will do.

    Hive 4 shows no row below a hidden directory. All other readers show the rows, so an empty table
    would hide a mistake. Directories without files are refused only if it is not known what the
    metastore's Hive lists.

    Raises:
        UnreadableTableError: there is such a location, and it has files to read.
    """
    # `table_columns` refuses such a partition column by its name, and says what to do.
    is_of_key = any(key.name.startswith("_") for key in table.table.partition_keys)
    for listing in listings:
        lists = table.listing_of(listing)
        if lists is HiveListing.DIRECTORIES:
            continue
        hidden = hidden_part(_directory_of(listing))
        if hidden is not None and not is_of_key and _files(table, listing):
            raise UnreadableTableError(
                f"{table.table.name} has rows in {listing.location}. Hive 4 shows none of them, "
                f"because the name {hidden} in the path is hidden; Hive 3.1 and Spark show them. "
                "Move the directory to a path without such a name, and set the location to it "
                "(ALTER TABLE … SET LOCATION).",
                code="HIVEACID_HIDDEN_LOCATION",
            )
        if lists is HiveListing.UNKNOWN and listing.without_files:
            by_directory = replace(listing, without_files=frozenset())
            if _files(table, listing) != _files(table, by_directory):
                names = ", ".join(sorted(listing.without_files))
                raise UnreadableTableError(
                    f"{table.table.name} has directories in {listing.location} without a visible "
                    f"file: {names}. In Hive 3.1 they replace what their names cover, in Hive 4 "
                    "they do not count; what holds for the metastore's Hive is not known. TRUNCATE "
                    "the table there, or run a major compaction.",
                    code="HIVEACID_DIRECTORY_WITHOUT_FILES",
                )


def _directory_of(listing: Listing) -> str:
    """Return the path of a location as the file system gives it, with its scheme."""
    if not listing.files:
        return listing.location
    first = listing.files[0]
    return first.path.removesuffix(f"/{first.relative}")


def _files(table: UnlockedTable, listing: Listing) -> set[ListedFile]:
    """Return the files that a snapshot of a location has.

    Original files of insert-only tables are not among them: what Hive lists has no effect on them.
    """
    state = select(listing, table.write_ids, table.valid_txns)
    files = {file for directory in state.directories for file in directory.files}
    originals = () if table.table.is_insert_only else state.originals
    return files.union(originals, (it.file for it in state.open_files))


def _check_apart(pinned: UnlockedTable, listings: Sequence[Listing]) -> None:
    """Refuse partitions with equal or nested locations: their files would be listed twice."""
    seen: set[str] = set()
    for listing in listings:
        paths = [file.path for file in listing.files]
        seen_before = len(seen)
        seen.update(paths)
        if len(seen) != seen_before + len(paths):
            raise UnreadableTableError(
                f"{pinned.table.name} cannot be read: {listing.location} is the location of "
                "one of its partitions, and its files belong to another partition, too. Give "
                "each partition a directory of its own (ALTER TABLE … PARTITION … SET "
                "LOCATION).",
                code="HIVEACID_PARTITIONS_SHARE_A_LOCATION",
            )


def _is_made_by_hive(name: str) -> bool:
    return is_union_directory(name) or is_export_directory(name)
