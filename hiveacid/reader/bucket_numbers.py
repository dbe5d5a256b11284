"""Numbers in the names of bucket files, by which Hive finds the delete events of a file's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hiveacid.acid.layout import bucket_of, bucket_of_file
from hiveacid.reader.deletes import DeleteFile
from hiveacid.reader.plan import DataFile
from hiveacid.snapshots.tables import PinnedTable


def check_numbers(
    pinned: PinnedTable, data: Sequence[DataFile], deletes: Sequence[DeleteFile]
) -> None:
    """Refuse delete events for rows that are in a file of another number, in one location.

    For the rows of `bucket_00007` Hive reads the delete files of number 7 alone
    (`ColumnizedDeleteEventRegistry`), and shows rows that others delete, or fails. Hive 3 reads all
    of them if the table has no buckets. Changes of the table could not tell of it: they go by row
    ids. Where each file has the bucket of its name, as all that Hive writes, this is one comparison
    a file. Files without statistics count as such.

    Raises:
        UnreadableTableError: naming both files.
    """
    if not pinned.deletes_by_number:
        return
    for file, delete in _elsewhere(data, deletes):
        raise pinned.refusal(
            f"{file.file.path} may have rows that {delete.file.path} deletes. Hive applies delete "
            "events only to files of the same number: it shows these rows, or fails. Where it "
            "shows them, a major compaction in Hive writes them"
        )


def _elsewhere(
    data: Sequence[DataFile], deletes: Sequence[DeleteFile]
) -> Iterator[tuple[DataFile, DeleteFile]]:
    """Yield the pairs of different numbers that can have a row id in common."""
    odd_data = [file for file in data if file.is_acid and _is_misnamed(file)] if deletes else []
    odd_deletes = [delete for delete in deletes if _is_misnamed(delete)]
    pairs = [(file, delete) for file in odd_data for delete in deletes]
    pairs += [(file, delete) for delete in odd_deletes for file in data]
    for file, delete in pairs:
        ids, deleted = file.row_id_range, delete.row_id_range
        if ids is None or deleted is None:
            continue
        number, other = _number(file), _number(delete)
        (low, high), (first, last) = _buckets(file, number), _buckets(delete, other)
        if number != other and low <= last and first <= high:
            if ids.intersects(deleted):
                yield file, delete


def _is_misnamed(file: DataFile | DeleteFile) -> bool:
    number = _number(file)
    return _buckets(file, number) != (number, number)


def _number(file: DataFile | DeleteFile) -> int:
    number = bucket_of_file(file.file.name)
    assert number is not None, "the plan has refused the file"
    return number


def _buckets(file: DataFile | DeleteFile, number: int) -> tuple[int, int]:
    """Return the lowest and the highest bucket of a file's row ids; its number if unknown."""
    ids = file.row_id_range
    if ids is None or not ids.is_known:
        return number, number
    low, high = ids.bucket
    return bucket_of(low), bucket_of(high)
