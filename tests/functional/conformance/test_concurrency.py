"""dbt.tests.adapter.concurrency."""

import pytest
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency


@pytest.mark.conformance("our own tests run on four threads")
class TestConcurrency(BaseConcurrency):
    pass
