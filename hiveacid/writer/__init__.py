"""Writes into transactional tables: staged by Spark, published by one transaction of Hive's."""
