"""Which rows Hive is going to lose to a compaction that took nothing in (docs/decisions.md)."""

from __future__ import annotations

from collections.abc import Iterable

from dbt.adapters.hiveacid.acid.directories import BaseDir, DeltaDir
from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList


def covers_rows(
    emptied: BaseDir | DeltaDir,
    with_data: Iterable[BaseDir | DeltaDir],
    has_originals: bool,
    base: BaseDir | None,
    write_ids: ValidWriteIdList,
) -> bool:
    """Whether Hive's cleaner is going to remove rows for a directory without any file.

    It removes what the name covers, although the compaction has not taken that in. What a snapshot
    does not show yet counts; what was aborted, or is in the snapshot's base too, does not.

    Args:
        emptied: the directory without files.
        with_data: the directories of the location that hold data, without those `is_replaced`.
        has_originals: whether there are original files with data that no base has replaced.
        base: the snapshot's.
        write_ids: the snapshot's.
    """
    low, high = emptied.write_id_range
    if base is not None and high <= base.write_id and not _replaces(emptied, base):
        return False
    if low == 0 and has_originals:
        return True
    for directory in with_data:
        first, last = directory.write_id_range
        # A compaction of full ACID may have rows for a delta and nothing for its delete delta.
        is_sibling = directory.visibility_txn == emptied.visibility_txn
        if low <= first and last <= high and not is_sibling:
            if not all(i in write_ids.aborted for i in range(first, last + 1)):
                return True
    return False


def is_replaced(
    directory: BaseDir | DeltaDir, base: BaseDir | None, chosen: Iterable[DeltaDir]
) -> bool:
    """Whether something else that the snapshot has chosen stands for the rows of a directory.

    Args:
        directory: one of the location.
        base: the snapshot's.
        chosen: the snapshot's deltas and delete deltas.
    """
    if directory == base:
        return False
    low, high = directory.write_id_range
    if base is not None and high <= base.write_id:
        return True
    return isinstance(directory, DeltaDir) and any(
        delta.is_delete == directory.is_delete
        and delta.write_id_range != (low, high)
        and delta.min_write_id <= low
        and high <= delta.max_write_id
        for delta in chosen
    )


def _replaces(emptied: BaseDir | DeltaDir, base: BaseDir) -> bool:
    return isinstance(emptied, BaseDir) and emptied.write_id == base.write_id
