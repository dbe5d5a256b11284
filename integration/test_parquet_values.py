"""Values in Parquet that Spark's reader would take for others, or show otherwise, than Hive."""

from __future__ import annotations

from integration.differential import Differential
from integration.hive import HiveClient
from integration.tables import INSERT_ONLY


def test_decimals_that_became_texts(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.texts"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a decimal(10,2), b decimal(38,18), c decimal(20,10)) "
        f"STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 0, 0, 0), (2, -1.50, -1e-18, 1e-10), "
        "(3, 100, 12345678901234567890.5, -1e-7), (4, -0.05, -100, 10.0000000001)"
    )
    for name in "abc":
        hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN {name} {name} string")
    differential.check(table, where="b = '0' OR c = '-0.0000001'", hive_counts=False)
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN b b varchar(6)")
    differential.check(table, hive_counts=False)
