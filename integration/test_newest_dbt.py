"""A process with the newest dbt-core runs the adapter over the tables of this one's Hive."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from integration.support.hive import HiveServer
from integration.support.hive.running import environment_with
from tools.dbt_line import NEWEST

ROOT = Path(__file__).parents[1]


def test_the_newest_dbt(hive: HiveServer) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tools.dbt_line", "--cut", "short", NEWEST],
        cwd=ROOT,
        env=environment_with(hive),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout
