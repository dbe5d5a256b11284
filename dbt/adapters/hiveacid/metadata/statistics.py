"""Statistics of a table for dbt docs."""

from __future__ import annotations

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import SparkSession

from hiveacid.errors import UnreadableTableError
from hiveacid.reader.statistics import TableStatistics, list_states
from hiveacid.snapshots.tables import UnlockedTable

logger = AdapterLogger("HiveAcid")
MOST_LOCATIONS = 1000
"""Maximum number of partitions of a table that is listed for the docs; listing takes long."""


def statistics_for_docs(spark: SparkSession, seen: UnlockedTable) -> TableStatistics:
    """Return the statistics of a table.

    If the table cannot be listed, they lack the number of deltas, and the log has the reason.
    """
    count = len(seen.storages)
    if count > MOST_LOCATIONS:
        reason = f"it has {count} partitions, more than {MOST_LOCATIONS}"
    else:
        try:
            return TableStatistics.of(seen, list_states(spark, seen))
        except UnreadableTableError as error:
            reason = error.message
    logger.info(f"The docs do not say how many deltas {seen.table.name} has: {reason}")
    return TableStatistics.of(seen, None)


def entries(statistics: TableStatistics) -> dict[str, str | int | bool]:
    """Return entries of dbt's catalog: `stats:<id>:label`, `:value`, `:description`, `:include`."""
    kept = "by Hive's statistics in the metastore"
    doubt = (
        ""
        if statistics.are_exact
        else ". They do not cover every write: ANALYZE TABLE … COMPUTE STATISTICS in Hive updates "
        "them"
    )
    inexact = "" if statistics.are_exact else " (not exact)"
    found = [
        ("rows", f"Rows{inexact}", statistics.rows, f"Rows {kept}{doubt}."),
        ("bytes", f"Bytes{inexact}", statistics.bytes, f"Size of the files {kept}{doubt}."),
        ("partitions", "Partitions", statistics.partitions, "Partitions in the metastore."),
        (
            "deltas",
            "Deltas",
            statistics.deltas,
            "Delta and delete delta directories that a reader has to read.",
        ),
        (
            "last_write_id",
            "Last write id",
            statistics.last_write_id,
            "The highest committed write id. DDL takes write ids, too.",
        ),
    ]
    entries: dict[str, str | int | bool] = {}
    for name, label, value, description in found:
        if value is not None:
            entries[f"stats:{name}:label"] = label
            entries[f"stats:{name}:value"] = value
            entries[f"stats:{name}:description"] = description
            entries[f"stats:{name}:include"] = True
    return entries
