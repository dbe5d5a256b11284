"""Several metastores on one database, of which one dies: the run goes on over another.

The database is PostgreSQL: Derby's admits one process. HiveServer2 is with the first metastore.
"""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import hiveacid
from hiveacid.errors import HiveAcidError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.writer import publication
from integration.support.dbt_project import SLOW, DbtProject
from integration.support.hive import HiveClient, HiveServer, HiveSettings
from integration.support.hive.postgres import Postgres
from integration.support.metastore import eventually, hold_exclusive

pytestmark = pytest.mark.long("starts a PostgreSQL and three metastores")
ORDERS = TableName("shop", "orders")
TIMEOUT = 60


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """PostgreSQL with an empty metastore database."""
    with Postgres() as server:
        yield server


def settings(database: Postgres) -> HiveSettings:
    """The settings of each metastore."""
    return HiveSettings(txn_timeout=TIMEOUT, reaper_interval=2, extra=database.properties)


@pytest.fixture(scope="module")
def survivor(database: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveServer]:
    """The Hive that lives on, with the table `shop.orders`."""
    work = tmp_path_factory.mktemp("survivor")
    with (
        HiveServer(settings(database), work=work, more_jars=[database.driver]) as server,
        HiveClient(server.hs2_port) as hive,
    ):
        hive.script(
            """
            CREATE DATABASE shop;
            CREATE TABLE shop.orders (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true');
            INSERT INTO shop.orders VALUES (1), (2);
            """
        )
        yield server


@pytest.fixture
def mortal(database: Postgres, survivor: HiveServer, tmp_path: Path) -> Iterator[HiveServer]:
    """A metastore alone, that the test kills."""
    with HiveServer(
        settings(database),
        work=tmp_path / "mortal",
        warehouse=survivor.warehouse,
        more_jars=[database.driver],
        metastore_only=True,
    ) as server:
        yield server


@pytest.fixture
def open_snapshot(mortal: HiveServer, survivor: HiveServer) -> Callable[[], RunSnapshot]:
    """Makes a snapshot that asks the mortal metastore first."""
    uris = f"{mortal.metastore_uri},{survivor.metastore_uri}"
    return lambda: RunSnapshot(
        lambda: MetastoreClient(uris, 20), SnapshotSettings(heartbeat_interval=1), "mortal run"
    )


def left(survivor: HiveServer) -> list[str]:
    """Return the locks and open transactions that there are."""
    with HiveClient(survivor.hs2_port) as hive:
        locks = [row["lockid"] for row in hive.show_locks() if row["table"] == "orders"]
        return locks + [r["txnid"] for r in hive.show_transactions() if r["state"] == "OPEN"]


def test_in_mid_heartbeat(
    open_snapshot: Callable[[], RunSnapshot],
    mortal: HiveServer,
    survivor: HiveServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    snapshot = open_snapshot()
    snapshot.pin([ORDERS])
    # A heartbeat waits for its answer when the process dies.
    os.kill(mortal.pid, signal.SIGSTOP)
    time.sleep(2)
    with caplog.at_level(logging.WARNING, "hiveacid"):
        mortal.kill()
        assert eventually(lambda: "The metastore is now called at" in caplog.text)
        snapshot.check_alive()
    snapshot.end()
    assert left(survivor) == []


def test_in_mid_commit(
    open_snapshot: Callable[[], RunSnapshot], mortal: HiveServer, survivor: HiveServer
) -> None:
    snapshot = open_snapshot()
    snapshot.pin([ORDERS])
    os.kill(mortal.pid, signal.SIGSTOP)
    killer = threading.Timer(2, mortal.kill)
    killer.start()
    snapshot.end()
    killer.join()
    assert left(survivor) == []


@pytest.mark.parametrize("seconds", [0, 0.005, 0.02])
def test_in_mid_commit_of_a_write(
    mortal: HiveServer,
    survivor: HiveServer,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    seconds: float,
) -> None:
    """The metastore dies before it commits, or after that and before its answer."""
    commit = publication._commit

    def dying(*arguments: Any) -> None:
        if not seconds:
            os.kill(mortal.pid, signal.SIGSTOP)
        killer = threading.Timer(seconds or 2, mortal.kill)
        killer.start()
        commit(*arguments)
        killer.join()

    monkeypatch.setattr(publication, "_commit", dying)
    uris = f"{mortal.metastore_uri},{survivor.metastore_uri}"
    with HiveClient(survivor.hs2_port) as hive:
        hive.execute("DROP TABLE IF EXISTS shop.daily")
        hive.execute(
            "CREATE TABLE shop.daily (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        hive.execute("INSERT INTO shop.daily VALUES (1), (2)")
        with hiveacid.transaction(spark, uris, metastore_timeout=20) as transaction:
            transaction.overwrite("shop.daily", spark.sql("SELECT 3 AS id"))
        assert hive.query("SELECT id FROM shop.daily") == [(3,)]
    directory = survivor.warehouse / "shop.db" / "daily"
    assert not list(directory.glob(".hiveacid_stage_*"))
    assert eventually(lambda: left(survivor) == [], seconds=TIMEOUT + 10)


def test_between_lock_and_check_lock(
    open_snapshot: Callable[[], RunSnapshot], mortal: HiveServer, survivor: HiveServer
) -> None:
    snapshot = open_snapshot()
    with MetastoreClient(survivor.metastore_uri) as client:
        holder = hold_exclusive(client, ORDERS)
        errors: list[HiveAcidError] = []

        def pin() -> None:
            try:
                snapshot.pin([ORDERS])
            except HiveAcidError as error:
                errors.append(error)

        waiting = threading.Thread(target=pin)
        waiting.start()
        assert eventually(lambda: len(client.show_locks(ORDERS)) == 2)
        # The lock is in the database before `lock` is answered.
        time.sleep(1)
        mortal.kill()
        time.sleep(1)
        client.commit_txn(holder)
        waiting.join(30)
        assert not waiting.is_alive()
        assert errors == []
        assert [lock.agent_info for lock in client.show_locks(ORDERS)] == ["mortal run"]
    snapshot.end()
    assert left(survivor) == []


def test_in_mid_run_of_dbt(mortal: HiveServer, survivor: HiveServer, tmp_path: Path) -> None:
    uris = f"{mortal.metastore_uri},{survivor.metastore_uri}"
    spark = {"spark.hadoop.hive.metastore.uris": uris}
    keys = {"metastore_uri": uris, "heartbeat_interval": 2}
    project = DbtProject(
        tmp_path / "project", survivor, "shop", profile=keys, spark=spark, compiled=False
    )
    project.sources("orders")
    project.models(
        slow=f"select o.id, {SLOW} as s from {{{{ source('shop', 'orders') }}}} o "
        "cross join range(60)"
    )
    process = project.start("run")
    with MetastoreClient(survivor.metastore_uri) as client:
        assert eventually(lambda: client.show_locks(ORDERS) != (), seconds=180)
    time.sleep(3)
    mortal.kill()
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output
    assert "The metastore is now called at" in output
    with HiveClient(survivor.hs2_port) as hive:
        assert hive.query("SELECT count(*) FROM shop.slow") == [(120,)]
    assert left(survivor) == []
