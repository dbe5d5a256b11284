"""Sources of a dbt project that are ACID tables."""
