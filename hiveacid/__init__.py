"""Hive ACID tables for PySpark: Hive's rows, one snapshot over several tables, and changes."""
