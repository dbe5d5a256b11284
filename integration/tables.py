"""What tests of tables share."""

from __future__ import annotations

from integration.hive import HiveClient, HiveSqlError

#: Table properties. Hive must compact only when a test says so.
FULL_ACID = "'transactional'='true', 'NO_AUTO_COMPACTION'='true'"
INSERT_ONLY = f"{FULL_ACID}, 'transactional_properties'='insert_only'"


def compact_everywhere(client: HiveClient, table: str, kind: str, partitioned: bool) -> None:
    """Compact the table, or each of its partitions that Hive thinks worth it."""
    if not partitioned:
        client.compact(table, kind)
        return
    compacted = 0
    for (name,) in client.query(f"SHOW PARTITIONS {table}"):
        key, _, value = name.partition("=")
        try:
            client.compact(table, kind, partition=f"{key}='{value}'")
            compacted += 1
        except HiveSqlError as error:
            assert "None of the compaction thresholds met" in str(error)
    assert compacted
