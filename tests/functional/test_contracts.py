"""Rows that break a contract's constraint do not stay in a target."""

import pytest
import yaml
from dbt.tests.util import relation_from_name, run_dbt

MODEL = """{{{{ config(materialized='{materialized}', file_format=var('file_format', 'delta'),
    on_schema_change='fail', contract={{'enforced': true}}) }}}}
select cast(if(id > 1, {{{{ var('last', 'id') }}}}, id) as bigint) as id from range(3)"""

MODELS = {"a_table": "table", "an_incremental": "incremental"}


def rows(project, name):
    relation = relation_from_name(project.adapter, name)
    return sorted(row[0] for row in project.run_sql(f"select id from {relation}", fetch="all"))


def run(project, *arguments, file_format="delta", last="id", expect_pass=True):
    variables = yaml.safe_dump({"file_format": file_format, "last": last})
    return run_dbt(["run", *arguments, "--vars", variables], expect_pass=expect_pass)


class TestConstraints:
    @pytest.fixture(scope="class")
    def models(self):
        constraints = [
            {"type": "not_null"},
            {"type": "check", "expression": "id < 7", "name": "small"},
        ]
        columns = [{"name": "id", "data_type": "bigint", "constraints": constraints}]
        contracts = [{"name": name, "columns": columns} for name in MODELS]
        models = {f"{name}.sql": MODEL.format(materialized=kind) for name, kind in MODELS.items()}
        return {**models, "contracts.yml": yaml.safe_dump({"models": contracts})}

    @pytest.mark.parametrize("former", [None, "delta", "parquet"])
    def test_a_broken_constraint_leaves_the_former_table(self, project, former):
        if former is not None:
            run(project, "--full-refresh", file_format=former)
        # The first of the two constraints holds.
        results = run(project, "--full-refresh", last="7", expect_pass=False)
        for result in results:
            assert "violate the new CHECK constraint (id < 7)" in result.message
        tables = {
            row[1] for row in project.run_sql(f"show tables in {project.test_schema}", fetch="all")
        }
        assert tables == (set() if former is None else set(MODELS))
        for name in tables:
            assert rows(project, name) == [0, 1, 2]
        if former == "parquet":
            run(project, "--full-refresh")
            relation = relation_from_name(project.adapter, "a_table")
            properties = project.run_sql(f"show tblproperties {relation}", fetch="all")
            assert ("delta.constraints.small", "id < 7") in {tuple(row) for row in properties}
