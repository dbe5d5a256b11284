"""Functions of the project are listed next to tables, and asked for only if there are some."""

import pytest
from dbt.tests.util import get_connection, run_dbt, run_dbt_and_capture

from integration.support.dbt_project import HAS_FUNCTIONS

PROPERTIES = """
functions:
  - name: plus_one
    arguments: [{name: a, data_type: int}]
    returns: {data_type: int}
  - name: not_built
    arguments: [{name: a, data_type: int}]
    returns: {data_type: int}
"""


@pytest.mark.skipif(not HAS_FUNCTIONS, reason="this dbt-core makes no functions")
class TestFunctions:
    @pytest.fixture(scope="class")
    def models(self):
        return {"numbers.sql": "select {{ function('plus_one') }}(1) as two"}

    @pytest.fixture(scope="class")
    def functions(self):
        return {"plus_one.sql": "a + 1", "not_built.sql": "a", "functions.yml": PROPERTIES}

    def test_the_projects_functions_are_relations(self, project):
        schema = project.test_schema
        project.run_sql(f"create function {schema}.of_others(a int) returns int return a")
        for _ in range(2):
            run_dbt(["build", "--exclude", "not_built"])
        with get_connection(project.adapter) as _:
            relation = project.adapter.Relation.create(schema=schema)
            found = project.adapter.list_relations_without_caching(relation)
        assert {it.identifier: str(it.type) for it in found} == {
            "numbers": "view",
            "plus_one": "function",
        }
        catalog, log = run_dbt_and_capture(["--debug", "docs", "generate"])
        assert "Error while running" not in log
        assert list(catalog.nodes) == ["model.test.numbers"]


class TestNoFunctions:
    @pytest.fixture(scope="class")
    def models(self):
        return {"numbers.sql": "select 1 as one"}

    def test_a_project_without_functions_does_not_ask_for_any(self, project):
        with pytest.MonkeyPatch.context() as patch:
            asked = []
            patch.setattr(
                "dbt.adapters.hiveacid.metadata.schemas.function_names",
                lambda session, schema: asked.append(schema) or set(),
            )
            run_dbt(["run"])
        assert not asked
