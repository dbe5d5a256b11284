"""Conditions on a column of write ids.

The column must never be NULL, and must not be one that Spark pushes a predicate down on: see
`full_acid`.
"""

from __future__ import annotations

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.acid.changes import WriteIdRanges
from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList


def is_valid(write_id: Column, write_ids: ValidWriteIdList) -> Column:
    """Whether a write id is valid in `write_ids`."""
    valid = write_id <= write_ids.high_watermark
    return valid & ~write_id.isin(sorted(write_ids.invalid)) if write_ids.invalid else valid


def is_in(write_id: Column, ranges: WriteIdRanges) -> Column:
    """Whether a write id is in `ranges`."""
    single = [last for after, last in ranges.ranges if after + 1 == last]
    conditions = [write_id.isin(single)] if single else []
    conditions += [
        (write_id > after) & (write_id <= last) for after, last in ranges.ranges if after + 1 < last
    ]
    return _any(conditions)


def _any(conditions: list[Column]) -> Column:
    """A balanced tree: Spark walks expressions recursively."""
    while len(conditions) > 2:
        pairs = [conditions[i : i + 2] for i in range(0, len(conditions), 2)]
        conditions = [reduce(Column.__or__, pair) for pair in pairs]
    return reduce(Column.__or__, conditions, F.lit(False))
