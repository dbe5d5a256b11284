"""Hives that another process of the tests has started, and keeps running meanwhile.

A release of Spark or of dbt-core needs a process of its own. The tables that its tests read are
written once, by the Hives of the process that starts it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from integration.support.hive.config import HivePorts, HiveSettings
from integration.support.hive.jars import HIVE_VERSION
from integration.support.hive.server import HiveServer

_ROOT = Path(__file__).parents[3]
_VARIABLE = "HIVES_OF_TESTS"


@contextmanager
def running_or_own(
    settings: HiveSettings, work: Path, version: str = HIVE_VERSION
) -> Iterator[HiveServer]:
    """Yield the Hive of a version that runs already, else one of this process with these settings.

    `work` is the directory of the latter.
    """
    running = running_hive(version)
    if running is not None:
        yield running
        return
    with HiveServer(settings, work=work, version=version) as server:
        yield server


def assert_passes_beside(hives: Iterable[HiveServer], module: str, *arguments: str) -> None:
    """Assert that a module of `tools` passes that runs tests with these Hives.

    The Hives are of one version each.
    """
    told = {hive.version: [str(hive.work), hive.ports.metastore, hive.ports.hs2] for hive in hives}
    ran = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=_ROOT,
        env={**os.environ, _VARIABLE: json.dumps(told)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout


def running_hive(version: str) -> HiveServer | None:
    """Return the Hive of a version that this process was told of, None if it must start its own.

    Who has started the Hive ends it.
    """
    told = json.loads(os.environ.get(_VARIABLE, "{}"))
    if version not in told:
        return None
    work, metastore, hs2 = told[version]
    return HiveServer(work=Path(work), ports=HivePorts(metastore, hs2), version=version)
