"""dbt.tests.adapter.concurrency."""

import pytest
from dbt.tests.adapter.concurrency.test_concurrency import BaseConcurrency


@pytest.mark.long
class TestConcurrency(BaseConcurrency):
    pass
