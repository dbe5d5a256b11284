"""dbt.tests.adapter.store_test_failures_tests."""

import pytest
from dbt.tests.adapter.store_test_failures_tests import basic
from dbt.tests.adapter.store_test_failures_tests.test_store_test_failures import (
    BaseStoreTestFailures,
    BaseStoreTestFailuresLimit,
)


@pytest.mark.long
class TestStoreTestFailures(BaseStoreTestFailures):
    pass


@pytest.mark.long
class TestStoreTestFailuresLimit(BaseStoreTestFailuresLimit):
    pass


@pytest.mark.long
class TestStoreTestFailuresAsInteractions(basic.StoreTestFailuresAsInteractions):
    pass


@pytest.mark.long
class TestStoreTestFailuresAsProjectLevelOff(basic.StoreTestFailuresAsProjectLevelOff):
    pass


@pytest.mark.long
class TestStoreTestFailuresAsProjectLevelView(basic.StoreTestFailuresAsProjectLevelView):
    pass


@pytest.mark.long
class TestStoreTestFailuresAsProjectLevelEphemeral(basic.StoreTestFailuresAsProjectLevelEphemeral):
    pass


@pytest.mark.long
class TestStoreTestFailuresAsGeneric(basic.StoreTestFailuresAsGeneric):
    pass


@pytest.mark.long
class TestStoreTestFailuresAsExceptions(basic.StoreTestFailuresAsExceptions):
    pass
