"""Skewed tables, compared with Hive.

Hive 4.0.1 makes no directories for the skewed values of a transactional table, also where it is
`STORED AS DIRECTORIES`, and refuses to convert a table that has such directories.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.changes import Changes, Story
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.tables import FULL_ACID, INSERT_ONLY

SETTINGS = (
    "hive.mapred.supports.subdirectories",
    "mapreduce.input.fileinputformat.input.dir.recursive",
)
"""What Hive asks for where it makes such directories."""


@pytest.fixture
def client(hive_client: HiveClient) -> Iterator[HiveClient]:
    """A session that makes directories for skewed values."""
    for setting in SETTINGS:
        hive_client.execute(f"SET {setting}=true")
    yield hive_client
    for setting in SETTINGS:
        hive_client.execute(f"SET {setting}=false")


@pytest.mark.parametrize(
    "table_is",
    [
        f"SKEWED BY (v) ON ('a', 'b') STORED AS ORC TBLPROPERTIES ({FULL_ACID})",
        "SKEWED BY (v) ON ('a', 'b') STORED AS DIRECTORIES STORED AS ORC "
        f"TBLPROPERTIES ({INSERT_ONLY})",
    ],
    ids=["full ACID", "insert-only, with directories"],
)
def test_a_skewed_table(
    differential: Differential, client: HiveClient, database: str, table_is: str
) -> None:
    table = f"{database}.skewed"
    client.execute(f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p int) {table_is}")
    client.execute(f"INSERT INTO {table} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    found = differential.check(table, where="v = 'a'")
    assert found.directories == ["p=1/delta_0000001_0000001_0000"]
    story = Story(Changes(differential), client, table)
    story.remember("one insert")
    story.then("INSERT INTO {t} PARTITION (p = 1) VALUES (4, 'a'), (5, 'd')")
    assert len(differential.check(table, where="v = 'a' and id > 1").rows) == 5


def test_a_plain_table_with_directories_is_looked_up(
    hive: HiveServer, client: HiveClient, database: str
) -> None:
    """A run looks up tables that it does not read, and Thrift for Python fails on their skew."""
    client.execute(
        "CREATE TABLE plain (id int, v string) SKEWED BY (v) ON ('a') STORED AS DIRECTORIES "
        "STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    client.execute("INSERT INTO plain VALUES (1, 'a'), (2, 'b')")
    place = hive.warehouse / f"{database}.db" / "plain"
    assert (place / "v=a").is_dir()
    with MetastoreClient(hive.metastore_uri, timeout=30) as metastore:
        name = TableName(database, "plain")
        table = metastore.get_tables([name])[name]
        assert metastore.get_table(name) == table
    assert [column.name for column in table.storage.columns] == ["id", "v"]
    with pytest.raises(HiveSqlError, match="Converting list bucketed tables stored as subdirector"):
        client.execute(f"ALTER TABLE plain SET TBLPROPERTIES ({INSERT_ONLY})")
