"""IMPORT of an EXPORT of an insert-only table, compared with Hive.

IMPORT keeps the directories of the exported table inside of one delta, also those of a table that
was imported itself. Hive shows their rows where it reads directories recursively, which its
compiler for Tez always does. Without that MapReduce fails on text and Parquet, and shows no row of
ORC.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.support.changes import Changes, Story
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveSqlError
from integration.support.tables import INSERT_ONLY, REPEATS

RECURSIVE = "mapreduce.input.fileinputformat.input.dir.recursive"


@pytest.fixture
def client(hive_client: HiveClient) -> Iterator[HiveClient]:
    """A session that reads directories recursively."""
    hive_client.execute(f"SET {RECURSIVE}=true")
    yield hive_client
    hive_client.execute(f"SET {RECURSIVE}=false")


@pytest.mark.parametrize("format", ["ORC", "PARQUET", pytest.param("TEXTFILE", marks=REPEATS)])
def test_an_imported_table(
    differential: Differential, client: HiveClient, database: str, tmp_path: Path, format: str
) -> None:
    client.execute(
        f"CREATE TABLE s (id int, v string) STORED AS {format} TBLPROPERTIES ({INSERT_ONLY})"
    )
    client.execute("INSERT OVERWRITE TABLE s SELECT 1, 'a'")
    client.execute("INSERT INTO s VALUES (2, 'b')")
    client.execute("INSERT INTO s VALUES (3, 'c')")
    client.execute(f"EXPORT TABLE s TO '{tmp_path}/once'")
    client.execute(f"IMPORT TABLE imported FROM '{tmp_path}/once'")
    table = f"{database}.imported"
    found = differential.check(table, where="id > 1")
    assert [directory.split("/")[1] for directory in found.directories] == [
        "export_old_base_0000001",
        "export_old_delta_0000002_0000002_0000",
        "export_old_delta_0000003_0000003_0000",
    ]
    story = Story(Changes(differential), client, table)
    story.remember("imported")
    story.then("INSERT INTO {t} VALUES (4, 'd')")

    client.execute(f"EXPORT TABLE imported TO '{tmp_path}/twice'")
    client.execute(f"IMPORT TABLE again FROM '{tmp_path}/twice'")
    found = differential.check(f"{database}.again", where="id > 2")
    assert len(found.rows) == 4
    assert any(directory.count("export_old_") == 2 for directory in found.directories)

    client.execute(f"SET {RECURSIVE}=false")
    if format == "ORC":
        assert client.query("SELECT * FROM again") == []
    else:
        with pytest.raises(HiveSqlError, match="Not a file"):
            client.query("SELECT * FROM again")


def test_imported_partitions(
    differential: Differential, client: HiveClient, database: str, tmp_path: Path
) -> None:
    client.execute(
        "CREATE TABLE s (id int) PARTITIONED BY (p int) STORED AS ORC "
        f"TBLPROPERTIES ({INSERT_ONLY})"
    )
    client.execute("INSERT INTO s VALUES (1, 1), (2, 2)")
    client.execute("INSERT INTO s VALUES (3, 1)")
    client.execute(f"EXPORT TABLE s TO '{tmp_path}/exported'")
    client.execute(f"IMPORT TABLE imported FROM '{tmp_path}/exported'")
    table = f"{database}.imported"
    assert len(differential.check(table, where="p = 1 and id > 1").rows) == 3
    story = Story(Changes(differential), client, table)
    story.remember("imported")
    story.then("INSERT INTO {t} VALUES (4, 1), (5, 3)")
    story.then("INSERT OVERWRITE TABLE {t} PARTITION (p = 2) VALUES (6)", {"imported": ["overw"]})
