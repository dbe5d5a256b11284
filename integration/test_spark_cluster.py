"""The reader on a cluster: nothing depends on Spark's local mode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from integration.differential import canonical
from integration.hive import HiveClient, HiveServer
from integration.small_tables import TABLES
from integration.spark_cluster import WORKERS, SparkCluster


@pytest.mark.long
def test_rows_are_hives(
    hive: HiveServer, hive_session: HiveClient, small_tables: str, tmp_path: Path
) -> None:
    tables = [f"{small_tables}.{table}" for table in TABLES]
    with SparkCluster(tmp_path) as cluster:
        settings = {
            "spark.master": cluster.master,
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.log.level": "ERROR",
            "spark.executor.memory": "512m",
            "spark.sql.session.timeZone": "UTC",
            # No task starts before both executors are there.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
            "spark.cores.max": str(WORKERS),
        }
        conf = [f"--conf={key}={value}" for key, value in settings.items()]
        done = subprocess.run(
            [
                *(sys.executable, "-m", "integration.read_tables"),
                *("--metastore", hive.metastore_uri, *conf, *tables),
            ],
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{done.stderr[-2000:]}\n{cluster.told()}"
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["executors"] == WORKERS
    for table in tables:
        expected = canonical(hive_session.query(f"SELECT * FROM {table}"))
        assert list(map(tuple, answer["rows"][table])) == expected, table
