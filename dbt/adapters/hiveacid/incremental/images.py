"""Which data files can hold rows that delete events name: for their before-images."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.acid.selection import AcidState, SelectedDir
from dbt.adapters.hiveacid.incremental.plan import ChangePlan
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooter, RowIdRange
from dbt.adapters.hiveacid.reader.plan import DataFile, ReadPlan
from dbt.adapters.hiveacid.reader.read import plan_places


def image_plan(spark: SparkSession, plan: ChangePlan) -> ReadPlan:
    """The data files with row ids in the ranges of the deleted ones, partition by partition.

    Raises:
        UnreadableTableError: a file is not what its place or name says, or cannot be read.
    """
    footers = plan.footers
    of_deletes = footers.row_id_ranges(spark, [delete.file for delete in plan.deletes])
    # By partition and bucket: a file of delete events is of one bucket, as the files of rows are.
    deleted: dict[int, dict[tuple[int, int], RowIdRange]] = {}
    for delete in plan.deletes:
        here = of_deletes[delete.file]
        of_partition = deleted.setdefault(delete.partition, {})
        before = of_partition.get(here.bucket)
        of_partition[here.bucket] = here if before is None else here.union(before)
    places = [
        replace(change.place, state=_data_part(change.place.state, wanted.values()))
        for change in plan.changes
        if (wanted := deleted.get(change.place.partition)) is not None
    ]
    read = plan_places(spark, plan.pinned, places, footers, row_ids=True)
    known = footers.read(spark, [data.file for data in read.data])
    acid = [data.file for data in read.data if data.is_acid and known[data.file].rows]
    ranges = footers.row_id_ranges(spark, acid)

    def can_hold(data: DataFile) -> bool:
        range_ = _range(data, ranges, known)
        wanted = deleted[data.partition].values()
        return range_ is not None and any(map(range_.intersects, wanted))

    return replace(read, data=tuple(filter(can_hold, read.data)))


def _data_part(state: AcidState, wanted: Collection[RowIdRange]) -> AcidState:
    """The directories of a location that can hold rows with the original write ids of ranges."""
    low = min(range_.write_id[0] for range_ in wanted)
    high = max(range_.write_id[1] for range_ in wanted)

    def can_hold(directory: SelectedDir) -> bool:
        first, last = directory.write_id_range
        return first <= high and low <= max(first, last)

    return AcidState(
        base=state.base if state.base is not None and can_hold(state.base) else None,
        deltas=tuple(filter(can_hold, state.deltas)),
        delete_deltas=(),
        originals=state.originals if low <= 0 else (),
        skipped=(),
    )


def _range(
    data: DataFile,
    ranges: Mapping[ListedFile, RowIdRange],
    footers: Mapping[ListedFile, OrcFooter],
) -> RowIdRange | None:
    """The row ids in a data file; None for a file without rows."""
    ids, rows = data.row_ids, footers[data.file].rows
    if ids is None or rows == 0:
        return ranges.get(data.file)
    return RowIdRange(
        (ids.write_id, ids.write_id),
        (ids.bucket, ids.bucket),
        (ids.first_row, ids.first_row + rows - 1),
    )
