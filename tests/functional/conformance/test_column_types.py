"""dbt.tests.adapter.column_types."""

import pytest
from dbt.tests.adapter.column_types import fixtures
from dbt.tests.adapter.column_types.test_column_types import BasePostgresColumnTypes

from tests.functional.conformance.spark_sql import as_spark


class TestPostgresColumnTypes(BasePostgresColumnTypes):
    @pytest.fixture(scope="class")
    def models(self):
        (model,) = as_spark(fixtures.model_sql)
        return {"model.sql": model, "schema.yml": fixtures.schema_yml}
