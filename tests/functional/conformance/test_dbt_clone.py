"""dbt.tests.adapter.dbt_clone: Delta is what Spark can clone."""

import shutil
from pathlib import Path

import pytest
from dbt.tests.adapter.dbt_clone.test_dbt_clone import (
    BaseClone,
    BaseCloneNotPossible,
    BaseClonePossible,
    BaseCloneSameSourceAndTarget,
    BaseCloneSameTargetAndState,
)
from dbt.tests.util import run_dbt

from tests.functional.conformance.formats import Delta


class TestClonePossibleDelta(Delta, BaseClonePossible):
    pass


class TestCloneNotPossibleDelta(Delta, BaseCloneNotPossible):
    pass


class TestCloneSameSourceAndTargetDelta(Delta, BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass


class TestFailingCloneDelta(Delta, BaseClone):
    @pytest.fixture(scope="class")
    def models(self):
        return {"table_model.sql": "{{ config(materialized='table') }} select 1 as id"}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {}

    def test_the_former_table_stays(self, project, unique_schema, other_schema, spark_parameters):
        project.create_test_schema(other_schema)
        run_dbt(["run"])
        self.copy_state(project.project_root)
        clone = ["clone", "--state", "state", "--target", "otherschema", "--full-refresh"]
        select = f"select id from {other_schema}.table_model"
        for _ in range(2):
            run_dbt(clone)
            assert project.run_sql(select, fetch="all") == [(1,)]
        # The clone reads the files of the original, whose log is gone.
        database = Path(spark_parameters["spark.sql.warehouse.dir"]) / f"{unique_schema}.db"
        shutil.rmtree(database / "table_model" / "_delta_log")
        (result,) = run_dbt(clone, expect_pass=False)
        assert result.status == "error"
        assert project.run_sql(select, fetch="all") == [(1,)]
        tables = project.run_sql(f"show tables in {other_schema}", fetch="all")
        assert [row[1] for row in tables] == ["table_model"]
