"""What tests ask of a metastore: locks, transactions, calls; and waiting for what Hive does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.connection import Channel
from hiveacid.metastore.models import TableName
from hiveacid.metastore.thrift import ThriftMetastore
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


def eventually(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether the condition becomes true within that time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def is_cleaned(hive: HiveClient, database: str) -> bool:
    """Whether the cleaner is done with the one compaction of a database within a minute."""
    return eventually(
        lambda: [row["state"] for row in hive.show_compactions(database)] == ["succeeded"],
        seconds=60,
    )


T = TypeVar("T")


@contextmanager
def counted_calls() -> Iterator[list[str]]:
    """The names of the metastore calls made in the block."""
    calls: list[str] = []
    once = Channel.once

    def counting(self: Channel, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        calls.append(call)
        return once(self, call, subject, run)

    Channel.once = counting  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        Channel.once = once  # type: ignore[method-assign]
