"""Changes between two snapshots where partitions and files come from elsewhere."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pyorc
import pytest

from integration.support.changes import Changes, Story, directories
from integration.support.differential import Differential
from integration.support.hive import HiveClient, HiveServer, HiveSqlError
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS, swap_partitions


@pytest.fixture
def changes(differential: Differential) -> Changes:
    """The checks of changes."""
    return Changes(differential)


@pytest.mark.long("a minute of dropped, added and moved partitions")
@pytest.mark.parametrize("properties", [FULL_ACID, INSERT_ONLY], ids=["full acid", "insert-only"])
def test_partitions_that_come_with_their_files(
    changes: Changes,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
    properties: str,
) -> None:
    """ADD PARTITION moves them into a delta of a new write id; SET LOCATION moves nothing."""
    table, full_acid = f"{database}.placed", properties == FULL_ACID
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p string) STORED AS ORC "
        f"TBLPROPERTIES ({properties})"
    )
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'y')")
    story = Story(changes, hive_client, table)
    story.remember("first")
    place = tmp_path / "z"
    place.mkdir()
    for name, ids in {"000000_0": (10, 11), "000001_0": (12,)}.items():
        with (place / name).open("wb") as file, pyorc.Writer(file, "struct<id:int,v:string>") as w:
            w.writerows([(id, "from elsewhere") for id in ids])
    add = f"ALTER TABLE {{t}} ADD PARTITION (p='z') LOCATION 'file:{place}'"
    plans = story.then(f"{add} PARTITION (p='empty')")
    assert directories(plans["first"]) == ["p=z/delta_0000002_0000002_0000"]
    story.remember("added")
    if full_acid:
        story.then("UPDATE {t} SET v = 'seen' WHERE id IN (10, 12)")
        changes.check_row_ids(table, story.remember("updated"))
    else:
        story.then("INSERT INTO {t} VALUES (13, 'more', 'z'), (14, 'first', 'empty')")
        story.remember("updated")
    hive_client.execute(f"CREATE TABLE {table}_other LIKE {table}")
    hive_client.execute(f"INSERT INTO {table}_other VALUES (4, 'd', 'y')")
    with pytest.raises(HiveSqlError, match="xchange partition is not allowed with transactional"):
        hive_client.execute(
            f"ALTER TABLE {table}_other EXCHANGE PARTITION (p='y') WITH TABLE {table}"
        )

    # The files that had been seen, in another place.
    shutil.move(hive.warehouse / f"{database}.db" / "placed" / "p=y", tmp_path / "moved")
    moved = ["partition p=y: it was moved from file:"]
    story.then(
        f"ALTER TABLE {{t}} PARTITION (p='y') SET LOCATION 'file:{tmp_path}/moved'",
        lost=dict.fromkeys(("first", "added", "updated"), moved),
    )
    story.remember("moved")
    story.then("INSERT INTO {t} VALUES (5, 'e', 'y')")
    story.remember("grown")
    # Those of another table, with the same write ids and row ids.
    other = f"{hive.warehouse}/{database}.db/placed_other/p=y"
    story.then(
        f"ALTER TABLE {{t}} PARTITION (p='y') SET LOCATION 'file:{other}'",
        lost=dict.fromkeys(("moved", "grown"), moved),
    )
    story.remember("another's")
    story.then("INSERT INTO {t} VALUES (6, 'f', 'y')")


@pytest.mark.long("a minute of compactions")
def test_originals_that_are_compacted_alone(
    changes: Changes, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """The rows keep their row ids in a base of no write id.

    As they are numbered from 0 on in one bucket, a REBALANCE compaction could have made it, too.
    """
    table = f"{database}.converted"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p string) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    for first in (0, 10):
        values = ", ".join(f"({first + i}, 'v', '{p}')" for p in "xy" for i in range(3))
        hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    hive_client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")
    story = Story(changes, hive_client, table)
    changes.check_row_ids(table, story.remember("converted"))
    numbered = {
        "converted": ["partition p=x: the compaction that made base_-9223372036854775808_v"]
    }
    story.then(story.compact("major", "p='x'"), lost=numbered)
    bases = (hive.warehouse / f"{database}.db" / "converted").glob("p=*/base_*")
    assert [(base.parent.name, base.name.split("_v")[0]) for base in bases] == [
        ("p=x", "base_-9223372036854775808")
    ]
    changes.check_row_ids(table, story.remember("compacted"))
    story.then("DELETE FROM {t} WHERE id IN (1, 12)", lost=numbered)
    story.then("UPDATE {t} SET v = 'x' WHERE id IN (0, 11)", lost=numbered)
    changes.check_row_ids(table, story.remember("updated"))
    story.then(story.compact("minor", "p='x'"), lost=numbered)
    took_in = ["partition p=y: the compaction that made base_10000002_v"]
    story.then(
        story.compact("major", "p='y'"),
        lost={"converted": [*numbered["converted"], *took_in], "compacted": took_in},
    )
    story.then("DELETE FROM {t} WHERE id IN (2, 10)")


def test_files_of_before_a_table_was_insert_only(
    changes: Changes, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """The conversion moves them into a delta of a write id: to a target they are rows as others."""
    table = f"{database}.converted"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, p int) STORED AS PARQUET "
        "TBLPROPERTIES ('transactional'='false')"
    )
    for first in (1, 2):
        hive_client.execute(f"INSERT INTO {table} VALUES ({first}, 1), ({first + 10}, 1)")
    hive_client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({INSERT_ONLY})")
    story = Story(changes, hive_client, table)
    converted = story.remember("converted")
    assert len(converted.shown) == 4
    assert converted.state.locations[0].last_write_id == 1
    plans = story.then("INSERT INTO {t} VALUES (3, 1)")
    assert directories(plans["converted"]) == ["delta_0000002_0000002_0000"]
    story.remember("grown")
    story.then(
        story.compact("major"),
        lost={"converted": ["the compaction that made base_0000002_v"]},
    )
    story.then("INSERT INTO {t} VALUES (4, 1)")


@pytest.mark.parametrize("kind", ["minor", pytest.param("major", marks=REPEATS)])
def test_compacted_partitions_that_swap_their_names(
    changes: Changes, hive_client: HiveClient, database: str, kind: str
) -> None:
    """Their row ids and write ids are the same; the compactions of what was seen differ."""
    table = f"{database}.swapped"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p string) "
        f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    for first in (1, 3):
        hive_client.execute(
            f"INSERT INTO {table} VALUES ({first}, 'a', 'x'), ({first + 1}, 'b', 'y')"
        )
    for partition in "xy":
        hive_client.compact(table, kind, f"p='{partition}'")
    story = Story(changes, hive_client, table)
    story.remember("compacted")
    story.then(
        lambda: swap_partitions(hive_client, table),
        lost={"compacted": ["partition p=x: ", "partition p=y: "]},
    )


def test_another_partition_of_an_older_one_s_name(
    changes: Changes, hive_client: HiveClient, database: str
) -> None:
    """Its rows have row ids that the other one's had; so they cannot be compared by them."""
    table = f"{database}.renamed"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p string) "
        f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    hive_client.execute(f"ALTER TABLE {table} ADD PARTITION (p='y')")
    time.sleep(1)
    for first in (1, 3):
        hive_client.execute(
            f"INSERT INTO {table} VALUES ({first}, 'a', 'x'), ({first + 1}, 'b', 'y')"
        )
    story = Story(changes, hive_client, table)
    story.remember("first")
    hive_client.compact(table, "major", "p='y'")
    hive_client.execute(f"ALTER TABLE {table} DROP PARTITION (p='x')")
    story.then(
        "ALTER TABLE {t} PARTITION (p='y') RENAME TO PARTITION (p='x')",
        lost={
            "first": ["partition p=x: it was dropped and created again", "partition p=y: it was"]
        },
    )
