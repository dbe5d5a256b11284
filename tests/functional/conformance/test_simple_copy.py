"""dbt.tests.adapter.simple_copy."""

import pytest
from dbt.tests.adapter.simple_copy.test_copy_uppercase import BaseSimpleCopyUppercase
from dbt.tests.adapter.simple_copy.test_simple_copy import EmptyModelsArentRunBase, SimpleCopyBase
from dbt.tests.util import get_connection


@pytest.mark.conformance("our own is in test_same_project.py")
class TestSimpleCopy(SimpleCopyBase):
    @pytest.mark.skip(reason="Spark has materialized views in declarative pipelines only.")
    def test_simple_copy_with_materialized_views(self):
        pass


@pytest.mark.conformance("our own is in test_same_project.py")
class TestEmptyModelsArentRun(EmptyModelsArentRunBase):
    @pytest.fixture(scope="class")
    def project(self, project):
        def tables():
            with get_connection(project.adapter) as _:
                schema = project.adapter.Relation.create(schema=project.test_schema)
                found = project.adapter.list_relations_without_caching(schema)
            return {relation.identifier: relation.type for relation in found}

        # dbt's looks into an information schema, which Spark has not.
        project.get_tables_in_schema = tables
        return project


@pytest.mark.conformance("our own is in test_same_project.py")
class TestSimpleCopyUppercase(BaseSimpleCopyUppercase):
    @pytest.fixture(scope="class")
    def dbt_profile_target(self, dbt_profile_target):
        # dbt's own is a profile of Postgres, for its database in capital letters.
        return dbt_profile_target
