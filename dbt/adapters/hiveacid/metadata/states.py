"""What a reader would read of tables that are seen without a lock."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.selection import AcidState, select
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader.hadoop import list_locations
from dbt.adapters.hiveacid.snapshot.seen import SeenTable

logger = AdapterLogger("HiveAcid")

MOST_LOCATIONS = 1000
"""A table of more partitions is not listed for the docs: that would take longer than the rest."""


def states_for_docs(spark: SparkSession, seen: SeenTable) -> list[AcidState] | None:
    """What a reader would read of each location; None, with a word in the log, if that is not told.

    The docs do without the number of deltas rather than fail.
    """
    storages = seen.storages
    if len(storages) > MOST_LOCATIONS:
        reason = f"it has {len(storages)} partitions, more than {MOST_LOCATIONS}"
    else:
        try:
            listings = list_locations(spark, [storage.location for storage in storages])
            return [select(listing, seen.write_ids, seen.valid_txns) for listing in listings]
        except UnreadableTableError as error:
            reason = str(error.msg)
    logger.info(f"The docs do not say how many deltas {seen.table.name} has: {reason}")
    return None
