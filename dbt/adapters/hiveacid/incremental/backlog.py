"""What the earlier batches of a backlog have brought into a target that is kept by `unique_key`.

A batch (`max_write_ids`) is a prefix of the write ids, not of the commits. Hive has a key once at a
time: its row is deleted, and then comes the next one. But a transaction that takes its write id
early may commit late, so batches may meet the next row of a key first, and the delete of the one
before later. Such a delete must not take the key away: the row that an earlier batch has brought
is put there once more. And rows of one key may seem to be there at once. Then the whole backlog is
taken, which ends where the run's snapshot does.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.incremental.comparison import Kind
from dbt.adapters.hiveacid.incremental.plan import ChangePlan
from dbt.adapters.hiveacid.incremental.traces import seen_part
from dbt.adapters.hiveacid.reader.plan import ReadPlan
from dbt.adapters.hiveacid.reader.read import plan_places


def backlog_plan(spark: SparkSession, plan: ChangePlan) -> ReadPlan:
    """The files that can hold rows of the earlier batches, with what deletes them.

    Raises:
        UnreadableTableError: a file is not what its place or name says, or cannot be read.
    """
    places = [
        replace(change.place, state=seen_part(change.place.state, plan.brought_before))
        for change in plan.changes
        if change.kind is not Kind.NEW
    ]
    return plan_places(spark, plan.pinned, places, plan.footers, row_ids=True)
