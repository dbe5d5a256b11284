"""What the scans of a Spark query have read."""

from __future__ import annotations

from pyspark.sql import DataFrame


def scanned(frame: DataFrame, metric: str) -> int:
    """The sum of a metric over the scans of ORC files, after the query has run.

    `numFiles` are files that were opened, `numOutputRows` rows that came to Spark.
    """
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.nodeName() == "AdaptiveSparkPlan":
        plan = plan.executedPlan()
    leaves = plan.collectLeaves()
    scans = (leaves.apply(i) for i in range(leaves.size()))
    return sum(
        scan.metrics().apply(metric).value()
        for scan in scans
        if scan.nodeName().startswith("Scan orc")
    )
