"""The quickstart: a small shop that Apache Hive writes and dbt reads."""
