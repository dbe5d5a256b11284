"""From a pinned table to the exact files that a read needs. Pure: listings and footers come in.

A *raw* file has no ACID columns: an original file of a converted table, or one that LOAD DATA moved
into a delta or base. Its row ids follow from where it lies, as in Hive's
`VectorizedOrcAcidRowBatchReader`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbt.adapters.hiveacid.acid.bucket import BucketProperty
from dbt.adapters.hiveacid.acid.directories import (
    BaseDir,
    bucket_of_file,
    is_bucket_file,
    is_union_directory,
)
from dbt.adapters.hiveacid.acid.listing import ListedFile, Listing
from dbt.adapters.hiveacid.acid.selection import (
    AcidState,
    SelectedDir,
    Skipped,
    is_compacted,
    select,
)
from dbt.adapters.hiveacid.acid.write_ids import RangeResponse, ValidWriteIdList
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import StorageDescriptor
from dbt.adapters.hiveacid.reader.deletes import DeletedRows
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooter, RowIdRange
from dbt.adapters.hiveacid.reader.types import INTEGERS, differ_in_case
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable
from dbt.adapters.hiveacid.snapshot.seen import SeenTable

_NO_NAME = re.compile(r"_col\d+")


@dataclass(frozen=True)
class RawRowIds:
    """The row ids of a raw file: its i-th row is (`write_id`, `bucket`, `first_row` + i)."""

    write_id: int
    bucket: int
    first_row: int

    def of(self, rows: int) -> RowIdRange | None:
        """Those of so many rows; None for none."""
        if rows == 0:
            return None
        last_row = self.first_row + rows - 1
        return RowIdRange(
            (self.write_id, self.write_id), (self.bucket, self.bucket), (self.first_row, last_row)
        )


@dataclass(frozen=True)
class DataFile:
    """A file with rows of the table.

    `partition` counts in `PinnedTable.partitions` (0 for an unpartitioned table). `columns` are the
    file's own names of the user's columns, by position; None where the format has none.
    `hides_rows` says that some rows may have a write id that the snapshot must not show.
    `row_ids` is set for a raw file that delete events may hit. `row_id_range` is around the row ids
    in the file; None if it has no row, or is a raw one without `row_ids`. `converted` has the
    positions of the columns for which the file has another type than the table, integers apart.
    `nanoseconds` has those of which the file is known to hold timestamps finer than microseconds.
    """

    file: ListedFile
    partition: int
    columns: tuple[str, ...] | None
    is_acid: bool
    hides_rows: bool = False
    row_ids: RawRowIds | None = None
    converted: tuple[int, ...] = ()
    nanoseconds: tuple[int, ...] = ()
    row_id_range: RowIdRange | None = None


@dataclass(frozen=True)
class DeleteFile:
    """A file of delete events: `rows` of them, which name rows in `row_id_range`.

    The latter is None without any.
    """

    file: ListedFile
    partition: int
    rows: int
    hides_rows: bool
    row_id_range: RowIdRange | None


@dataclass(frozen=True)
class ReadPlan:
    """All that a read of one pinned table touches, and what it leaves out and why.

    `to_be_lost` are the paths of directories that a compaction of Hive has left empty, although
    there are rows that it was to take in, and that Hive's cleaner will remove. `missing` are the
    locations that do not exist.
    `deleted_rows` keeps what has been read of the delete events, for all the plan's users.
    """

    pinned: PinnedTable
    data: tuple[DataFile, ...]
    deletes: tuple[DeleteFile, ...]
    skipped: tuple[Skipped, ...]
    to_be_lost: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    deleted_rows: DeletedRows = field(default_factory=DeletedRows, compare=False, repr=False)

    @property
    def delete_events(self) -> int:
        """How many delete events there are in all delete files together."""
        return sum(delete.rows for delete in self.deletes)

    @property
    def nanoseconds(self) -> dict[str, ListedFile]:
        """The columns whose timestamps Spark is known to cut, each with a file that has such."""
        columns = self.pinned.table.storage.columns
        return {
            columns[i].name: data.file
            for data in self.data
            for i in data.nanoseconds
            if i < len(columns) and "timestamp" in columns[i].type
        }

    @property
    def files(self) -> Iterator[tuple[ListedFile, int]]:
        """All files, those of delete events too, each with the number of its partition."""
        for data in self.data:
            yield data.file, data.partition
        for delete in self.deletes:
            yield delete.file, delete.partition


@dataclass(frozen=True)
class Location:
    """One place of the table's files: the table's own, or that of partition `partition`."""

    partition: int
    storage: StorageDescriptor
    listing: Listing
    state: AcidState

    def orc_files(self) -> Iterator[ListedFile]:
        """Every file of the snapshot here, for reading the footers."""
        yield from self.state.originals
        for directory in self.state.directories:
            yield from directory.files


def locations(pinned: SeenTable, listings: Sequence[Listing]) -> list[Location]:
    """Select the snapshot of each listing; they are in the order of `pinned.storages`.

    Raises:
        UnreadableTableError: see `acid.selection.select` and `check_there`; or two partitions share
            files.
    """
    check_there(pinned, listings)
    _check_apart(pinned, listings)
    return [
        Location(i, storage, listing, select(listing, pinned.write_ids, pinned.valid_txns))
        for i, (storage, listing) in enumerate(zip(pinned.storages, listings, strict=True))
    ]


def check_there(seen: SeenTable, listings: Sequence[Listing]) -> None:
    """Refuse a table that was written to and is nowhere: Spark looks for it in another place.

    A single partition without a directory is empty to Hive, and may be.

    Raises:
        UnreadableTableError: no location of the table exists.
    """
    highest = seen.write_ids.high_watermark
    if highest > 0 and listings and all(listing.is_missing for listing in listings):
        first, *others = (listing.location for listing in listings)
        rest = f", nor do the {len(others)} other locations of its partitions" if others else ""
        raise UnreadableTableError(
            f"{seen.table.name} was written to (up to write id {highest}), but {first} does not "
            f"exist for Spark{rest}. Check that Spark sees the file system that Hive writes to "
            "(mounts; `spark.hadoop.fs.defaultFS` and other settings in "
            "`server_side_parameters`). If the rows are to be gone, make the directory anew."
        )


def missing(places: Iterable[Location]) -> tuple[str, ...]:
    """See `ReadPlan.missing`."""
    return tuple(place.listing.location for place in places if place.listing.is_missing)


def _check_apart(pinned: SeenTable, listings: Sequence[Listing]) -> None:
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


def plan_full_acid(
    pinned: PinnedTable,
    places: Sequence[Location],
    footers: Mapping[ListedFile, OrcFooter],
    row_ids: bool = False,
) -> ReadPlan:
    """Plan the read of a full-ACID table; with `row_ids`, every raw file gets its row ids.

    Raises:
        UnreadableTableError: a file is not what its place or name says.
    """
    data: list[DataFile] = []
    deletes: list[DeleteFile] = []
    skipped: list[Skipped] = []
    to_be_lost: list[str] = []
    for place in places:
        _check_depth(pinned, place)
        here = _delete_files(pinned, place, footers)
        lowest = 0 if row_ids else _lowest_deleted(here)
        deletes.extend(here)
        data.extend(_data_files(pinned, place, footers, lowest))
        skipped.extend(_skipped(place))
        to_be_lost.extend(paths_to_be_lost(place))
    return ReadPlan(
        pinned, tuple(data), tuple(deletes), tuple(skipped), tuple(to_be_lost), missing(places)
    )


def _lowest_deleted(deletes: Iterable[DeleteFile]) -> int | None:
    """The lowest original write id of delete events; None without any."""
    known = (delete.row_id_range for delete in deletes)
    return min((ids.write_id[0] for ids in known if ids is not None), default=None)


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
            raise _refusal(
                pinned, f"{place.listing.location}/{name} is a delete delta in an insert-only table"
            )
        _check_depth(pinned, place, is_insert_only=True)
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
            converted = _converted(pinned, file, footer) if footer else ()
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
        skipped.extend(_skipped(place))
        to_be_lost.extend(paths_to_be_lost(place))
    return ReadPlan(pinned, tuple(data), (), tuple(skipped), tuple(to_be_lost), missing(places))


def paths_to_be_lost(place: Location) -> Iterator[str]:
    """See `ReadPlan.to_be_lost`."""
    for empty in place.state.to_be_lost:
        yield f"{place.listing.location}/{empty.directory.name}"


def _skipped(place: Location) -> Iterator[Skipped]:
    for skipped in place.state.skipped:
        yield replace(skipped, relative=f"{place.listing.location}/{skipped.relative}")


def _converted(pinned: PinnedTable, file: ListedFile, footer: OrcFooter) -> tuple[int, ...]:
    """See `DataFile.converted`.

    Raises:
        UnreadableTableError: the file has names inside of a column that Hive does not find.
    """
    types = pinned.table.storage.column_types
    if types[: len(footer.types)] == footer.types:
        return ()
    for type_, file_type in zip(types, footer.types, strict=False):
        if type_ != file_type and differ_in_case(type_, file_type):
            raise UnreadableTableError(
                f"{pinned.table.name}: {file.path} has names in another case inside of a column "
                f"({file_type}, in the table {type_}), for which Hive shows NULL, and Spark the "
                "values. Load files with the names of the table."
            )
    return tuple(
        i
        for i, (type_, file_type) in enumerate(zip(types, footer.types, strict=False))
        if type_ != file_type and not {type_, file_type} <= INTEGERS
    )


def _check_named(pinned: PinnedTable, file: ListedFile, footer: OrcFooter) -> None:
    """Refuse ACID files whose columns ORC takes by position, which is wrong for a part of them.

    It does so where all names are such as Hive once gave to columns without any
    (`SchemaEvolution.hasColumnNames`).
    """
    if footer.columns and all(map(_NO_NAME.fullmatch, footer.columns)):
        raise UnreadableTableError(
            f"{pinned.table.name} cannot be read: {file.path} has only columns with names such as "
            "_col0, which ORC takes for columns without names. Let Hive copy the table to one with "
            "other names, and read that one."
        )


def _refusal(pinned: PinnedTable, what: str) -> UnreadableTableError:
    return UnreadableTableError(
        f"{pinned.table.name} cannot be read: {what}. If Hive did not write it, remove it; else "
        "run a major compaction in Hive, or report the case."
    )


def _hides_rows(directory: SelectedDir, write_ids: ValidWriteIdList) -> bool:
    low, high = directory.write_id_range
    return write_ids.is_range_valid(low, high) is not RangeResponse.ALL


def _check_depth(pinned: PinnedTable, place: Location, *, is_insert_only: bool = False) -> None:
    """Refuse files further down in a base or delta, but for directories that Hive makes there.

    Hive shows such files of a full-ACID table in one query and fails in the next, and passes over
    those of an insert-only table. There it makes directories for the branches of UNION ALL, and one
    of the same name in a partition with a location of its own (`acid.selection`).
    """
    for directory in place.state.directories:
        name = directory.directory.name
        in_namesake = set()
        for file in directory.files:
            _, *inner, _ = file.relative.split("/")
            is_nested = is_insert_only and inner[:1] == [name]
            in_namesake.add(is_nested)
            rest = inner[1:] if is_nested else inner
            if not all(is_insert_only and is_union_directory(part) for part in rest):
                raise _refusal(pinned, f"{file.path} is in a directory inside {name}")
        if len(in_namesake) > 1:
            raise _refusal(
                pinned,
                f"{place.listing.location}/{name} has files and a directory of its own name with "
                "files, one of which may be a copy",
            )


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
        raise _refusal(
            pinned,
            f"{place.listing.location}/{directory.directory.name} holds rows of write ids that "
            f"this snapshot must not show (open: {open_ids}, high-water mark "
            f"{pinned.write_ids.high_watermark}), and insert-only rows carry no write id",
        )


def _delete_files(
    pinned: PinnedTable, place: Location, footers: Mapping[ListedFile, OrcFooter]
) -> list[DeleteFile]:
    deletes = []
    for directory in place.state.delete_deltas:
        hides_rows = _hides_rows(directory, pinned.write_ids)
        for file in directory.files:
            footer = footers[file]
            if not footer.is_acid or not is_bucket_file(file.name):
                raise _refusal(pinned, f"{file.path} is in a delete delta but no delete file")
            deletes.append(
                DeleteFile(file, place.partition, footer.rows, hides_rows, footer.row_id_range)
            )
    return deletes


def _data_files(
    pinned: PinnedTable,
    place: Location,
    footers: Mapping[ListedFile, OrcFooter],
    lowest_deleted: int | None,
) -> Iterator[DataFile]:
    """The data files of one place.

    `lowest_deleted` is the lowest original write id of its delete events: only rows from there on
    need a row id.
    """
    for directory in place.state.of_rows:
        hides_rows = _hides_rows(directory, pinned.write_ids)
        raw = []
        for file in directory.files:
            footer = footers[file]
            if not footer.is_acid:
                raw.append(file)
            elif not is_bucket_file(file.name):
                raise _refusal(pinned, f"{file.path} is not named as an ACID file (bucket_N)")
            else:
                _check_named(pinned, file, footer)
                yield DataFile(
                    file,
                    place.partition,
                    footer.columns,
                    is_acid=True,
                    hides_rows=hides_rows,
                    converted=_converted(pinned, file, footer),
                    nanoseconds=footer.nanoseconds,
                    row_id_range=footer.row_id_range,
                )
        if raw:
            yield from _raw_files(pinned, place, footers, raw, lowest_deleted, directory)
    yield from _raw_files(pinned, place, footers, place.state.originals, lowest_deleted, None)


def _raw_files(
    pinned: PinnedTable,
    place: Location,
    footers: Mapping[ListedFile, OrcFooter],
    files: Iterable[ListedFile],
    lowest_deleted: int | None,
    directory: SelectedDir | None,
) -> Iterator[DataFile]:
    """Number the rows of raw files: those of one bucket count on from file to file, in path order.

    Original files (`directory` is None) have write id 0.
    """
    write_id, statement_id = 0, 0
    if directory is not None:
        low, write_id = directory.write_id_range
        if not isinstance(directory.directory, BaseDir):
            statement_id = directory.directory.statement_id or 0
            if low != write_id:
                raise _refusal(
                    pinned,
                    f"{place.listing.location}/{directory.directory.name} spans write ids {low} to "
                    f"{write_id} but holds files without ACID columns",
                )
    needs_ids = lowest_deleted is not None and lowest_deleted <= write_id
    next_row: dict[int, int] = {}
    for file in sorted(files, key=lambda file: file.relative):
        footer = footers[file]
        if footer.is_acid:
            raise _refusal(pinned, f"{file.path} has ACID columns outside of an ACID directory")
        bucket = bucket_of_file(file.name)
        row_ids = None
        if bucket is None:
            # Hive fails as well, whether anything is deleted or not: "Bucket ID out of range: -1".
            raise _refusal(pinned, f"the name of {file.path} has no bucket number")
        if needs_ids:
            first_row = next_row.get(bucket, 0)
            next_row[bucket] = first_row + footer.rows
            try:
                bucket_property = BucketProperty(bucket, statement_id).encode()
            except ValueError as error:
                raise _refusal(pinned, f"the name of {file.path} says {error}") from error
            row_ids = RawRowIds(write_id, bucket_property, first_row)
        yield DataFile(
            file,
            place.partition,
            footer.columns,
            is_acid=False,
            row_ids=row_ids,
            converted=_converted(pinned, file, footer),
            nanoseconds=footer.nanoseconds,
            row_id_range=row_ids.of(footer.rows) if row_ids else None,
        )
