"""Directories that come from another cluster, with that cluster's transactions or without."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.changes import Changes, Story
from integration.support.differential import Differential, canonical
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.tables import FULL_ACID, INSERT_ONLY


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The library's warnings."""
    return [record.getMessage() for record in caplog.records if record.name == "hiveacid"]


@pytest.mark.parametrize("properties", [FULL_ACID, INSERT_ONLY], ids=["full acid", "insert-only"])
def test_rows_that_hive_does_not_show_yet(
    differential: Differential,
    hive_client: HiveClient,
    database: str,
    caplog: pytest.LogCaptureFixture,
    properties: str,
) -> None:
    """A base of a later transaction is hidden until the replica's transactions have passed it."""
    table, spark = f"{database}.replica", differential.spark
    uri, root = differential.hive.metastore_uri, Path(differential.hive.warehouse)
    hive_client.execute(f"CREATE TABLE {table} (id int) STORED AS ORC TBLPROPERTIES ({properties})")
    for i in range(3):
        hive_client.execute(f"INSERT INTO {table} VALUES ({i})")
    hive_client.compact(table, "major")
    with MetastoreClient(uri, timeout=30) as metastore:
        differential.check(table)
        (base,) = (root / f"{database}.db" / "replica").glob("base_*")
        later = metastore.get_valid_txns().high_watermark + 50
        replica = base.rename(base.with_name(f"base_0000003_v{later:07d}"))
        # What the cleaner has left of the source's directories is not replicated.
        for path in base.parent.glob("delta_000000[1-3]*"):
            path.rename(path.with_name(f"_{path.name}"))
        hive_client.execute(f"INSERT INTO {table} VALUES (100)")
        assert [tuple(row) for row in differential.check(table, where="id > 0").rows] == [(100,)]
        with (
            caplog.at_level(logging.WARNING, "hiveacid"),
            hiveacid.snapshot(spark, uri, [table]) as snapshot,
        ):
            assert snapshot.table(table).count() == 1
            (told,) = warnings(caplog)
            assert f"{table} has rows that Hive does not show yet: a compaction of another" in told
            assert f"metastore made file:{replica} (" in told
            assert f"once transaction {later} has ended in this metastore" in told
            for read in (
                lambda: snapshot.changes(table),
                # What follows looks only at what is above the write id.
                lambda: snapshot.changes(table, since=0),
                lambda: snapshot.changes(table, until=2),
                lambda: snapshot.table_changes(table, 0),
            ):
                with pytest.raises(UnreadableTableError, match="changes cannot be followed"):
                    read()
        caplog.clear()
        with (
            caplog.at_level(logging.WARNING, "hiveacid"),
            hiveacid.snapshot(spark, uri, [table]) as snapshot,
        ):
            assert snapshot.table(table, version_as_of=2).count() == 0
            assert f"{table} has rows that Hive does not show yet" in "".join(warnings(caplog))
        # A transaction of this metastore with the number of the directory, which has not ended.
        same = metastore.open_txn("test", "localhost", "test", read_only=False)
        replica = replica.rename(replica.with_name(f"base_0000003_v{same:07d}"))
        assert [tuple(row) for row in differential.check(table, where="id > 0").rows] == [(100,)]
        with hiveacid.snapshot(spark, uri, [table]) as snapshot:
            metastore.commit_txn(same)
            with pytest.raises(
                UnreadableTableError, match=f"another metastore made .*{replica.name} "
            ):
                snapshot.changes(table)
        # Another one, which was aborted. Hive forgets it once nothing remembers its write.
        hive_client.execute(
            f"CREATE TABLE other (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})"
        )
        writer = OpenWriter.begin(metastore, TableName(database, "other"), None, deletes=False)
        metastore.abort_txn(writer.txn_id)
        made = replica.rename(replica.with_name(f"base_0000003_v{writer.txn_id:07d}"))
        assert [tuple(row) for row in differential.check(table, where="id > 0").rows] == [(100,)]
        with (
            hiveacid.snapshot(spark, uri, [table]) as snapshot,
            pytest.raises(UnreadableTableError, match=f"another metastore made .*{made.name} "),
        ):
            snapshot.changes(table)
        made.rename(replica)
    caplog.clear()
    assert len(differential.check(table, where="id > 0").rows) == 4
    with (
        caplog.at_level(logging.WARNING, "hiveacid"),
        hiveacid.snapshot(spark, uri, [table]) as snapshot,
    ):
        shown = canonical(hive_client.query(f"SELECT id FROM {table}"))
        assert canonical(snapshot.changes(table).rows.select("id").collect()) == shown
    assert warnings(caplog) == []


def test_a_compaction_of_this_metastore_is_none_of_another(
    differential: Differential, hive_client: HiveClient, database: str
) -> None:
    """It began after the snapshot: its transaction is above the snapshot's, and is known."""
    table = f"{database}.own"
    hive_client.execute(f"CREATE TABLE {table} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})")
    for i in range(2):
        hive_client.execute(f"INSERT INTO {table} VALUES ({i})")
    uri = differential.hive.metastore_uri
    with hiveacid.snapshot(differential.spark, uri, [table]) as snapshot:
        hive_client.compact(table, "minor")
        for since, ids in ((None, [0, 1]), (1, [1])):
            changes = snapshot.changes(table, since=since)
            assert changes._plan.locations[0].state.uncommitted_compactions
            assert sorted(row.id for row in changes.rows.select("id").collect()) == ids


@pytest.mark.long("starts a Hive of its own, which REPL LOAD fills")
def test_what_repl_load_brings(tmp_path: Path, spark: SparkSession) -> None:
    """Hive 4.0.1 leaves the transaction of the source out of the name of a base, and shows it."""
    extra = {
        "hive.repl.rootdir": (tmp_path / "dumps").as_uri(),
        "hive.repl.replica.functions.root.dir": (tmp_path / "functions").as_uri(),
        # Else it copies by a job of DistCp's.
        "hive.in.repl.test": "true",
    }
    settings = HiveSettings(extra=extra)
    tables = {"full_acid": FULL_ACID, "insert_only": INSERT_ONLY}
    with (
        HiveServer(settings, work=tmp_path / "source") as source,
        HiveServer(settings, work=tmp_path / "replica") as replica,
        HiveClient(source.hs2_port, log=source.log) as writer,
        HiveClient(replica.hs2_port, log=replica.log) as client,
    ):
        writer.execute("CREATE DATABASE src WITH DBPROPERTIES ('repl.source.for'='1')")
        for table, properties in tables.items():
            writer.execute(
                f"CREATE TABLE src.{table} (id int) STORED AS ORC TBLPROPERTIES ({properties})"
            )
            for i in range(5):
                writer.execute(f"INSERT INTO src.{table} VALUES ({i})")
            if table == "full_acid":
                writer.execute(f"DELETE FROM src.{table} WHERE id = 3")
            writer.compact(f"src.{table}", "major", cleaned=True)
            writer.execute(f"INSERT INTO src.{table} VALUES (100)")
        shown = {table: canonical(writer.query(f"SELECT * FROM src.{table}")) for table in tables}
        writer.query("REPL DUMP src")
        client.query("REPL LOAD src INTO shop")
        assert list((source.warehouse / "src.db").glob("*/base_*_v*"))
        (base,) = (replica.warehouse / "shop.db" / "insert_only").glob("base_*")
        assert base.name == "base_0000005"
        differential = Differential(replica, client, spark)
        for table in tables:
            name = f"shop.{table}"
            found = differential.check(name, where="id > 1")
            assert canonical(found.rows) == shown[table]
            story = Story(Changes(differential), client, name)
            story.remember("loaded")
            story.then("INSERT INTO {t} VALUES (7)")
