"""INSERT … UNION ALL whose branches are jobs of their own: each leaves a directory below a delta
or, in a table that is not transactional yet, below the table."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from integration.support.changes import Changes, Story, directories
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS, compact_everywhere

PARTITIONED = "PARTITIONED BY (p int)"

SETTINGS = {
    "hive.optimize.union.remove": True,
    # Hive asks for these beside it.
    "hive.mapred.supports.subdirectories": True,
    "mapreduce.input.fileinputformat.input.dir.recursive": True,
    # Else it puts the small files of a table that is not transactional together.
    "hive.merge.mapfiles": False,
}
"""Each is the other way round by default."""


@pytest.fixture
def client(hive_client: HiveClient) -> Iterator[HiveClient]:
    """A session whose UNION ALL leaves directories."""
    for setting, value in SETTINGS.items():
        hive_client.execute(f"SET {setting}={value}")
    yield hive_client
    for setting, value in SETTINGS.items():
        hive_client.execute(f"SET {setting}={not value}")


def insert_union(client: HiveClient, table: str, first: int) -> None:
    """Insert nine rows in three branches. GROUP BY makes a job of each."""
    numbers = f"{table}_numbers"
    client.execute(f"CREATE TABLE IF NOT EXISTS {numbers} (n int) STORED AS ORC")
    client.execute(f"TRUNCATE TABLE {numbers}")
    client.execute(f"INSERT INTO {numbers} VALUES (1), (2), (3)")
    branches = " UNION ALL ".join(
        f"SELECT n + {first + 10 * i} AS id, concat('{i} ', max(n)) AS name, n % 2 AS p "
        f"FROM {numbers} GROUP BY n"
        for i in range(3)
    )
    client.execute(f"INSERT INTO {table} SELECT id, name, p FROM ({branches}) u")


def create(client: HiveClient, table: str, partition: str, format: str, properties: str) -> None:
    """A table that `insert_union` fits."""
    columns = "id int, name string" + ("" if partition == PARTITIONED else ", p int")
    client.execute(
        f"CREATE TABLE {table} ({columns}) {partition} STORED AS {format} "
        f"TBLPROPERTIES ({properties})"
    )


@pytest.mark.parametrize(
    "partition", [pytest.param("", marks=REPEATS), PARTITIONED], ids=["plain", "partitioned"]
)
def test_original_files(
    differential: Differential, client: HiveClient, database: str, partition: str
) -> None:
    """The names of the directories decide how Hive numbers the rows.

    Hive's own count(*) fails here: it takes the directory for a delta (docs/hive-quirks.md).
    """
    table = f"{database}.united"
    create(client, table, partition, "ORC", "'transactional'='false'")
    for first in (0, 100):
        insert_union(client, table, first)
    client.execute(f"INSERT INTO {table} VALUES (200, 'beside the directories', 1)")
    client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")
    found = differential.check(table, where="p = 1")
    assert sum("HIVE_UNION_SUBDIR" in directory for directory in found.directories) >= 3
    story = Story(Changes(differential), client, table)
    story.remember("original files alone")
    for step in (
        "DELETE FROM {t} WHERE id IN (2, 13, 21, 101, 112)",
        "UPDATE {t} SET name = 'changed' WHERE id IN (1, 123, 200)",
    ):
        story.then(step)
        differential.check(table, where="p = 0")
    compact_everywhere(client, table, "major", bool(partition))
    differential.check(table, where="id > 100")


def test_original_files_of_buckets_in_a_directory(
    differential: Differential, client: HiveClient, hive: HiveServer, database: str
) -> None:
    """Hive makes none for buckets, so that somebody else has: the rows of a bucket count on."""
    table = f"{database}.united"
    create(client, table, "CLUSTERED BY (id) INTO 2 BUCKETS", "ORC", "'transactional'='false'")
    for first in (0, 100):
        insert_union(client, table, first)
    place = hive.warehouse / f"{database}.db" / "united"
    (place / "1").mkdir()
    for file in [*place.glob("*_copy_1"), *place.glob(".*_copy_1.crc")]:
        file.rename(place / "1" / file.name)
    client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")
    found = differential.check(table, where="p = 1")
    assert found.directories == ["", "1"]
    for step in (
        f"DELETE FROM {table} WHERE id IN (2, 13, 21, 101, 112)",
        f"UPDATE {table} SET name = 'changed' WHERE id IN (1, 123)",
    ):
        client.execute(step)
        differential.check(table, where="p = 0")


@pytest.mark.parametrize(
    ("format", "partition"),
    [
        pytest.param("PARQUET", PARTITIONED, id="parquet, partitioned"),
        pytest.param("ORC", "", id="orc", marks=REPEATS),
        pytest.param("TEXTFILE", "", id="text", marks=REPEATS),
    ],
)
def test_insert_only(
    differential: Differential, client: HiveClient, database: str, format: str, partition: str
) -> None:
    table = f"{database}.united"
    create(client, table, partition, format, INSERT_ONLY)
    insert_union(client, table, 0)
    found = differential.check(table, where="p = 1")
    assert any("HIVE_UNION_SUBDIR" in directory for directory in found.directories)
    story = Story(Changes(differential), client, table)
    story.remember("one insert")
    plans = story.then(lambda: insert_union(client, table, 100))
    read = directories(plans["one insert"])
    assert len(read) >= 3 and all("HIVE_UNION_SUBDIR" in directory for directory in read)
    differential.check(table, where="id > 20")


def test_full_acid(differential: Differential, client: HiveClient, database: str) -> None:
    """Here each branch is a statement of its own, and no directory is left."""
    table = f"{database}.united"
    create(client, table, "", "ORC", FULL_ACID)
    insert_union(client, table, 0)
    found = differential.check(table)
    assert [directory[-5:] for directory in found.directories] == ["_0001", "_0002", "_0003"]
    client.execute(f"DELETE FROM {table} WHERE id IN (2, 13)")
    differential.check(table, where="p = 0")
