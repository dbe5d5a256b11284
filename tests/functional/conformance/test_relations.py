"""dbt.tests.adapter.relations."""

import pytest
from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed

from tests.functional.conformance.formats import Delta


class TestChangeRelationTypeValidator(BaseChangeRelationTypeValidator):
    pass


@pytest.mark.conformance("shown on Parquet")
class TestChangeRelationTypeValidatorDelta(Delta, BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass
