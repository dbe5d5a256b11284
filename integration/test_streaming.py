"""Tables under streaming ingest, compared with Hive while a batch of transactions is open.

The transactions of a batch share a file, and a side file says how much of the file counts.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm import scratch
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader import open_files
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.reader.verify import verify
from integration.support.changes import Changes, Story
from integration.support.dbt_project import DbtProject
from integration.support.differential import Differential, canonical
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer, HiveSettings, HiveSqlError
from integration.support.hive.streaming import Batch, StreamingClient
from integration.support.tables import FULL_ACID
from integration.support.targets import ThreeWays

ORC = f"STORED AS ORC TBLPROPERTIES ({FULL_ACID})"


def with_scratch(differential: Differential, directory: str) -> Differential:
    """The same with a scratch directory of its own: others may be copying at the same time."""
    own = copy(differential)
    own.settings = replace(own.settings, scratch_directory=directory)
    return own


def copies(directory: Path) -> list[Path]:
    """The directories of copies that are there."""
    return list(directory.glob(f"hiveacid-*-{'[0-9a-f]' * 32}"))


def test_what_counts_of_a_file_that_is_being_written(
    differential: Differential,
    dbt_project: DbtProject,
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    tmp_path: Path,
) -> None:
    """The last whole number of the side file says how many bytes count; 0 is no row."""
    table = f"{database}.streamed"
    hive_client.execute(f"CREATE TABLE {table} (id int, v string) {ORC}")
    for _ in range(2):
        hive_client.execute(f"INSERT INTO {table} VALUES (0, 'x')")
    # The batch has a third write id, whose transaction is open.
    with MetastoreClient(hive.metastore_uri) as metastore:
        third = OpenWriter.begin(metastore, TableName(database, "streamed"), None, False)
    location = hive.warehouse / f"{database}.db" / "streamed"
    for directory in location.iterdir():
        shutil.rmtree(directory)
    (location / "delta_0000001_0000003").mkdir()
    batch = Batch(location / "delta_0000001_0000003")
    scratch_directory = tmp_path / "scratch"
    differential = with_scratch(differential, scratch_directory.as_uri())

    batch.file.write_bytes(b"")
    batch.flushed(0)
    assert differential.check(table).rows == []
    length = batch.write(2)
    batch.flushed(0)
    # Hive 4.0.1 looks for a footer in no bytes at all.
    with pytest.raises(HiveSqlError, match="ORC split generation failed"):
        hive_client.query(f"SELECT * FROM {table}")
    assert differential.read(table).rows == []
    with batch.file.open("ab") as file:
        file.write(b"rows that have no footer yet")
    batch.flushed(0, length)
    found = differential.check(table, where="id > 11", hive_counts=True)
    assert len(found.rows) == 4
    # Hive fails while the next number is half written.
    batch.flushed(0, length, torn=b"\1\2\3")
    with pytest.raises(HiveSqlError, match="EOFException"):
        hive_client.query(f"SELECT * FROM {table}")
    assert differential.read(table).rows == found.rows
    assert copies(scratch_directory) == []
    with differential.pinned(table) as pinned:
        report = verify(differential.spark, pinned, differential.footers)
        assert report.problems == ()
        assert any(f"the {length} flushed bytes" in line for line in report.lines())
        assert len(copies(scratch_directory)) == 1

    batch.flushed(0, length)
    filters = {"streamed": "id > 11"}
    models = ThreeWays(dbt_project, hive_client, differential.spark, "id, v", filters)
    models.check()
    story = Story(Changes(differential), hive_client, table)
    story.remember("two write ids")

    def grow() -> None:
        length = batch.write(3)
        with batch.file.open("ab") as file:
            file.write(b"more")
        batch.flushed(0, length)
        with MetastoreClient(hive.metastore_uri) as metastore:
            metastore.commit_txn(third.txn_id)

    # A table that is locked late: the batch has gone on since.
    hive_client.execute(f"CREATE TABLE {database}.other (id int) {ORC}")
    with hiveacid.snapshot(
        *(differential.spark, hive.metastore_uri, [f"{database}.other"]),
        scratch_directory=scratch_directory.as_uri(),
    ) as snapshot:
        story.then(grow)
        assert canonical(snapshot.table(table).collect()) == canonical(found.rows)
    story.then("DELETE FROM {t} WHERE id = 21")
    differential.check(table, where="id > 11")
    models.check()

    with differential.pinned(table) as pinned:
        small = replace(pinned, scratch=scratch.Scratch(limit=0.0001))
        with pytest.raises(
            UnreadableTableError, match="bucket_00000 is still being written, and a copy"
        ):
            plan_read(differential.spark, small, differential.footers)

    batch.flushed()
    with pytest.raises(HiveSqlError, match="flush_length found but is not readable"):
        hive_client.query(f"SELECT * FROM {table}")
    with pytest.raises(UnreadableTableError, match="the flushed part of"):
        differential.read(table)
    batch.flushed(10**6)
    with pytest.raises(HiveSqlError):
        hive_client.query(f"SELECT * FROM {table}")
    with pytest.raises(UnreadableTableError, match="but its writer has flushed 1000000"):
        differential.read(table)
    batch.side_file.unlink()
    batch.write(3)
    story.then(lambda: None)
    assert len(differential.check(table).rows) == 5
    assert copies(scratch_directory) == []


@pytest.fixture
def hive_3(tmp_path: Path) -> Iterator[HiveServer]:
    """A Hive 3.1.3, with which the streaming client can talk."""
    settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
    with HiveServer(settings, work=tmp_path / "hive", version="3.1.3") as server:
        yield server


@pytest.mark.long("starts a Hive 3 and its streaming client")
def test_hives_streaming_client(hive_3: HiveServer, spark: SparkSession, tmp_path: Path) -> None:
    """A batch left open, one aborted in the middle, one closed late, one killed; Hive's answers."""
    with (
        HiveClient(hive_3.hs2_port, log=hive_3.log) as client,
        StreamingClient(hive_3.metastore_uri, tmp_path / "streaming") as streaming,
    ):
        scratch_directory = tmp_path / "scratch"
        differential = with_scratch(Differential(hive_3, client, spark), str(scratch_directory))
        changes = Changes(differential)
        client.execute(f"CREATE TABLE default.a (id int, v string) {ORC}")
        batch = streaming.open("default", "a", batch=5)
        story = Story(changes, client, "default.a")
        story.remember("opened")
        story.then(lambda: batch.begin("1,a", "2,b"))
        story.then(batch.commit_open)
        found = differential.check("default.a", where="id > 1")
        assert len(found.rows) == 2
        story.remember("first committed")
        story.then(lambda: batch.abort("3,c"))
        story.then(lambda: batch.begin("4,d"))
        story.then(batch.commit_open)
        story.remember("third committed")
        story.then("DELETE FROM {t} WHERE id = 1")
        story.then("UPDATE {t} SET v = 'x' WHERE id = 4")
        story.then(lambda: batch.commit("5,e"))
        differential.check("default.a", where="id > 3", hive_counts=True)

        # The writer closes the batch between the listing and the reading.
        with differential.pinned("default.a") as pinned:
            expected = canonical(client.query("SELECT * FROM default.a"))
            look = open_files._look

            def close_first(*arguments: Any) -> open_files.Flushed:
                batch.close()
                return look(*arguments)

            with patch.object(open_files, "_look", close_first):
                plan = plan_read(spark, pinned, differential.footers)
            location = pinned.table.storage.location
            assert any(data.file.path.startswith(location) for data in plan.data)
            assert canonical(to_dataframe(spark, plan).collect()) == expected
        story.then(lambda: None)
        story.then(story.compact("minor"))
        differential.check("default.a", where="id > 3")

        client.execute(
            f"CREATE TABLE default.p (id int, v string) PARTITIONED BY (d string) "
            f"CLUSTERED BY (id) INTO 2 BUCKETS {ORC}"
        )
        parts = streaming.open("default", "p", batch=3)
        parts.commit("1,a,d1", "2,b,d2", "3,c,d1")
        story = Story(changes, client, "default.p")
        story.remember("first")
        story.then(lambda: parts.begin("4,d,d1", "5,e,d3"))
        story.then(parts.commit_open)
        found = differential.check("default.p", where="id > 2 and d = 'd1'")
        assert len(found.rows) == 5
        story.then(lambda: parts.begin("6,f,d2"))
        # Killed: what is committed stays, the side files stay, and the rest times out.
        story.then(streaming.kill)
        assert len(differential.check("default.p", where="id > 2").rows) == 5
        story.then("DELETE FROM {t} WHERE id = 3")
        differential.check("default.p", where="id > 2", hive_counts=True)
    assert copies(scratch_directory) == []
