"""Rows that break a contract's constraint do not stay in a target."""

import pytest
import yaml
from dbt.tests.util import relation_from_name, run_dbt, run_dbt_and_capture

MODEL = """{{{{ config(materialized='{materialized}', file_format=var('file_format', 'delta'),
    on_schema_change='fail', contract={{'enforced': true}}) }}}}
select cast(if(id > 1, {{{{ var('last', 'id') }}}}, id) as bigint) as id from range(3)"""

OF_A_MODEL = """{{ config(materialized='table', file_format='delta', contract={'enforced': true}) }}
select 1 as id, cast({{ var('day', 7) }} as int) as day"""

MODELS = {"a_table": "table", "an_incremental": "incremental"}


def rows(project, name):
    relation = relation_from_name(project.adapter, name)
    return sorted(row[0] for row in project.run_sql(f"select id from {relation}", fetch="all"))


def run(project, *arguments, file_format="delta", last="id", expect_pass=True):
    variables = yaml.safe_dump({"file_format": file_format, "last": last})
    arguments = ("--select", *MODELS, *arguments, "--vars", variables)
    return run_dbt(["run", *arguments], expect_pass=expect_pass)


class TestConstraints:
    @pytest.fixture(scope="class")
    def models(self):
        constraints = [
            {"type": "not_null"},
            {"type": "check", "expression": "id < 7", "name": "small"},
        ]
        columns = [{"name": "id", "data_type": "bigint", "constraints": constraints}]
        contracts = [{"name": name, "columns": columns} for name in MODELS]
        id_column, day_column = ({"name": n, "data_type": "int"} for n in ("id", "day"))
        contracts.append(
            {
                "name": "of_a_model",
                "columns": [id_column, day_column],
                "constraints": [
                    {"type": "not_null", "columns": ["id", "day"]},
                    {"type": "unique", "columns": ["id"]},
                ],
            }
        )
        models = {f"{name}.sql": MODEL.format(materialized=kind) for name, kind in MODELS.items()}
        models["of_a_model.sql"] = OF_A_MODEL
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

    def test_a_models_own_constraint_holds_for_all_its_columns(self, project):
        arguments = ["--debug", "run", "--select", "of_a_model"]
        _, said = run_dbt_and_capture(arguments)
        assert f"Invalid constraint for {project.test_schema}.of_a_model. Only `not_null`" in said
        (result,) = run_dbt([*arguments, "--vars", "day: 'null'"], expect_pass=False)
        assert "CHECK constraint (`id` is not null and `day` is not null)" in result.message
        (row,) = project.run_sql("select * from {schema}.of_a_model", fetch="all")
        assert tuple(row) == (1, 7)
