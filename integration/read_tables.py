"""Read tables in a process of its own, on a Spark of its own: python -m integration.read_tables.

Prints one line of JSON: how many executors took part, and the rows of each table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType

from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.reader import OrcFooters, plan_read, to_dataframe
from dbt.adapters.hiveacid.snapshot import RunSnapshot, SnapshotSettings
from dbt.adapters.hiveacid.spark.process import root_session
from integration.differential import canonical


def read_apart(
    metastore_uri: str,
    tables: Iterable[str],
    settings: Mapping[str, str],
    directory: Path,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    """What this module answers in a new process, with Spark's `settings`, run in `directory`."""
    return subprocess.run(
        [
            *(sys.executable, "-m", "integration.read_tables"),
            *("--metastore", metastore_uri),
            *(f"--conf={key}={value}" for key, value in settings.items()),
            *tables,
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1]), **environment},
        cwd=directory,
        capture_output=True,
        text=True,
    )


def main() -> None:
    """Read the tables that the arguments name, in one snapshot."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--metastore", required=True, help="thrift://host:port")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("tables", nargs="+", metavar="DATABASE.TABLE")
    arguments = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in arguments.conf)
    settings["spark.sql.catalogImplementation"] = "in-memory"
    spark = root_session(settings, arguments.metastore, lambda: "unused", log_directory=None)
    names = [TableName(*table.split(".")) for table in arguments.tables]
    snapshot = RunSnapshot(
        lambda: MetastoreClient(arguments.metastore, timeout=30),
        SnapshotSettings(lock_timeout=60),
        "dbt-hiveacid test",
    )
    try:
        pinned, footers = snapshot.pin(names), OrcFooters()
        rows = {
            str(name): canonical(
                map(tuple, to_dataframe(spark, plan_read(spark, pinned[name], footers)).collect())
            )
            for name in names
        }
    finally:
        snapshot.end()
    # The driver is in the list, too.
    executors = spark._jsc.sc().statusTracker().getExecutorInfos()
    json.dump({"executors": len(executors) - 1, "rows": rows}, sys.stdout)
    print(flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
