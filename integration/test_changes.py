"""What changed between two snapshots, compared with the rows that Hive showed in both."""

from __future__ import annotations

import json
from pathlib import Path

import pyorc
import pytest

from hiveacid.changes.plan import plan_before_images
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.changes import Changes, Story, directories
from integration.support.differential import Differential
from integration.support.emptied import Emptied
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer
from integration.support.tables import FULL_ACID, INSERT_ONLY, rebalance, swap_partitions

ORC = f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"


@pytest.fixture
def changes(differential: Differential) -> Changes:
    """The checks of changes."""
    return Changes(differential)


@pytest.mark.long("a minute; the same operations on a partitioned table are always run")
def test_a_plain_table(
    changes: Changes,
    differential: Differential,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
) -> None:
    """With compactions, a transaction that commits late, and changes in batches."""
    table = f"{database}.plain"
    hive_client.execute(f"CREATE TABLE {table} (id int, v string) {ORC}")
    story = Story(changes, hive_client, table)
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    hive_client.execute(f"UPDATE {table} SET v = 'seen' WHERE id = 4")
    first = story.remember("first")
    plans = story.then("UPDATE {t} SET v = 'x' WHERE id = 1")
    assert directories(plans["first"]) == [
        "delete_delta_0000003_0000003_0000",
        "delta_0000003_0000003_0001",
    ]
    before_images = plan_before_images(differential.spark, plans["first"])
    (file,) = before_images.data
    assert file.file.relative == "delta_0000001_0000001_0000/bucket_00000_0"
    with MetastoreClient(hive.metastore_uri, timeout=30) as client:
        late = OpenWriter.begin(client, TableName(database, "plain"), None, deletes=False)
        late.insert([100, 101])
        aborted = OpenWriter.begin(client, TableName(database, "plain"), None, deletes=False)
        aborted.insert([200])
        client.abort_txn(aborted.txn_id)
        hive_client.execute(f"INSERT INTO {table} VALUES (5, 'gone soon')")
        client.heartbeat(late.txn_id)
        early = story.remember("before the late commit")
        assert early.state.write_ids.open == {late.write_id}
        client.commit_txn(late.txn_id)
    # Insert and delete since the first snapshot net to nothing.
    plans = story.then("DELETE FROM {t} WHERE id IN (2, 5)")
    assert str(plans["before the late commit"].new_write_ids) == "4, 7"
    story.then(story.compact("minor"))
    assert len(changes.check_batches(table, first, max_write_ids=2)) == 2
    hive_client.execute(f"DELETE FROM {table} WHERE id = 100")
    last = story.remember("last")
    changes.check_row_ids(table, last)
    took_in = "includes write ids"
    story.then(
        story.compact("major"),
        lost={"first": [f"{took_in} 3-4, 6-8"], "before the late commit": [f"{took_in} 4, 7-8"]},
    )
    plans = story.then("UPDATE {t} SET v = 'y' WHERE id IN (1, 3)")
    assert len(plans["last"].read) == 2
    story.then(
        "INSERT OVERWRITE TABLE {t} SELECT id, 'over' FROM {t} WHERE id < 4",
        lost={"last": ["write id 10 replaced all rows (overwrite or truncate): base_0000010"]},
    )
    story.remember("overwritten")
    story.then("TRUNCATE TABLE {t}", lost={"overwritten": ["write id 11 replaced all rows"]})


def test_before_images_are_looked_up_in_the_buckets_that_lost_rows(
    changes: Changes, differential: Differential, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.bucketed"
    hive_client.execute(f"CREATE TABLE {table} (id int) CLUSTERED BY (id) INTO 3 BUCKETS {ORC}")
    hive_client.execute(f"INSERT INTO {table} VALUES {', '.join(f'({i})' for i in range(12))}")
    story = Story(changes, hive_client, table)
    story.remember("all")
    buckets = {
        int(json.loads(row_id)["bucketid"]) >> 16 & 0xFFF: id
        for id, row_id in hive_client.query(f"SELECT id, ROW__ID FROM {table}")
    }
    assert sorted(buckets) == [0, 1, 2]
    plans = story.then(f"DELETE FROM {{t}} WHERE id IN ({buckets[0]}, {buckets[2]})")
    files = plan_before_images(differential.spark, plans["all"]).data
    assert sorted(data.file.name[:12] for data in files) == ["bucket_00000", "bucket_00002"]


def test_a_rebalanced_base(
    changes: Changes, hive: HiveServer, hive_client: HiveClient, database: str
) -> None:
    """Stored row ids no longer hold; everything else does."""
    table = f"{database}.balanced"
    hive_client.execute(f"CREATE TABLE {table} (id int) {ORC}")
    for first in (0, 10):
        values = ", ".join(f"({i})" for i in range(first, first + 4))
        hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    seen = changes.take(table)
    hive_client.compact(table, "major")
    changes.check(table, seen)
    (base,) = (hive.warehouse / f"{database}.db" / "balanced").glob("base_*")
    rebalance(base, buckets=2)
    plan = changes.check(table, seen, [f"the compaction that made {base.name} may have numbered"])
    assert plan.is_empty


def test_files_without_statistics(changes: Changes, hive_client: HiveClient, database: str) -> None:
    """A row index stride of 0 leaves them out: the row ids of deletes are in no footer."""
    table = f"{database}.unindexed"
    properties = f"{FULL_ACID}, 'orc.row.index.stride'='0'"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) STORED AS ORC TBLPROPERTIES ({properties})"
    )
    story = Story(changes, hive_client, table)
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    story.remember("first")
    plans = story.then("DELETE FROM {t} WHERE id = 1")
    (delete,) = plans["first"].deletes
    assert delete.row_id_range is not None and not delete.row_id_range.is_known
    story.remember("second")
    hive_client.execute(f"INSERT INTO {table} VALUES (5, 'e'), (6, 'f')")
    story.then("UPDATE {t} SET v = 'x' WHERE id IN (2, 5)")
    story.then("DELETE FROM {t} WHERE id = 6")
    story.then(story.compact("minor"))
    story.then("DELETE FROM {t} WHERE id = 3")
    story.remember("last")
    took_in = "the compaction that made base_0000006_v"
    story.then(
        story.compact("major"),
        lost={name: [took_in] for name in ("first", "second", "last")},
    )


def test_a_partitioned_table(changes: Changes, hive_client: HiveClient, database: str) -> None:
    """Row ids repeat from partition to partition; partitions come, go and are rewritten."""
    table = f"{database}.parted"
    hive_client.execute(f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p string) {ORC}")
    story = Story(changes, hive_client, table)
    hive_client.execute(
        f"INSERT INTO {table} VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y/z'), "
        "(4, 'd', 'y/z'), (5, 'e', 'w'), (6, 'f', NULL), (7, 'g', NULL)"
    )
    story.remember("first")
    plans = story.then("DELETE FROM {t} WHERE id IN (2, 3)")
    assert directories(plans["first"]) == [
        "p=x/delete_delta_0000002_0000002_0000",
        "p=y%2Fz/delete_delta_0000002_0000002_0000",
    ]
    second = story.remember("second")
    assert {row_id["partition"] for row_id in second.by_id} == {
        "p=x",
        "p=y%2Fz",
        "p=w",
        "p=__HIVE_DEFAULT_PARTITION__",
    }
    story.then("INSERT INTO {t} VALUES (10, 'new', 'v'), (11, 'k', 'x')")
    story.remember("third")
    story.then(
        "ALTER TABLE {t} DROP PARTITION (p='w')",
        lost={name: ["partition p=w: it was dropped"] for name in ("first", "second", "third")},
    )
    story.remember("without w")
    hive_client.execute(f"UPDATE {table} SET v = 'up' WHERE id IN (6, 11)")
    again = "INSERT INTO {t} VALUES (20, 'again', 'w')"
    changes.check(table, second, ["partition p=w: it was dropped"])
    story.then(again)
    changes.check(table, second, ["partition p=w: it was dropped and created again (createTime"])
    story.remember("with w")
    story.then(
        "INSERT OVERWRITE TABLE {t} PARTITION (p='x') SELECT id + 100, v FROM {t} WHERE p = 'x'",
        lost={name: ["partition p=x: write id 7 replaced"] for name in ("without w", "with w")},
    )
    story.remember("last")
    default = "p='__HIVE_DEFAULT_PARTITION__'"
    hive_client.execute(f"DELETE FROM {table} WHERE id = 7")
    story.then(
        story.compact("major", default),
        lost={"last": ["partition p=__HIVE_DEFAULT_PARTITION__: the compaction that made base_"]},
    )


def test_partitions_that_swap_their_names(
    changes: Changes, hive_client: HiveClient, database: str
) -> None:
    """Nothing but their files tells them apart: row ids are unique in a partition only."""
    table = f"{database}.swapped"
    hive_client.execute(f"CREATE TABLE {table} (id int, v string) PARTITIONED BY (p string) {ORC}")
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 'a', 'x'), (2, 'b', 'y')")
    seen = changes.take(table)
    swap_partitions(hive_client, table)
    other = "are not the files that were read before"
    changes.check(table, seen, lost=[other, other])


def test_what_a_compaction_of_hive_loses(
    changes: Changes, hive_client: HiveClient, database: str
) -> None:
    """Hive 4.0.1 loses what it compacts where a path is not ASCII (docs/hive-quirks.md)."""
    table, partition = f"{database}.emptied", "p='日'"
    hive_client.execute(f"CREATE TABLE {table} (id int) PARTITIONED BY (p string) {ORC}")
    hive_client.execute(f"INSERT OVERWRITE TABLE {table} PARTITION ({partition}) VALUES (1), (2)")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, '日'), (4, 'a')")
    hive_client.execute(f"INSERT INTO {table} VALUES (8, '日')")
    hive_client.execute(f"DELETE FROM {table} WHERE id IN (1, 3)")
    story = Story(changes, hive_client, table)
    before = story.remember("before")
    assert sorted(row[0] for row in before.shown) == ["2", "4", "8"]
    lost = "partition p=日: the compaction that made {}"
    delta = "delta_0000002_0000004_v"
    story.then(story.compact("minor", partition), lost={"before": [lost.format(delta)]})
    after = story.remember("after")
    assert sorted(row[0] for row in after.shown) == ["1", "2", "4"], "Hive shows deleted rows"
    story.then(f"INSERT INTO {table} VALUES (5, '日'), (6, '日')")
    story.then(f"DELETE FROM {table} WHERE id IN (2, 6)")
    changes.check(table, before, [lost.format(delta)])
    base = "base_0000006_v"
    story.then(story.compact("major", partition), lost={"after": [lost.format(base)]})
    assert [row[0] for row in story.remember("compacted").shown] == ["4"], "Hive shows no row"
    story.then(f"INSERT INTO {table} VALUES (7, '日')")


def test_what_a_compaction_of_an_insert_only_table_loses(
    changes: Changes,
    differential: Differential,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
) -> None:
    """Hive 4.0.1 takes nothing in beside an aborted and an open write id (docs/hive-quirks.md)."""
    name = TableName(database, "emptied")
    with Emptied.make(hive, hive_client, name, tmp_path) as table:
        story = Story(changes, hive_client, str(name))
        assert [row[0] for row in story.remember("before").shown] == ["1", "2"]
        emptied: list[str] = []
        story.then(lambda: emptied.append(table.compact().name))
        story.remember("compacted")
        assert (
            differential.check(str(name))
            .plan.rows_hive_will_drop[0]
            .endswith(f"/emptied/{emptied[0]}")
        )
        lost = [f"the compaction that made {emptied[0]} left it empty"]

        def commit_and_wait_for_the_cleaner() -> None:
            table.commit()
            assert table.is_cleaned()

        story.then(
            commit_and_wait_for_the_cleaner, lost=dict.fromkeys(("before", "compacted"), lost)
        )
        assert [row[0] for row in story.remember("after").shown] == ["3"], "Hive keeps the rows"


def test_original_and_loaded_files(
    changes: Changes, hive_client: HiveClient, database: str, tmp_path: Path
) -> None:
    """Their row ids go by position; here in two buckets."""
    table = f"{database}.converted"
    hive_client.execute(
        f"CREATE TABLE {table} (id int, v string) CLUSTERED BY (id) INTO 2 BUCKETS "
        "STORED AS ORC TBLPROPERTIES ('transactional'='false')"
    )
    for first in (0, 100):
        values = ", ".join(f"({first + i}, 'v{i}')" for i in range(6))
        hive_client.execute(f"INSERT INTO {table} VALUES {values}")
    hive_client.execute(f"ALTER TABLE {table} SET TBLPROPERTIES ({FULL_ACID})")
    story = Story(changes, hive_client, table)
    changes.check_row_ids(table, story.remember("converted"))
    plans = story.then("DELETE FROM {t} WHERE id IN (1, 2, 104)")
    assert len(plans["converted"].read) == 2, "one delete file a bucket"
    story.then("UPDATE {t} SET v = 'x' WHERE id IN (0, 3, 103)")
    story.remember("updated")
    story.then(story.compact("minor"))
    path = tmp_path / "000001_0"
    with path.open("wb") as file, pyorc.Writer(file, "struct<id:int,v:string>") as writer:
        writer.writerows([(1001, "loaded"), (1003, "loaded"), (1005, "loaded")])
    hive_client.execute(f"LOAD DATA LOCAL INPATH 'file:{path}' INTO TABLE {table}")
    story.then("UPDATE {t} SET v = 'y' WHERE id IN (1003, 105, 0)")
    last = story.remember("last")
    changes.check_row_ids(table, last)
    story.then(
        story.compact("major"),
        lost={name: ["includes write ids"] for name in ("converted", "updated")},
    )
    story.then("DELETE FROM {t} WHERE id IN (3, 1001, 105)")


@pytest.mark.parametrize(
    ("storage", "partition"),
    [("STORED AS PARQUET", ""), ("STORED AS TEXTFILE", "PARTITIONED BY (p int)")],
    ids=["plain", "partitioned"],
)
def test_an_insert_only_table(
    changes: Changes, hive_client: HiveClient, database: str, storage: str, partition: str
) -> None:
    table = f"{database}.appended"
    column = "" if partition else ", p int"
    hive_client.execute(
        f"CREATE TABLE {table} (id int{column}) {partition} {storage} TBLPROPERTIES ({INSERT_ONLY})"
    )
    name = "partition p=1: " if partition else ""
    story = Story(changes, hive_client, table)
    hive_client.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 1)")
    story.remember("first")
    plans = story.then("INSERT INTO {t} VALUES (3, 1)")
    (directory,) = directories(plans["first"])
    assert directory.endswith("delta_0000002_0000002_0000")
    story.then("INSERT INTO {t} VALUES (4, 1)")
    story.remember("third")
    mixed = f"{name}delta_0000001_0000003_v"
    compact = story.compact("minor", "p=1" if partition else None)
    story.then(compact, lost={"first": [mixed]})
    story.then("INSERT INTO {t} VALUES (5, 1)")
    where = "PARTITION (p=1)" if partition else ""
    columns = "id" if partition else "id, p"
    story.then(
        f"INSERT OVERWRITE TABLE {{t}} {where} SELECT {columns} FROM {{t}} WHERE id > 3",
        lost={"third": [f"{name}write id 5 replaced all rows"]},
    )


def test_another_table_under_the_name(
    changes: Changes, hive_client: HiveClient, database: str
) -> None:
    table = f"{database}.again"
    create = f"CREATE TABLE {table} (id int) {ORC}"
    hive_client.execute(create)
    hive_client.execute(f"INSERT INTO {table} VALUES (1)")
    seen = changes.take(table)
    hive_client.execute(f"DROP TABLE {table}")
    hive_client.execute(create)
    hive_client.execute(f"INSERT INTO {table} VALUES (2)")
    changes.check(table, seen, ["it is another table of the same name (id "])

    seen = changes.take(table)
    hive_client.execute(f"ALTER TABLE {table} ADD COLUMNS (amount decimal(10,2))")
    hive_client.execute(f"INSERT INTO {table} VALUES (3, 1.25)")
    changes.check(table, changes.take(table))
    seen = changes.take(table)
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN amount amount string")
    changes.check(table, seen, ["its column amount is string, before decimal(10,2)"])
    hive_client.execute(f"ALTER TABLE {table} CHANGE COLUMN id `_row_id` int")
    with pytest.raises(UnreadableTableError, match="has the name of a column that the changes add"):
        changes.take(table)
