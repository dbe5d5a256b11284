"""dbt.tests.adapter.ephemeral."""

import re

import pytest
from dbt.tests.adapter.ephemeral.test_ephemeral import (
    BaseEphemeralErrorHandling,
    BaseEphemeralMulti,
    BaseEphemeralNested,
)
from dbt.tests.util import check_relations_equal, read_file, run_dbt


def executed(model):
    sql = read_file("target", "run", "test", "models", f"{model}.sql")
    return " ".join(re.sub(r"test\d+_test_ephemeral", "schema", sql).split())


@pytest.mark.conformance("dbt-core puts them into the SQL of others")
class TestEphemeralMulti(BaseEphemeralMulti):
    def test_ephemeral_multi(self, project):
        """dbt's method compares with Postgres' statement for a view; Spark's is another."""
        run_dbt(["seed"])
        assert len(run_dbt(["run"])) == 3
        for model in ("dependent", "double_dependent", "super_dependent"):
            check_relations_equal(project.adapter, ["seed", model])
        assert executed("double_dependent") == (
            "create or replace view schema.double_dependent as "
            "with __dbt__cte__base as ( select * from schema.seed ), "
            "__dbt__cte__base_copy as ( select * from __dbt__cte__base ) "
            "-- base_copy just pulls from base. Make sure the listed "
            "-- graph of CTEs all share the same dbt_cte__base cte "
            "select * from __dbt__cte__base where gender = 'Male' union all "
            "select * from __dbt__cte__base_copy where gender = 'Female'"
        )


class TestEphemeralNested(BaseEphemeralNested):
    def test_ephemeral_nested(self, project):
        """dbt's method compares with Postgres' statement for a view; Spark's is another."""
        assert len(run_dbt(["run"])) == 2
        assert executed("root_view") == (
            "create or replace view schema.root_view as "
            "with __dbt__cte__ephemeral_level_two as ( select * from schema.source_table ), "
            "__dbt__cte__ephemeral as ( select * from __dbt__cte__ephemeral_level_two ) "
            "select * from __dbt__cte__ephemeral"
        )


@pytest.mark.conformance("dbt-core puts them into the SQL of others")
class TestEphemeralErrorHandling(BaseEphemeralErrorHandling):
    pass
