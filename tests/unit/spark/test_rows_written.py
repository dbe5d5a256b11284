"""The number of rows that a statement wrote is known if Spark still knows it."""

from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from py4j.protocol import Py4JJavaError

from dbt.adapters.hiveacid.spark.session import SessionHandle


class Stages:
    """What Spark keeps of stages: the records of each; a stage that it has forgotten has none."""

    def __init__(self, **records):
        self.records = records

    def lastStageAttempt(self, stage):  # noqa: N802
        if stage not in self.records:
            raise Py4JJavaError(f"No stage with id {stage}", SimpleNamespace(_target_id="o1"))
        written = self.records[stage]
        return SimpleNamespace(outputRecords=lambda: written, outputBytes=lambda: 10 * written)

    def job(self, job):
        ids = SimpleNamespace(size=lambda: 2, apply=lambda i: f"stage_{i}")
        return SimpleNamespace(stageIds=lambda: ids)


@pytest.mark.parametrize(
    ("stages", "expected"),
    [
        (Stages(stage_0=0, stage_1=5), 5),
        (Stages(stage_0=0, stage_1=0), None),
        (Stages(stage_1=5), None),
    ],
)
def test_a_statement_succeeds_though_spark_has_forgotten_a_stage(stages, expected):
    root = MagicMock()
    session = root.newSession.return_value
    session.sql.return_value.columns = []
    context = session.sparkContext._jsc.sc.return_value
    context.statusTracker.return_value.getJobIdsForTag.return_value = [1]
    context.statusStore.return_value = stages
    cursor = SessionHandle(root, {}).cursor()
    cursor.execute("insert into t values (1)")
    assert cursor.rows_written() == expected
