"""Hives that another process of the tests has started, and keeps running meanwhile.

A release of Spark or of dbt-core needs a process of its own. The tables that its tests read are
written once, by the Hives of the process that starts it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from integration.support.hive.config import HivePorts
from integration.support.hive.server import HiveServer

_VARIABLE = "HIVES_OF_TESTS"


def environment_with(*hives: HiveServer) -> dict[str, str]:
    """Return the environment of a process that uses these Hives, of one version each."""
    told = {hive.version: [str(hive.work), hive.ports.metastore, hive.ports.hs2] for hive in hives}
    return {**os.environ, _VARIABLE: json.dumps(told)}


def running_hive(version: str) -> HiveServer | None:
    """Return the Hive of a version that this process was told of, None if it must start its own.

    Who has started the Hive ends it.
    """
    told = json.loads(os.environ.get(_VARIABLE, "{}"))
    if version not in told:
        return None
    work, metastore, hs2 = told[version]
    return HiveServer(work=Path(work), ports=HivePorts(metastore, hs2), version=version)
