"""dbt's tests of freshness by a query, which the adapter runs with a source's options."""

from dbt.tests.adapter.utils.test_source_freshness_custom_info import BaseCalculateFreshnessMethod


class TestCalculateFreshnessMethod(BaseCalculateFreshnessMethod):
    pass
