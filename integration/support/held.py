"""What dbt and others hold in Hive: locks and transactions."""

from __future__ import annotations

import time
from typing import Any

from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.hive import HiveClient


def locks_of_dbt(hive: HiveClient, database: str) -> list[dict[str, Any]]:
    """The locks on a database's tables that dbt holds, as SHOW LOCKS lists them."""
    return [
        lock
        for lock in hive.show_locks()
        if lock["database"] == database and "dbt-hiveacid" in str(lock["agent_info"])
    ]


def assert_nothing_held(hive: HiveClient, database: str, within: float = 5) -> None:
    """No lock of dbt's and no transaction of any kind is left, after a moment at most."""
    deadline = time.monotonic() + within
    while locks_of_dbt(hive, database) or open_transactions(hive):
        assert time.monotonic() < deadline, (hive.show_locks(), hive.show_transactions())
        time.sleep(0.2)


def open_transactions(hive: HiveClient) -> list[dict[str, Any]]:
    """The open transactions, those of Hive's own sessions included."""
    return [row for row in hive.show_transactions() if str(row["state"]).upper() == "OPEN"]


def hold_exclusive(metastore: MetastoreClient, name: TableName) -> int:
    """A transaction that holds an EXCLUSIVE lock; returns its id."""
    txn_id = metastore.open_txn("etl", "node3", "nightly load")
    component = ttypes.LockComponent(
        type=ttypes.LockType.EXCLUSIVE,
        level=ttypes.LockLevel.TABLE,
        dbname=name.database,
        tablename=name.table,
        operationType=ttypes.DataOperationType.NO_TXN,
    )
    request = ttypes.LockRequest([component], txn_id, "etl", "node3", "nightly load")
    answer = metastore._channel.once("lock", f"table {name}", lambda thrift: thrift.lock(request))
    assert answer.state == ttypes.LockState.ACQUIRED
    return txn_id
