"""dbt.tests.adapter.aliases."""

import pytest
from dbt.tests.adapter.aliases import fixtures
from dbt.tests.adapter.aliases.test_aliases import (
    BaseAliasErrors,
    BaseAliases,
    BaseSameAliasDifferentDatabases,
    BaseSameAliasDifferentSchemas,
)

from tests.functional.conformance.spark_sql import with_strings

pytestmark = pytest.mark.conformance("names are dbt-core's")


class Strings:
    @pytest.fixture(scope="class")
    def macros(self):
        return {
            "cast.sql": with_strings(fixtures.MACROS__CAST_SQL),
            "expect_value.sql": fixtures.MACROS__EXPECT_VALUE_SQL,
        }


class TestAliases(Strings, BaseAliases):
    pass


class TestAliasErrors(Strings, BaseAliasErrors):
    pass


class TestSameAliasDifferentSchemas(Strings, BaseSameAliasDifferentSchemas):
    pass


class TestSameAliasDifferentDatabases(Strings, BaseSameAliasDifferentDatabases):
    pass
