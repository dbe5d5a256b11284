"""Calls to the Hive metastore."""
