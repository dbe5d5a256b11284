"""dbt.tests.adapter.caching."""

import pytest
from dbt.tests.adapter.caching.test_caching import (
    BaseCachingLowercaseModel,
    BaseCachingSelectedSchemaOnly,
    BaseCachingUppercaseModel,
    BaseNoPopulateCache,
)
from dbt.tests.util import run_dbt


class NoDatabase:
    def run_and_inspect_cache(self, project, run_args=None):
        """Spark's relations have no database, and dbt's comparison asks for its lower case."""
        found = []
        for _ in range(2):
            run_dbt(run_args)
            (relation,) = project.adapter.cache.relations
            assert relation.schema == project.test_schema
            found.append((relation.database, relation.schema, relation.identifier.lower()))
        assert found[0] == found[1]


class TestCachingLowercaseModel(NoDatabase, BaseCachingLowercaseModel):
    pass


@pytest.mark.conformance("shown with the other case")
class TestCachingUppercaseModel(NoDatabase, BaseCachingUppercaseModel):
    pass


class TestCachingSelectedSchemaOnly(NoDatabase, BaseCachingSelectedSchemaOnly):
    pass


@pytest.mark.conformance("dbt-core's cache alone")
class TestNoPopulateCache(NoDatabase, BaseNoPopulateCache):
    pass
