"""Changes in the form of Delta's change data feed."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hiveacid.changes.plan import CHANGE_TYPE, ROW_ID, WRITE_ID
from hiveacid.errors import UnreadableTableError
from hiveacid.formatting import quoted
from hiveacid.metastore.models import Table

COMMIT_VERSION = "_commit_version"
COMMIT_TIMESTAMP = "_commit_timestamp"
"""Columns that Delta's feed has next to the table's own and `_change_type`."""


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
                "the rows of `changes`, which has other columns."
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
