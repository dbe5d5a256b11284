"""From the snapshots of a full-ACID table's locations to the files of a read. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from dbt.adapters.hiveacid.acid.bucket import BucketProperty
from dbt.adapters.hiveacid.acid.directories import BaseDir, bucket_of_file, is_bucket_file
from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.acid.selection import SelectedDir, Skipped
from dbt.adapters.hiveacid.acid.write_ids import RangeResponse, ValidWriteIdList
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
from dbt.adapters.hiveacid.reader.plan import (
    DataFile,
    DeleteFile,
    RawRowIds,
    ReadPlan,
    converted_columns,
)
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable

_NO_NAME = re.compile(r"_col\d+")


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
        check_depth(pinned, place)
        here = _delete_files(pinned, place, footers)
        lowest = 0 if row_ids else _lowest_deleted(here)
        deletes.extend(here)
        data.extend(_data_files(pinned, place, footers, lowest))
        skipped.extend(skipped_entries(place))
        to_be_lost.extend(paths_to_be_lost(place))
    return ReadPlan(
        pinned, tuple(data), tuple(deletes), tuple(skipped), tuple(to_be_lost), missing(places)
    )


def _lowest_deleted(deletes: Iterable[DeleteFile]) -> int | None:
    """The lowest original write id of delete events; None without any."""
    known = (delete.row_id_range for delete in deletes)
    return min((ids.write_id[0] for ids in known if ids is not None), default=None)


def _delete_files(
    pinned: PinnedTable, place: Location, footers: Mapping[ListedFile, OrcFooter]
) -> list[DeleteFile]:
    deletes = []
    for directory in place.state.delete_deltas:
        hides_rows = _hides_rows(directory, pinned.write_ids)
        for file in directory.files:
            footer = footers[file]
            if not footer.is_acid or not is_bucket_file(file.name):
                raise refusal(pinned, f"{file.path} is in a delete delta but no delete file")
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
                raise refusal(pinned, f"{file.path} is not named as an ACID file (bucket_N)")
            else:
                _check_named(pinned, file, footer)
                yield DataFile(
                    file,
                    place.partition,
                    footer.columns,
                    is_acid=True,
                    hides_rows=hides_rows,
                    converted=converted_columns(pinned, file, footer),
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
                raise refusal(
                    pinned,
                    f"{place.listing.location}/{directory.directory.name} spans write ids {low} to "
                    f"{write_id} but holds files without ACID columns",
                )
    needs_ids = lowest_deleted is not None and lowest_deleted <= write_id
    next_row: dict[int, int] = {}
    for file in sorted(files, key=lambda file: file.relative):
        footer = footers[file]
        if footer.is_acid:
            raise refusal(pinned, f"{file.path} has ACID columns outside of an ACID directory")
        bucket = bucket_of_file(file.name)
        row_ids = None
        if bucket is None:
            # Hive fails as well, whether anything is deleted or not: "Bucket ID out of range: -1".
            raise refusal(pinned, f"the name of {file.path} has no bucket number")
        if needs_ids:
            first_row = next_row.get(bucket, 0)
            next_row[bucket] = first_row + footer.rows
            try:
                bucket_property = BucketProperty(bucket, statement_id).encode()
            except ValueError as error:
                raise refusal(pinned, f"the name of {file.path} says {error}") from error
            row_ids = RawRowIds(write_id, bucket_property, first_row)
        yield DataFile(
            file,
            place.partition,
            footer.columns,
            is_acid=False,
            row_ids=row_ids,
            converted=converted_columns(pinned, file, footer),
            nanoseconds=footer.nanoseconds,
            row_id_range=row_ids.of(footer.rows) if row_ids else None,
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


def _hides_rows(directory: SelectedDir, write_ids: ValidWriteIdList) -> bool:
    low, high = directory.write_id_range
    return write_ids.is_range_valid(low, high) is not RangeResponse.ALL
