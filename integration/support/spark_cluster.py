"""A Spark standalone cluster on loopback: a master and two workers, from the jars of pyspark.

`python -m integration.support.spark_cluster` reads tables on a Spark of its own, and prints one
line of JSON: how many executors took part, and the rows of each table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from urllib.request import urlopen

from pyspark.sql import SparkSession

from hiveacid.jars.java import bundled_jar
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.transaction import SnapshotSettings
from integration.support.differential import canonical
from integration.support.hive.java import OPEN_OPTIONS, find_java
from integration.support.hive.server import free_ports

WORKERS = 2

_START_TIMEOUT = 120
"""Seconds. An idle machine of two cores needs five for the master and its workers."""

_OPTIONS = [*OPEN_OPTIONS, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]


class SparkCluster:
    """The three Java processes, as a context manager; their logs and work are below `work`."""

    def __init__(self, work: Path) -> None:
        self._work = work
        self._port, self._web_port = free_ports(2)
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def master(self) -> str:
        """Value of `spark.master` for a driver."""
        return f"spark://127.0.0.1:{self._port}"

    def __enter__(self) -> SparkCluster:
        try:
            ports = ["--port", str(self._port), "--webui-port", str(self._web_port)]
            self._start("master.Master", "--host", "127.0.0.1", *ports)
            self._wait_for(0)
            for number in range(WORKERS):
                self._start(
                    "worker.Worker",
                    *("--host", "127.0.0.1", "--webui-port", "0"),
                    *("--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(self._work / f"worker-{number}"), self.master),
                )
            self._wait_for(WORKERS)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """End the processes; a worker ends its executors itself."""
        for process in reversed(self._processes):
            process.terminate()
            process.wait(timeout=30)
        self._processes.clear()

    def told(self) -> str:
        """The ends of the logs of the master, the workers and the executors."""
        logs = [self._work / "cluster.log", *self._work.glob("worker-*/*/*/stderr")]
        return "\n".join(f"{log}:\n{log.read_text(errors='replace')[-2000:]}" for log in logs)

    def _start(self, name: str, *arguments: str) -> None:
        core = bundled_jar("spark-core_*.jar")
        jars = core.parent
        command = [
            str(find_java().executable),
            *_OPTIONS,
            *("-cp", f"{jars}/*", f"org.apache.spark.deploy.{name}", *arguments),
        ]
        # What Spark's own scripts set.
        environment = {
            **os.environ,
            "SPARK_HOME": str(jars.parent),
            "SPARK_SCALA_VERSION": core.name.partition("_")[2].partition("-")[0],
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        with (self._work / "cluster.log").open("ab") as log:
            self._processes.append(
                subprocess.Popen(command, stdout=log, stderr=log, cwd=self._work, env=environment)
            )

    def _wait_for(self, workers: int) -> None:
        """Wait until the master answers and knows so many workers."""
        deadline = time.monotonic() + _START_TIMEOUT
        while self._alive_workers() != workers:
            ended = [process for process in self._processes if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                raise RuntimeError(f"The Spark cluster did not start:\n{self.told()}")
            time.sleep(0.1)

    def _alive_workers(self) -> int | None:
        """How many workers the master knows; None while it does not answer."""
        try:
            with urlopen(f"http://127.0.0.1:{self._web_port}/json/", timeout=5) as answer:
                return int(json.load(answer)["aliveworkers"])
        except OSError:
            return None


def main() -> None:
    """Read the tables that the arguments name, in one snapshot."""
    parser = argparse.ArgumentParser(description="Read tables on a Spark of its own.")
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
