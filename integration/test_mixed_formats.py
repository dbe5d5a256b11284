"""Insert-only tables with partitions in several formats, whose columns then change."""

from __future__ import annotations

from integration.support.differential import Differential
from integration.support.hive import HiveClient
from integration.support.tables import INSERT_ONLY

#: ORC is not among them: Hive lets no table change from it.
FORMATS = ("TEXTFILE", "JSONFILE", "PARQUET", "AVRO")


def test_partitions_in_every_format(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.mixed"
    hive_client.execute(
        f"CREATE TABLE {table} (a string, b string) PARTITIONED BY (p string) "
        f"STORED AS TEXTFILE TBLPROPERTIES ({INSERT_ONLY})"
    )
    for format in FORMATS:
        hive_client.execute(f"ALTER TABLE {table} SET FILEFORMAT {format}")
        hive_client.execute(f"INSERT INTO {table} VALUES ('a1', 'b1', '{format}')")
    differential.check(table)
    # Hive lets columns change while the table's own format is text.
    hive_client.execute(f"ALTER TABLE {table} SET FILEFORMAT TEXTFILE")
    for step in (
        "ADD COLUMNS (c string)",
        "CHANGE COLUMN a aa string",
        "CHANGE COLUMN aa aa string AFTER b",
        "REPLACE COLUMNS (b string, aa string, d string)",
        "REPLACE COLUMNS (aa string, b string)",
    ):
        hive_client.execute(f"ALTER TABLE {table} {step}")
        differential.check(table)
