"""The reader on a cluster: nothing depends on Spark's local mode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pytest

from integration.support.differential import canonical
from integration.support.hive import HiveClient, HiveServer
from integration.support.spark_cluster import WORKERS, SparkCluster
from integration.support.tables import SMALL_TABLES, convert_stripes, write_stripes


@pytest.mark.long("starts a cluster of Spark")
def test_rows_are_hives(
    hive: HiveServer,
    hive_client: HiveClient,
    database: str,
    small_tables: str,
    tmp_path: Path,
) -> None:
    clock = f"{database}.clock"
    hive_client.execute(
        f"CREATE TABLE {clock} (at timestamp) STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive_client.execute(f"INSERT INTO {clock} VALUES (timestamp '2026-01-02 03:04:05')")
    # Each executor gets splits of each file, some without rows.
    stripes = f"{database}.stripes"
    write_stripes(tmp_path / "stripes", files=3, rows=6000)
    convert_stripes(hive_client, stripes, tmp_path / "stripes")
    hive_client.execute(f"DELETE FROM {stripes} WHERE id % 13 = 0 OR id BETWEEN 14000 AND 15000")
    small_splits = {"spark.sql.files.maxPartitionBytes": "7001"}
    tables = [clock, stripes, *(f"{small_tables}.{table}" for table in SMALL_TABLES)]
    with SparkCluster(tmp_path) as cluster:
        done = _read(hive, cluster, tables, tmp_path, small_splits)
        assert done.returncode == 0, f"{done.stderr[-2000:]}\n{cluster.told()}"
        elsewhere = {"spark.executor.extraJavaOptions": "-Duser.timezone=America/New_York"}
        refused = _read(hive, cluster, [clock], tmp_path, elsewhere)
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["executors"] == WORKERS
    for table in tables:
        expected = canonical(hive_client.query(f"SELECT * FROM {table}"))
        assert list(map(tuple, answer["rows"][table])) == expected, table
    assert refused.returncode != 0
    assert "Spark's driver has UTC, and executors have America/New_York" in refused.stderr


def _read(
    hive: HiveServer,
    cluster: SparkCluster,
    tables: Sequence[str],
    directory: Path,
    more: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.CompletedProcess[str]:
    """Return what `integration.support.spark_cluster` answers on a cluster, with more settings."""
    settings = {
        "spark.master": cluster.master,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.executor.extraJavaOptions": "-Duser.timezone=UTC",
        "spark.ui.enabled": "false",
        "spark.log.level": "ERROR",
        "spark.executor.memory": "512m",
        "spark.sql.session.timeZone": "UTC",
        # No task starts before both executors are there.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
        "spark.cores.max": str(WORKERS),
        **more,
    }
    return subprocess.run(
        [
            *(sys.executable, "-m", "integration.support.spark_cluster"),
            *("--metastore", hive.metastore_uri),
            *(f"--conf={key}={value}" for key, value in settings.items()),
            *tables,
        ],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        cwd=directory,
        capture_output=True,
        text=True,
    )
