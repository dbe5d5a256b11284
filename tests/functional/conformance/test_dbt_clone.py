"""dbt.tests.adapter.dbt_clone: Delta is what Spark can clone."""

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


@pytest.mark.conformance("dbt-spark makes a view of it, without a macro of ours")
class TestCloneNotPossibleDelta(Delta, BaseCloneNotPossible):
    pass


class TestCloneSameSourceAndTargetDelta(Delta, BaseCloneSameSourceAndTarget):
    pass


class TestCloneSameTargetAndState(BaseCloneSameTargetAndState):
    pass


CLONE = """
{% macro spark__create_or_replace_clone(this_relation, defer_relation) %}
  create table {{ this_relation }} shallow clone {{ var('original', defer_relation) }}
{% endmacro %}
"""


class TestFailingCloneDelta(Delta, BaseClone):
    @pytest.fixture(scope="class")
    def models(self):
        return {"table_model.sql": "{{ config(materialized='table') }} select 1 as id"}

    @pytest.fixture(scope="class")
    def macros(self):
        return {"clone.sql": CLONE}

    @pytest.fixture(scope="class")
    def seeds(self):
        return {}

    @pytest.fixture(scope="class")
    def snapshots(self):
        return {}

    def test_the_former_table_stays(self, project, other_schema):
        project.create_test_schema(other_schema)
        run_dbt(["run"])
        self.copy_state(project.project_root)
        clone = ["clone", "--state", "state", "--target", "otherschema", "--full-refresh"]
        run_dbt(clone)
        (result,) = run_dbt([*clone, "--vars", "original: nowhere"], expect_pass=False)
        assert "`nowhere` cannot be found" in result.message
        rows = project.run_sql(f"select id from {other_schema}.table_model", fetch="all")
        assert rows == [(1,)]
        tables = project.run_sql(f"show tables in {other_schema}", fetch="all")
        assert [row[1] for row in tables] == ["table_model"]
