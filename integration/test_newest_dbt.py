"""A process with the newest dbt-core runs the adapter over the tables of this one's Hive."""

from __future__ import annotations

from integration.support.hive import HiveServer
from integration.support.hive.server import assert_passes_beside
from tools.dbt_line import NEWEST


def test_the_newest_dbt(hive: HiveServer) -> None:
    assert_passes_beside([hive], "tools.dbt_line", "--cut", "short", NEWEST)
