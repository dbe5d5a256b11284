"""The history of "Hive ACID: viewing the ORC delta files" (Lester Martin, 2019), step by step.

The article shows the directories, the files and the rows after each transaction of a partitioned
table `try_it`, on Hive 3. Hive 4 gives the same but for two names: files end in an attempt id, and
an UPDATE is two statements of its transaction, so that its new rows are statement 1 (`_0001`).
(`hive.split.update=false` should undo that; in 4.0.1 it writes the rows into wrong partitions.)
"""

from __future__ import annotations

from pathlib import Path

import pyorc
import pytest

from integration.support.differential import Differential, canonical
from integration.support.hive import HiveClient

BUCKET_0 = 536870912  # statement 0; + 1: statement 1

TRANSACTIONS = [
    (
        "INSERT INTO {table} VALUES (1, 'noise', 'bogus', 'p1')",
        ["prt=p1/delta_0000001_0000001_0000"],
        [(1, "noise", "bogus", "p1")],
    ),
    (
        "INSERT INTO {table} VALUES (2, 'noise', 'bogus', 'p2'), (3, 'noise', 'bogus', 'p3')",
        ["prt=p2/delta_0000002_0000002_0000", "prt=p3/delta_0000002_0000002_0000"],
        [
            (1, "noise", "bogus", "p1"),
            (2, "noise", "bogus", "p2"),
            (3, "noise", "bogus", "p3"),
        ],
    ),
    (
        "UPDATE {table} SET b_val = 'bogus2' WHERE a_val = 'noise'",
        [
            f"prt={partition}/{name}"
            for partition in ("p1", "p2", "p3")
            for name in ("delete_delta_0000003_0000003_0000", "delta_0000003_0000003_0001")
        ],
        [
            (1, "noise", "bogus2", "p1"),
            (2, "noise", "bogus2", "p2"),
            (3, "noise", "bogus2", "p3"),
        ],
    ),
    (
        "UPDATE {table} SET b_val = 'bogus3' WHERE b_val = 'bogus2' AND prt = 'p2'",
        ["prt=p2/delete_delta_0000004_0000004_0000", "prt=p2/delta_0000004_0000004_0001"],
        [
            (1, "noise", "bogus2", "p1"),
            (2, "noise", "bogus3", "p2"),
            (3, "noise", "bogus2", "p3"),
        ],
    ),
    (
        "DELETE FROM {table} WHERE a_val = 'noise' AND prt = 'p1'",
        ["prt=p1/delete_delta_0000005_0000005_0000"],
        [(2, "noise", "bogus3", "p2"), (3, "noise", "bogus2", "p3")],
    ),
    (
        "INSERT INTO {table} VALUES (1, 'noise', 'bogus2', 'p3')",
        ["prt=p3/delta_0000006_0000006_0000"],
        [
            (1, "noise", "bogus2", "p3"),
            (2, "noise", "bogus3", "p2"),
            (3, "noise", "bogus2", "p3"),
        ],
    ),
]

# What the article's `orc-tools data` printed: file, rows.
CONTENTS = {
    "prt=p1/delta_0000001_0000001_0000": (0, 1, BUCKET_0, 0, 1, (1, "noise", "bogus")),
    "prt=p2/delta_0000002_0000002_0000": (0, 2, BUCKET_0, 0, 2, (2, "noise", "bogus")),
    "prt=p3/delta_0000002_0000002_0000": (0, 2, BUCKET_0, 0, 2, (3, "noise", "bogus")),
    "prt=p2/delete_delta_0000003_0000003_0000": (2, 2, BUCKET_0, 0, 3, None),
    "prt=p2/delta_0000003_0000003_0001": (0, 3, BUCKET_0 + 1, 0, 3, (2, "noise", "bogus2")),
}


def test_the_articles_history(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.try_it"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, a_val string, b_val string) PARTITIONED BY (prt string) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true', 'NO_AUTO_COMPACTION'='true')"
    )
    location = _location(hive_client, table)
    known: set[str] = set()
    for statement, directories, rows in TRANSACTIONS:
        hive_client.execute(statement.format(table=table))
        now = _directories(location)
        assert sorted(now - known) == sorted(directories), statement
        known = now
        assert canonical(differential.check(table).rows) == canonical(rows), statement
    for directory, row in CONTENTS.items():
        assert _names(location / directory) == ["_orc_acid_version", "bucket_00000_0"]
        with (location / directory / "bucket_00000_0").open("rb") as file:
            assert list(pyorc.Reader(file)) == [row]


def test_a_partition_column_cannot_be_updated(hive_client: HiveClient, database: str) -> None:
    """The article's fifth transaction as first tried."""
    table = f"{database}.try_it"
    hive_client.execute(
        f"CREATE TABLE {table} (id int) PARTITIONED BY (prt string) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    with pytest.raises(Exception, match="Updating values of partition columns is not supported"):
        hive_client.execute(f"UPDATE {table} SET prt = 'p3' WHERE prt = 'p1'")


def _location(client: HiveClient, table: str) -> Path:
    rows = client.query(f"DESCRIBE FORMATTED {table}")
    location = next(row[1] for row in rows if str(row[0]).startswith("Location"))
    return Path(location.removeprefix("file:"))


def _directories(location: Path) -> set[str]:
    found = (path for path in location.glob("prt=*/*") if path.is_dir())
    return {str(path.relative_to(location)) for path in found if not path.name.startswith(".")}


def _names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))
