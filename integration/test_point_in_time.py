"""Earlier instants of a table: each is what Hive showed then, or is refused with the reason."""

from __future__ import annotations

import datetime as dt
import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.snapshots.read_options import AsOf, ReadKind
from integration.support.differential import Differential, canonical
from integration.support.histories.actions import World
from integration.support.histories.alterations import ALTERATIONS
from integration.support.histories.history import Ground, Histories
from integration.support.histories.operations import OPERATIONS
from integration.support.histories.report import SUMMARY
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer
from integration.support.instants import Past
from integration.support.tables import FULL_ACID, INSERT_ONLY


@pytest.fixture
def past(differential: Differential, hive_client: HiveClient, database: str) -> Past:
    return Past(differential, hive_client, f"{database}.orders")


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the library says at the level INFO."""
    messages: list[str] = []
    monkeypatch.setattr(logging.getLogger("hiveacid"), "info", messages.append)
    return messages


def test_a_full_acid_table(past: Past) -> None:
    past.client.execute(
        f"CREATE TABLE {past.table} (id int, name string) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    past.run(
        """
        INSERT INTO {t} VALUES (1, 'a'), (2, 'b'), (3, 'c');
        UPDATE {t} SET name = 'B' WHERE id = 2;
        DELETE FROM {t} WHERE id = 3
        """
    )
    past.compact("minor", cleaned=True)
    assert past.refused == 0, "rows of a compacted delta have their write ids"
    past.run(
        """
        MERGE INTO {t} t USING (SELECT 1 AS id UNION ALL SELECT 9) s ON t.id = s.id
          WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'new')
        """
    )
    with past.snapshot():
        past.compact("major", cleaned=False)
        past.check_changes()
    assert past.refused == past.untold == 0 and past.told > 3, "nothing has been cleaned"
    past.do(past.wait_for_cleaner)
    assert past.refused == 3 and "base_0000004_v" in str(past.reasons)
    past.run(
        """
        INSERT OVERWRITE TABLE {t} SELECT 7, 'over';
        TRUNCATE TABLE {t};
        INSERT INTO {t} VALUES (6, 'f')
        """
    )
    assert past.refused == 12, "overwritten rows are there until the next compaction"
    past.check_changes()
    assert past.untold and past.read > 25


def test_an_insert_only_table(past: Past) -> None:
    past.client.execute(
        f"CREATE TABLE {past.table} (id int) STORED AS PARQUET TBLPROPERTIES ({INSERT_ONLY})"
    )
    past.run("INSERT INTO {t} VALUES (1); INSERT INTO {t} VALUES (2); INSERT INTO {t} VALUES (3)")
    with past.snapshot():
        past.compact("minor", cleaned=False)
        past.check_changes()
    assert past.refused == 0 and past.told == 3
    past.do(past.wait_for_cleaner)
    assert past.refused == 2 and "holds the rows of write ids 1 to 3" in str(past.reasons)
    past.run("INSERT OVERWRITE TABLE {t} SELECT 5")
    assert past.read > 10 and past.refused == 4


def test_a_partitioned_table(past: Past) -> None:
    past.client.execute(
        f"CREATE TABLE {past.table} (id int) PARTITIONED BY (p string) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    past.run(
        """
        INSERT INTO {t} VALUES (1, 'x'), (2, 'y');
        INSERT INTO {t} VALUES (3, 'x');
        DELETE FROM {t} WHERE id = 2;
        INSERT OVERWRITE TABLE {t} PARTITION (p) SELECT 4, 'z'
        """
    )
    assert past.refused == 0, "a partition that came with an overwrite had nothing before"
    with past.snapshot():
        past.compact("minor", "p='x'", cleaned=False)
        past.check_changes()
    assert past.refused == past.untold == 0 and past.told
    past.run("ALTER TABLE {t} DROP PARTITION (p='y')")
    assert past.refused and "a partition may have been dropped since" in str(past.reasons)
    past.run(
        """
        INSERT INTO {t} VALUES (5, 'y');
        ALTER TABLE {t} PARTITION (p='z') RENAME TO PARTITION (p='w')
        """
    )
    assert past.read > 12 and past.refused > 12


def test_a_converted_table(past: Past) -> None:
    past.client.script(
        f"""
        CREATE TABLE {past.table} (id int) STORED AS ORC TBLPROPERTIES ('transactional'='false');
        INSERT INTO {past.table} VALUES (1), (2);
        ALTER TABLE {past.table} SET TBLPROPERTIES ({FULL_ACID})
        """
    )
    past.run("DELETE FROM {t} WHERE id = 1; INSERT INTO {t} VALUES (3)")
    with past.snapshot() as snapshot:
        assert canonical(snapshot.table(past.table, version_as_of=0).collect()) == [("1",), ("2",)]
    past.compact("major", cleaned=True)
    with past.snapshot() as snapshot, pytest.raises(hiveacid.InstantLostError):
        snapshot.table(past.table, version_as_of=0)
    assert past.read > 2 and past.refused


def test_times_are_mapped_by_the_files(past: Past, said: list[str]) -> None:
    past.client.execute(
        f"CREATE TABLE {past.table} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    past.run("INSERT INTO {t} VALUES (1), (2); DELETE FROM {t} WHERE id = 1")
    assert past.check_times() == (2, 0)
    first, second = past.moments[1], past.moments[2]
    at = dt.datetime.fromtimestamp(first.time, dt.timezone.utc)
    past.spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    with past.snapshot() as snapshot:
        in_tokyo = at.astimezone(dt.timezone(dt.timedelta(hours=9))).replace(tzinfo=None)
        for timestamp in (in_tokyo, str(in_tokyo)):
            rows = snapshot.table(past.table, timestamp_as_of=timestamp).collect()
            assert canonical(rows) == first.shown
        mapped = f"{past.table} as of timestamp '{in_tokyo}' is its write id 1, "
        assert f"{mapped}by the modification times of its files." in said
        assert snapshot.table(past.table, timestamp_as_of="2001-01-01").collect() == []
        newest = snapshot.table(past.table, timestamp_as_of="2999-01-01").collect()
        assert canonical(newest) == second.shown
        with pytest.raises(hiveacid.InvalidSettingError, match="'noon' is no timestamp"):
            snapshot.table(past.table, timestamp_as_of="noon")
        feed = snapshot.table_changes(past.table, 0, 2).collect()
        shown = [(row["id"], row["_change_type"], row["_commit_version"]) for row in feed]
        assert shown == [(2, "insert", 1)]
        assert abs(feed[0]["_commit_timestamp"].timestamp() - first.time) < 60
    past.compact("major", cleaned=True)
    assert past.check_times() == (0, 2), "all that is known is that both came before the compaction"


def test_the_compacted_part(past: Past, said: list[str]) -> None:
    past.client.execute(
        f"CREATE TABLE {past.table} (id int) PARTITIONED BY (p string) STORED AS ORC "
        f"TBLPROPERTIES ({FULL_ACID})"
    )
    past.client.script(
        f"""
        INSERT INTO {past.table} VALUES (1, 'x'), (2, 'x'), (3, 'y');
        DELETE FROM {past.table} WHERE id = 1
        """
    )
    past.client.compact(past.table, "major", "p='x'", cleaned=True)
    compacted = canonical(past.differential.shown(f"{past.table} WHERE p = 'x'", keys=1))
    past.client.execute(f"INSERT INTO {past.table} VALUES (4, 'x'), (5, 'y')")
    with past.snapshot() as snapshot:
        rows = snapshot.table(past.table, read="optimized").collect()
        assert canonical(rows) == compacted == [("2", "x")]
        behind = f"{past.table}, read optimized, is behind by 2 write ids of 3: 1, 3."
        assert behind in said
        with pytest.raises(hiveacid.InvalidSettingError, match="'snapshot', 'optimized'"):
            snapshot.table(past.table, read="base")
        # Plans are made once, for SQL and for `table`.
        name, choice = TableName.parse(past.table), PartitionChoice()
        plans = [
            snapshot._engine.plan_table(snapshot._spark, name, choice, as_of=as_of, read=kind)
            for as_of in (None, AsOf(3))
            for kind in (ReadKind.SNAPSHOT, ReadKind.OPTIMIZED)
            for _ in range(2)
        ]
        assert len({id(plan) for plan in plans}) == 4


def test_a_transaction_that_was_open_belongs_to_an_earlier_write_id_once_it_is_committed(
    past: Past, hive: HiveServer
) -> None:
    past.client.execute(
        f"CREATE TABLE {past.table} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
    )
    past.run("INSERT INTO {t} VALUES (1)")
    with MetastoreClient(hive.metastore_uri, timeout=30) as metastore:
        writer = OpenWriter.begin(metastore, TableName.parse(past.table), None, deletes=False)
        writer.insert([2])
        past.run("INSERT INTO {t} VALUES (3)")
        assert past.moments[3].shown == [("1",), ("3",)]
        state = past.state()
        metastore.commit_txn(writer.txn_id)
    past.run("INSERT INTO {t} VALUES (4)")
    assert past.late == 1
    with past.snapshot() as snapshot:
        as_of_3 = snapshot.table(past.table, version_as_of=3).collect()
        assert canonical(as_of_3) == [("1",), ("2",), ("3",)]
        # A state knows what it has seen.
        changes = snapshot.changes(past.table, since=state, until=3).rows.select("id").collect()
        assert canonical(changes) == [("2",)]
        with pytest.raises(hiveacid.InvalidSettingError, match="cannot go back to write id 2"):
            snapshot.changes(past.table, since=state, until=2)
        with pytest.raises(hiveacid.InvalidSettingError, match="from write id 3 back to"):
            snapshot.changes(past.table, since=3, until=2)
        with pytest.raises(hiveacid.InvalidSettingError, match="go from 0 .* to 4"):
            snapshot.table(past.table, version_as_of=5)


class EarlierInstants(Histories):
    """Histories in which all earlier instants are read again after each step."""

    # Columns are those of today: rows of a time before ALTER TABLE were others then.
    operations = {name: it for name, it in OPERATIONS.items() if name not in ALTERATIONS}

    def __init__(self, ground: Ground) -> None:
        super().__init__(ground)
        self.pasts: dict[TableName, Past] = {}

    def _compare(self, world: World, where: str | None) -> None:
        if not world.metastore.get_table(world.table).is_transactional:
            return
        new = Past(self._differential, self._client, str(world.table))
        self.pasts.setdefault(world.table, new).look_back()


@pytest.mark.long("random histories for minutes")
def test_random_histories(
    hive_in_test: HiveServer,
    spark: SparkSession,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    with Ground.make(hive_in_test, spark, tmp_path, "instants") as ground:
        histories = EarlierInstants(ground)
        histories.prepare()
        end = time.monotonic() + 60 * float(os.environ.get("HISTORIES_MINUTES", "10"))
        while time.monotonic() < end and not histories.tally.mismatches:
            histories.run_one(shrink_seconds=60)
        read, refused, late = (
            sum(getattr(past, what) for past in histories.pasts.values())
            for what in ("read", "refused", "late")
        )
    tally = histories.tally
    record_property(
        SUMMARY,
        f"Seed {histories.seed}: {tally.tables} tables, {sum(tally.operations.values())} steps; "
        f"earlier instants read {read}, refused {refused}, of late commits {late}, mismatched "
        f"{len(tally.mismatches)}; ended by Hive's own errors {len(tally.failed_in_hive)}.",
    )
    if tally.mismatches:
        pytest.fail(str(tally.mismatches[0]))
    assert read > 50 and refused > 50, (read, refused)
