"""dbt.tests.adapter.relations."""

from dbt.tests.adapter.relations.test_changing_relation_type import BaseChangeRelationTypeValidator
from dbt.tests.adapter.relations.test_dropping_schema_named import BaseDropSchemaNamed

from tests.functional.conformance.formats import Delta


class TestChangeRelationTypeValidator(BaseChangeRelationTypeValidator):
    pass


class TestChangeRelationTypeValidatorDelta(Delta, BaseChangeRelationTypeValidator):
    pass


class TestDropSchemaNamed(BaseDropSchemaNamed):
    pass
