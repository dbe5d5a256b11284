"""Write ids that the metastore does not know of for a while: the high-water mark goes back.

See docs/hive-quirks.md. What makes Hive forget is the lowest aborted transaction, so these tests
need a Hive in which no other test has left one.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from hiveacid.errors import UnreadableTableError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.changes import Changes
from integration.support.differential import Differential
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer, HiveSettings, HiveSqlError
from integration.support.metastore import eventually
from integration.support.tables import FULL_ACID, INSERT_ONLY, REPEATS

TABLE = TableName("forgetting", "readings")
BESIDE = TableName("forgetting", "beside")


@pytest.fixture(scope="module")
def forgetful_hive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    settings = HiveSettings(reaper_interval=1, cleaner_interval=0.5)
    with HiveServer(settings, work=tmp_path_factory.mktemp("forgetful_hive")) as server:
        yield server


@pytest.fixture
def metastore(forgetful_hive: HiveServer) -> Iterator[MetastoreClient]:
    with MetastoreClient(forgetful_hive.metastore_uri, timeout=30) as client:
        yield client


@pytest.fixture
def forgetful(forgetful_hive: HiveServer, spark: SparkSession) -> Iterator[Differential]:
    """Two tables' database; dropping it makes Hive forget the aborted transactions."""
    with HiveClient(forgetful_hive.hs2_port, log=forgetful_hive.log) as client:
        client.execute(f"CREATE DATABASE {TABLE.database}")
        client.execute(f"CREATE TABLE {BESIDE} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})")
        yield Differential(forgetful_hive, client, spark)
        client.execute(f"DROP DATABASE {TABLE.database} CASCADE")


def test_a_row_that_hive_hides_again(forgetful: Differential, metastore: MetastoreClient) -> None:
    """A later transaction took the write id below it, and was aborted.

    To a target that has the row this is a loss, even if something else has changed meanwhile: with
    a new state the row would be new again.
    """
    hive, changes = forgetful.client, Changes(forgetful)
    hive.execute(f"CREATE TABLE {TABLE} (id int) STORED AS ORC TBLPROPERTIES ({FULL_ACID})")
    late = OpenWriter.begin(metastore, TABLE, None, deletes=False)
    early = metastore.open_txn("writer", "localhost", "a test", read_only=False)
    aborted = _aborting(metastore)
    hidden = OpenWriter.begin(metastore, TABLE, None, deletes=False, txn_id=early)
    assert (late.write_id, hidden.write_id) == (1, 3)
    late.insert([1])
    hidden.insert([3])
    metastore.commit_txn(early)
    seen = changes.take(str(TABLE))
    assert seen.shown == [("3",)]

    metastore.abort_txn(aborted.txn_id)
    metastore.commit_txn(late.txn_id)
    assert _mark_goes_back(metastore, 2)
    assert forgetful.check(str(TABLE)).rows == [(1,)]
    changes.check(str(TABLE), seen, ["write ids 3 were read before and are no longer valid"])
    rebuilt = changes.take(str(TABLE))

    hive.execute(f"INSERT INTO {TABLE} VALUES (4)")
    assert changes.shown(str(TABLE)) == [("1",), ("3",), ("4",)]
    assert str(changes.check(str(TABLE), rebuilt).new_write_ids) == "3-4"
    assert str(changes.check(str(TABLE), seen).new_write_ids) == "1, 4"


@pytest.mark.parametrize("kind", ["major", pytest.param("minor", marks=REPEATS)])
def test_a_compaction_above_the_high_watermark(
    kind: str, forgetful: Differential, metastore: MetastoreClient
) -> None:
    """Insert-only compactions are named up to the highest write id, be it aborted."""
    hive = forgetful.client
    hive.execute(f"CREATE TABLE {TABLE} (id int) STORED AS ORC TBLPROPERTIES ({INSERT_ONLY})")
    # While this one is open, nothing is forgotten.
    oldest = metastore.open_txn("writer", "localhost", "a test", read_only=False)
    for row in range(3):
        hive.execute(f"INSERT INTO {TABLE} VALUES ({row})")
    early = metastore.open_txn("writer", "localhost", "a test", read_only=False)
    aborted = _aborting(metastore)
    assert metastore.allocate_table_write_ids(early, TABLE) == 5
    metastore.abort_txn(early)
    metastore.abort_txn(aborted.txn_id)
    hive.compact(str(TABLE), kind)
    metastore.commit_txn(oldest)
    assert _mark_goes_back(metastore, 4)

    if kind == "minor":
        read = forgetful.check(str(TABLE))
        assert [d.partition("_v")[0] for d in read.directories] == ["delta_0000001_0000005"]
    else:
        with pytest.raises(HiveSqlError, match="Not enough history"):
            hive.query(f"SELECT * FROM {TABLE}")
        with pytest.raises(UnreadableTableError, match="high-water mark of the write ids is 4"):
            forgetful.read(str(TABLE))
    hive.execute(f"INSERT INTO {TABLE} VALUES (6)")
    assert len(forgetful.check(str(TABLE)).rows) == 4


def _aborting(metastore: MetastoreClient) -> OpenWriter:
    """A writer of both tables. The other one is never compacted, so its abort is remembered."""
    writer = OpenWriter.begin(metastore, BESIDE, None, deletes=False)
    metastore.allocate_table_write_ids(writer.txn_id, TABLE)
    return writer


def _mark(metastore: MetastoreClient) -> int:
    return metastore.get_valid_write_ids([TABLE], metastore.get_valid_txns())[TABLE].high_watermark


def _mark_goes_back(metastore: MetastoreClient, mark: int) -> bool:
    return eventually(lambda: _mark(metastore) == mark, seconds=60)
