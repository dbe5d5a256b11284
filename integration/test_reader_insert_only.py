"""Insert-only tables, step by step: our rows are Hive's own."""

from __future__ import annotations

import pytest

from integration.differential import Differential
from integration.hive import HiveClient

FORMATS = {
    "orc": "STORED AS ORC",
    "parquet": "STORED AS PARQUET",
    "text": "ROW FORMAT DELIMITED FIELDS TERMINATED BY '|' ESCAPED BY '\\\\' STORED AS TEXTFILE",
    "default text": "STORED AS TEXTFILE",
}


@pytest.mark.parametrize("format", FORMATS.values(), ids=FORMATS.keys())
@pytest.mark.parametrize("partitioned", [False, True], ids=["plain", "partitioned"])
def test_insert_only(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    format: str,
    partitioned: bool,
) -> None:
    table = f"{database}.events"
    columns = "id int, what string, amount decimal(10,2), at timestamp"
    kind = f"({columns}, p string)" if not partitioned else f"({columns}) PARTITIONED BY (p string)"
    hive_client.execute(
        f"CREATE TABLE {table} {kind} {format} TBLPROPERTIES ('transactional'='true', "
        "'transactional_properties'='insert_only', 'NO_AUTO_COMPACTION'='true')"
    )
    differential.check(table)
    for step in (
        f"INSERT INTO {table} VALUES (1, 'a|b', 1.5, '2026-01-01 10:00:00.5', 'x y'), "
        "(2, NULL, 2, NULL, 'ü'), (3, '', NULL, '2026-06-01 00:00:00', NULL)",
        f"INSERT INTO {table} SELECT id + 10, what, amount, at, p FROM {table}",
        f"INSERT INTO {table} SELECT id + 20, what, amount, at, p FROM {table} WHERE id = 1"
        f" UNION ALL SELECT id + 30, what, amount, at, p FROM {table} WHERE id = 2",
    ):
        hive_client.execute(step)
        differential.check(table, where="p = 'ü'")
    if not partitioned:
        hive_client.compact(table, "major")
        differential.check(table, where="id > 10")
        hive_client.execute(f"INSERT OVERWRITE TABLE {table} SELECT * FROM {table} WHERE id < 3")
        differential.check(table)
    hive_client.execute(f"TRUNCATE TABLE {table}")
    assert differential.check(table).rows == []
