"""What dbt holds in Hive: locks and transactions."""

from __future__ import annotations

import time
from typing import Any

from integration.hive import HiveClient


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
