"""Runs that last longer than their tickets, against MIT's KDC, which ends tickets as others do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.settings import Kerberos, Security
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.secured.test_dbt import make_project, run
from integration.support.dbt_process import DbtProcess
from integration.support.dbt_project import SLOW
from integration.support.hive import HiveClient, HiveSettings
from integration.support.hive.kdc import CLIENT, VARIABLE, MitKdc, mit_programs
from integration.support.hive.secured import SecuredHive
from integration.support.hive.server import free_ports

TICKET_SECONDS = 60
RUN_SECONDS = 600
RECONNECT_SECONDS = 25

pytestmark = [
    pytest.mark.long("runs of ten minutes, and longer than a ticket"),
    pytest.mark.skipif(
        mit_programs() is None,
        reason=f"There is no krb5kdc on the PATH or below ${VARIABLE}: Debian's krb5-kdc has it",
    ),
]


@pytest.fixture(scope="module")
def short_tickets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredHive]:
    """A Hive with Kerberos, whose client gets tickets of a minute."""
    work = tmp_path_factory.mktemp("short_tickets")
    settings = HiveSettings(txn_timeout=60, reaper_interval=2, cleaner_interval=0.5)
    with (
        MitKdc(work / "kerberos", free_ports(1)[0], TICKET_SECONDS) as kdc,
        SecuredHive(settings, work=work, kdc=kdc) as server,
        HiveClient(server.hs2_port) as hive,
    ):
        hive.script(
            """
            CREATE DATABASE shop;
            CREATE TABLE shop.orders (id int, amount int) STORED AS ORC
              TBLPROPERTIES ('transactional'='true');
            INSERT INTO shop.orders VALUES (1, 10), (2, 20), (3, 30);
            """
        )
        yield server


@pytest.fixture(autouse=True)
def environment(
    short_tickets: SecuredHive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The KDC's configuration, no ticket cache, and core-site.xml for Java."""
    monkeypatch.setenv("KRB5_CONFIG", str(short_tickets.kdc.conf))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/no_ticket")
    monkeypatch.setenv("HADOOP_CONF_DIR", str(short_tickets.hadoop_conf))


def test_connections_that_break_take_new_tickets(short_tickets: SecuredHive) -> None:
    keytab = str(short_tickets.kdc.keytab("dbt"))
    security = Security(Kerberos(principal=CLIENT, keytab=keytab))
    clients: list[MetastoreClient] = []

    def make_client() -> MetastoreClient:
        clients.append(MetastoreClient(short_tickets.metastore_uri, 20, security=security))
        return clients[-1]

    snapshot = RunSnapshot(make_client, SnapshotSettings(heartbeat_interval=5), "long run")
    snapshot.pin([TableName("shop", "orders")])
    end = time.monotonic() + 5 * TICKET_SECONDS
    while time.monotonic() < end:
        for client in clients:
            client.close()
        snapshot.check_alive()
        time.sleep(RECONNECT_SECONDS)
    snapshot.check_alive()
    snapshot.end()


def test_a_run_of_ten_minutes(short_tickets: SecuredHive, tmp_path: Path) -> None:
    keytab = str(short_tickets.kdc.keytab("dbt"))
    keys = {"auth": "kerberos", "kerberos_principal": CLIENT, "kerberos_keytab": keytab}
    # Spark's Hive client connects again for each call that comes later than this.
    reconnecting = {"spark.hadoop.hive.metastore.client.socket.lifetime": "10s"}
    project = make_project(tmp_path / "project", short_tickets, "shop", keys, reconnecting)
    rows = int(RUN_SECONDS / 0.2 * 2 / 3) + 1
    project.models(
        slow=f"select o.id, {SLOW} as s from {{{{ source('shop', 'orders') }}}} o "
        f"cross join range(0, {rows}, 1, 2)",
        after="select count(*) as n from {{ ref('slow') }}",
    )
    started = time.monotonic()
    code, output = run(project, "run", "--select", "slow", "after", seconds=RUN_SECONDS * 2)
    assert code == 0, output
    assert time.monotonic() - started > RUN_SECONDS
    with HiveClient(short_tickets.hs2_port) as hive:
        assert hive.query("SELECT n FROM shop.after") == [(3 * rows,)]


def test_spark_takes_the_ticket_that_kinit_brings(
    short_tickets: SecuredHive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "ticket"
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{cache}")
    short_tickets.kdc.kinit(cache)
    reconnecting = {"spark.hadoop.hive.metastore.client.socket.lifetime": "1s"}
    keys = {"auth": "kerberos"}
    project = make_project(tmp_path / "project", short_tickets, "shop", keys, reconnecting)
    with DbtProcess(project) as process:
        process.succeed("run", "--select", "plain")
        time.sleep(TICKET_SECONDS + 5)
        short_tickets.kdc.kinit(cache)
        process.succeed("run", "--select", "plain")
    log = (project.path / "logs" / "dbt.log").read_text()
    assert log.count("Spark has logged in with the new Kerberos ticket") == 1
