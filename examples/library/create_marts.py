"""A new Hive ACID table, partitioned and bucketed, that comes with its rows."""

import sys

from pyspark.sql import SparkSession

import hiveacid

metastore = sys.argv[1]
spark = SparkSession.builder.appName("create marts").getOrCreate()

with hiveacid.transaction(spark, metastore, ["shop.orders"]) as transaction:
    orders = transaction.table("shop.orders")
    transaction.create(
        "marts.orders",
        orders.schema,
        partitioned_by="country",
        clustered_by="id",
        buckets=4,
        kind="insert_only",
        comment="Orders by country",
    )
    transaction.append("marts.orders", orders)
