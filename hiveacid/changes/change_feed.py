"""Changes between two instants of a table: their plan, and their form as a change data feed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from hiveacid.changes.history import History
from hiveacid.changes.plan import CHANGE_TYPE, ROW_ID, WRITE_ID, ChangePlan, plan_changes, state_of
from hiveacid.changes.state import SourceState
from hiveacid.errors import InvalidSettingError, UnreadableTableError
from hiveacid.formatting import quoted
from hiveacid.metastore.models import Table
from hiveacid.reader.orc_footers import OrcFooters

COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"
"""Columns of Delta's change data feed, next to the table's own and `_change_type`."""


def plan_between(
    spark: SparkSession,
    history: History,
    since: SourceState | int | None,
    until: int | None,
    footers: OrcFooters,
    *,
    options: str = "",
    max_write_ids: int | None = None,
) -> ChangePlan:
    """Find what changed after a state or a write id, up to a write id.

    Args:
        history: the past of the table.
        since: a state, or a write id (exclusive); None returns every row as an insert.
        until: the last write id (inclusive); None takes the newest.
        options: the text of the options that the table was narrowed with.
        max_write_ids: see `plan_changes`.

    Raises:
        InvalidSettingError: the snapshot has no such write id, or `until` is before `since`.
        InstantLostError: the table as of one of the write ids can no longer be read.
        UnreadableTableError: as for `plan_changes`.
    """
    last = history.newest if until is None else until
    state: SourceState | None
    if isinstance(since, int):
        history.check_known(since)
        instant = history.until(last, since)
        before = history.at(since)
        state = state_of(spark, before.pinned, before.listings, options)
    else:
        instant, state = history.at(last), since
        if state is not None and state.write_ids.high_watermark > last:
            raise InvalidSettingError(
                f"The state of {history.name} has seen write id {state.write_ids.high_watermark}, "
                f"and its changes cannot go back to write id {last}. Give a later `until`.",
                code="HIVEACID_INVALID_CHANGE_RANGE",
            )
    return plan_changes(
        spark,
        instant.pinned,
        state,
        footers,
        options=options,
        max_write_ids=max_write_ids,
        listings=instant.listings,
    )


def check_feed_names(table: Table) -> None:
    """Refuse a table with a column that is named like a column of the feed.

    Raises:
        UnreadableTableError: naming the column.
    """
    for column in (*table.storage.columns, *table.partition_keys):
        if column.name.lower() in (COMMIT_VERSION, COMMIT_TIMESTAMP):
            raise UnreadableTableError(
                f"{table.name} has a column {column.name}, which the feed of its changes has next "
                "to the table's columns. Rename it in Hive (ALTER TABLE … CHANGE COLUMN), or take "
                "the rows of `changes`, which has other columns.",
                code="HIVEACID_RESERVED_COLUMN_NAME",
            )


def as_change_feed(rows: DataFrame, times: Mapping[int, int]) -> DataFrame:
    """Return changed rows with the columns of Delta's feed.

    Args:
        rows: the columns of the table, `_change_type`, `_write_id` and `_row_id`.
        times: the times of write ids, in milliseconds since the epoch.
    """
    names = [quoted(name) for name in rows.columns if name not in (CHANGE_TYPE, WRITE_ID, ROW_ID)]
    by_write_id = F.from_json(F.lit(json.dumps(times)), "map<string,bigint>")
    time = F.expr("timestamp_millis(__hiveacid_time)").alias(COMMIT_TIMESTAMP)
    timed = rows.withColumn("__hiveacid_time", by_write_id[F.col(WRITE_ID).cast("string")])
    return timed.select(*names, CHANGE_TYPE, F.col(WRITE_ID).alias(COMMIT_VERSION), time)
