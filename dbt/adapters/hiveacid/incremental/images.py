"""Which data files can hold rows that delete events name: for their before-images."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.selection import AcidState, SelectedDir
from dbt.adapters.hiveacid.incremental.plan import ChangePlan
from dbt.adapters.hiveacid.reader.orc_footers import RowIdRange
from dbt.adapters.hiveacid.reader.plan import DataFile, ReadPlan
from dbt.adapters.hiveacid.reader.read import plan_places


def image_plan(spark: SparkSession, plan: ChangePlan) -> ReadPlan:
    """The data files with row ids in the ranges of the deleted ones, partition by partition.

    Raises:
        UnreadableTableError: a file is not what its place or name says, or cannot be read.
    """
    # By partition and bucket: a file of delete events is of one bucket, as the files of rows are.
    deleted: dict[int, dict[tuple[int, int], RowIdRange]] = {}
    for delete in plan.deletes:
        here = delete.row_id_range
        assert here is not None, "the plan leaves out files without delete events"
        of_partition = deleted.setdefault(delete.partition, {})
        before = of_partition.get(here.bucket)
        of_partition[here.bucket] = here if before is None else here.union(before)
    places = [
        replace(change.place, state=_data_part(change.place.state, wanted.values()))
        for change in plan.changes
        if (wanted := deleted.get(change.place.partition)) is not None
    ]
    read = plan_places(spark, plan.pinned, places, plan.footers, row_ids=True)

    def can_hold(data: DataFile) -> bool:
        ids, wanted = data.row_id_range, deleted[data.partition].values()
        return ids is not None and any(map(ids.intersects, wanted))

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
