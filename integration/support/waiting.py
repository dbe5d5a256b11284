"""Waiting for what Hive does by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from integration.support.hive import HiveClient


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
