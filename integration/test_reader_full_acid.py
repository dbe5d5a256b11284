"""Full-ACID tables, step by step: our rows are Hive's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.tables import FULL_ACID, REPEATS, compact_everywhere, rebalance, setting

PARTITIONED = "PARTITIONED BY (day date)"
BOTH = f"{PARTITIONED} CLUSTERED BY (id) INTO 2 BUCKETS"


@pytest.mark.parametrize(
    "storage",
    [
        # What these three show, the table that is both shows, too.
        pytest.param("", id="plain", marks=REPEATS),
        pytest.param("CLUSTERED BY (id) INTO 3 BUCKETS", id="bucketed", marks=REPEATS),
        pytest.param(PARTITIONED, id="partitioned", marks=REPEATS),
        pytest.param(BOTH, id="both"),
    ],
)
def test_full_acid(
    differential: Differential, hive_client: HiveClient, database: str, storage: str
) -> None:
    _check_a_life(differential, hive_client, f"{database}.orders", storage, FULL_ACID)


@pytest.mark.long("a minute of an older layout of the same files")
def test_full_acid_as_of_old(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """Another hash tells the buckets, and rows are moved out of a staging directory."""
    properties = f"{FULL_ACID}, 'bucketing_version'='1'"
    with setting(hive_client, "hive.acid.direct.insert.enabled", False, default=True):
        _check_a_life(differential, hive_client, f"{database}.orders", BOTH, properties)


def _check_a_life(
    differential: Differential, hive_client: HiveClient, table: str, storage: str, properties: str
) -> None:
    partitioned = "PARTITIONED" in storage
    day = ", day date" if not partitioned else ""
    hive_client.execute(
        f"CREATE TABLE {table} (id int, name string, amount decimal(12,2){day}) {storage} "
        f"STORED AS ORC TBLPROPERTIES ({properties})"
    )
    differential.check(table)
    for step in (
        f"INSERT INTO {table} VALUES (1, 'a', 1.5, '2026-01-01'), (2, 'b', 2, '2026-01-02'),"
        " (3, NULL, 3, '2026-01-01'), (4, 'd', NULL, '2026-01-02'), (5, 'e', 5, NULL)",
        f"INSERT INTO {table} SELECT id + 10, name, amount, day FROM {table} WHERE id < 3"
        f" UNION ALL SELECT id + 20, name, amount, day FROM {table} WHERE id > 2",
        f"UPDATE {table} SET name = concat(coalesce(name, ''), '!') WHERE id % 2 = 1",
        f"DELETE FROM {table} WHERE id IN (2, 13, 25)",
        f"MERGE INTO {table} t USING (SELECT 1 AS id UNION ALL SELECT 99) s ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET amount = 100"
        " WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new', 0, '2026-01-03')",
    ):
        hive_client.execute(step)
        differential.check(table, where="id > 3")
    for kind in ("minor", "major"):
        compact_everywhere(hive_client, table, kind, partitioned)
        differential.check(table, where="day = date '2026-01-02'")
        hive_client.execute(f"DELETE FROM {table} WHERE id = {1 if kind == 'minor' else 4}")
        hive_client.execute(f"INSERT INTO {table} VALUES (7, '{kind}', 7, '2026-01-01')")
        differential.check(table, where="id >= 7")
    hive_client.execute(f"TRUNCATE TABLE {table}")
    assert differential.check(table).rows == []
    hive_client.execute(f"INSERT INTO {table} VALUES (8, 'after', 8, '2026-01-01')")
    assert len(differential.check(table).rows) == 1


def test_overwrite_with_rows_and_with_none(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.overwritten"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1), (2), (3)")
    hive_client.execute(f"INSERT OVERWRITE TABLE {table} SELECT id FROM {table} WHERE id > 1")
    assert len(differential.check(table).rows) == 2
    hive_client.execute(f"INSERT OVERWRITE TABLE {table} SELECT id FROM {table} WHERE id > 9")
    differential.check(table)
    hive_client.execute(f"INSERT INTO {table} VALUES (4)")
    differential.check(table)


def test_single_operations(
    differential: Differential,
    hive_client: HiveClient,
    hive: HiveServer,
    database: str,
    tmp_path: Path,
) -> None:
    """Several inserts of one statement, deletes of all there is, and partitions that come again."""
    source, table = f"{database}.source", f"{database}.single"
    hive_client.script(
        f"""
        CREATE TABLE {source} (id int, v string) STORED AS ORC TBLPROPERTIES ({FULL_ACID});
        INSERT INTO {source} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd');
        CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int) STORED AS ORC
          TBLPROPERTIES ({FULL_ACID})
        """
    )

    def insert_twice(first: int, second: int, add: int) -> str:
        return (
            f"FROM {source} INSERT INTO {table} PARTITION (p={first}) SELECT id + {add}, v "
            f"WHERE id < 4 INSERT INTO {table} PARTITION (p={second}) SELECT id + {add}, v "
            "WHERE id > 1"
        )

    with pytest.raises(HiveSqlError, match="same output cannot be present multiple times"):
        hive_client.execute(insert_twice(1, 1, 0))
    for step in (
        insert_twice(1, 2, 0),
        insert_twice(2, 1, 10),
        f"DELETE FROM {table} WHERE id IN (2, 13)",
        f"DELETE FROM {table} WHERE p = 1",
        f"INSERT INTO {table} VALUES (21, 'e', 1), (22, 'f', 2), (23, 'g', 3)",
        f"ALTER TABLE {table} DROP PARTITION (p=2)",
        f"ALTER TABLE {table} ADD PARTITION (p=2)",
        insert_twice(3, 2, 30),
        f"DELETE FROM {table} WHERE id IN (23, 32)",
    ):
        hive_client.execute(step)
        checked = differential.check(table, where="p = 2 AND id > 2")
    directories = checked.directories
    assert any(d.startswith("p=2/delta_") and d.endswith("_0001") for d in directories)

    for step, left in ((f"DELETE FROM {table}", 0), (insert_twice(1, 2, 40), 6)):
        hive_client.execute(step)
        assert len(differential.check(table, where="p = 2").rows) == left

    place = tmp_path / "place"
    shutil.copytree(hive.warehouse / f"{database}.db" / "source", place)
    hive_client.execute(f"ALTER TABLE {source} SET LOCATION 'file:{place}'")
    hive_client.execute(f"INSERT INTO {source} VALUES (5, 'e')")
    hive_client.execute(f"DELETE FROM {source} WHERE id = 2")
    moved = differential.check(source, where="id > 1")
    assert all(data.file.path.startswith(f"file:{place}") for data in moved.plan.data)


def test_minor_after_minor_after_major(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.often"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    values = ", ".join(f"({i}, 'v{i}')" for i in range(20))
    hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    for number, kind in enumerate(("major", "minor", "minor"), start=1):
        hive_client.execute(f"UPDATE {table} SET v = concat(v, '!') WHERE id % 5 = {number}")
        hive_client.execute(f"DELETE FROM {table} WHERE id = {number}")
        hive_client.compact(table, kind)
        differential.check(table, where="v LIKE '%!'")
    assert len(differential.read(table).rows) == 17


def test_a_rebalance_compaction(
    differential: Differential, hive_client: HiveClient, hive: HiveServer, database: str
) -> None:
    """Rows move to other buckets and get other row ids.

    Hive itself reads the rewritten base, and goes on writing.
    """
    table = f"{database}.balanced"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    for first in (0, 10):
        values = ", ".join(f"({i}, 'v{i}')" for i in range(first, first + 10))
        hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (3, 12)")
    hive_client.compact(table, "major")
    (base,) = (hive.warehouse / f"{database}.db" / "balanced").glob("base_*")
    rebalance(base, buckets=3)
    assert len(differential.check(table, where="id > 10").rows) == 18
    hive_client.execute(f"DELETE FROM {table} WHERE id % 4 = 0")
    differential.check(table)
    hive_client.execute(f"UPDATE {table} SET v = 'changed' WHERE id % 5 = 0")
    differential.check(table, where="v = 'changed'")
    hive_client.compact(table, "minor")
    differential.check(table)


def test_tables_made_from_queries_renamed_and_moved(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    source, made, moved = (f"{database}.{name}" for name in ("source", "made", "moved"))
    hive_client.execute(
        f"CREATE TABLE {source} PARTITIONED BY (p) STORED AS ORC TBLPROPERTIES ({FULL_ACID}) AS "
        "SELECT 1 AS id, 'a' AS v, 1 AS p UNION ALL SELECT 2, 'b', 2 UNION ALL SELECT 3, 'c', 2"
    )
    differential.check(source, where="p = 2")
    hive_client.execute(
        f"CREATE TABLE {made} STORED AS ORC TBLPROPERTIES ({FULL_ACID}) AS SELECT * FROM {source}"
    )
    for table in (source, made):
        hive_client.execute(f"DELETE FROM {table} WHERE id = 2")
        differential.check(table)
    hive_client.execute(f"ALTER TABLE {source} RENAME TO {moved}")
    differential.check(moved, where="p = 2")
    hive_client.execute(f"INSERT INTO {moved} VALUES (4, 'd', 2)")
    hive_client.execute(f"UPDATE {moved} SET v = 'e' WHERE id IN (3, 4)")
    differential.check(moved)
