"""Helpers of the integration tests: real Hive, dbt projects, histories, planted faults."""
