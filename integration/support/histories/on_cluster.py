"""Random histories of converted tables on a cluster of two executors.

`python -m integration.support.histories.on_cluster DIRECTORY MINUTES` starts a Hive and a cluster
of its own; HISTORIES_SEED chooses the seed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from integration.support.dbt_project import spark_settings
from integration.support.histories.history import IN_TEST, Ground
from integration.support.histories.originals import (
    OriginalHistories,
    assert_sound_in_all_ways,
    run_for,
)
from integration.support.hive import HiveServer
from integration.support.spark_cluster import WORKERS, SparkCluster

_UTC = "-Duser.timezone=UTC"

_SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": _UTC,
    "spark.executor.extraJavaOptions": _UTC,
    "spark.executor.memory": "512m",
    # No task starts before both executors are there.
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    "spark.scheduler.maxRegisteredResourcesWaitingTime": "120s",
    "spark.cores.max": str(WORKERS),
}


def main() -> None:
    """Run histories; a mismatch, or fewer executors than two, is an AssertionError."""
    directory, minutes = Path(sys.argv[1]), float(sys.argv[2])
    with (
        HiveServer(IN_TEST, work=directory / "hive") as hive,
        SparkCluster(directory) as cluster,
    ):
        settings = {**spark_settings(hive), **_SETTINGS, "spark.master": cluster.master}
        spark = SparkSession.builder.config(map={**settings}).enableHiveSupport().getOrCreate()
        try:
            with Ground.make(hive, spark, directory, "original_histories") as ground:
                histories = OriginalHistories(ground)
                histories.prepare()
                run_for(histories, minutes)
                # The driver is in the list, too.
                executors = spark._jsc.sc().statusTracker().getExecutorInfos()
                assert len(executors) == WORKERS + 1, cluster.told()
                assert_sound_in_all_ways(histories)
        finally:
            spark.stop()


if __name__ == "__main__":
    main()
