"""How Spark divides the files of its scans, and what these have read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

#: Settings of Spark, the rest of their names.
SPLITS = {
    "a file a task": {"openCostInBytes": "1g"},
    "all in one task": {"maxPartitionBytes": "1g", "maxPartitionNum": "1"},
    "a stripe a split": {"maxPartitionBytes": "8k", "openCostInBytes": "0"},
    "many splits, few tasks": {"maxPartitionBytes": "8k", "maxPartitionNum": "3"},
}


@contextmanager
def divided(spark: SparkSession, split: str) -> Iterator[None]:
    """Spark divides files in one of the `SPLITS`."""
    for key, value in SPLITS[split].items():
        spark.conf.set(f"spark.sql.files.{key}", value)
    try:
        yield
    finally:
        for key in SPLITS[split]:
            spark.conf.unset(f"spark.sql.files.{key}")


def scanned(frame: DataFrame, metric: str) -> int:
    """The sum of a metric over the scans of ORC files, after the query has run.

    `numFiles` are files that were opened, `numOutputRows` rows that came to Spark.
    """
    return sum(
        scan.metrics().apply(metric).value()
        for scan in _leaves(frame._jdf.queryExecution().executedPlan())
        if scan.nodeName().startswith("Scan orc")
    )


def _leaves(plan: Any) -> Iterator[Any]:
    if plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    for leaf in (leaves.apply(i) for i in range(leaves.size())):
        if leaf.nodeName().endswith("QueryStage"):
            yield from _leaves(leaf.plan())
        else:
            yield leaf
