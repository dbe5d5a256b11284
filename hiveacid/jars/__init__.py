"""Hive's client jars for Spark, fetched by a lock file: `python -m hiveacid.jars`."""
