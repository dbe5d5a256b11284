"""Read tables on a Spark of its own: `python -m integration.support.read_tables`.

Prints one line of JSON: how many executors took part, and the rows of each table.
"""

from __future__ import annotations

import argparse
import json
import sys

from pyspark.sql import SparkSession

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.differential import canonical


def main() -> None:
    """Read the tables that the arguments name, in one snapshot."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--metastore", required=True, help="thrift://host:port")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("tables", nargs="+", metavar="DATABASE.TABLE")
    arguments = parser.parse_args()
    settings = dict(pair.split("=", 1) for pair in arguments.conf)
    spark = SparkSession.builder.config(map={**settings}).getOrCreate()
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
