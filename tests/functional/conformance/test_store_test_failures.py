"""dbt.tests.adapter.store_test_failures_tests."""

import pytest
from dbt.tests.adapter.store_test_failures_tests import basic
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailures(BaseStoreTestFailures):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresAsInteractions(basic.StoreTestFailuresAsInteractions):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresAsProjectLevelOff(basic.StoreTestFailuresAsProjectLevelOff):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresAsProjectLevelView(basic.StoreTestFailuresAsProjectLevelView):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresAsProjectLevelEphemeral(basic.StoreTestFailuresAsProjectLevelEphemeral):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresAsGeneric(basic.StoreTestFailuresAsGeneric):
    pass


@pytest.mark.conformance("our own are in test_dbt_nodes.py")
class TestStoreTestFailuresAsExceptions(basic.StoreTestFailuresAsExceptions):
    pass
