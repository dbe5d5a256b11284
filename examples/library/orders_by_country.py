"""A report of one moment of two Hive ACID tables: a plain PySpark job."""

import sys

from pyspark.sql import SparkSession

import hiveacid

metastore, target = sys.argv[1:]
spark = SparkSession.builder.appName("orders by country").getOrCreate()

with hiveacid.snapshot(spark, metastore, ["shop.orders", "shop.customers"]) as snapshot:
    orders = snapshot.table("shop.orders", partitions={"day": ["2026-01-30", "2026-01-31"]})
    customers = snapshot.table("shop.customers")
    report = orders.join(customers, "customer_id").groupBy("country").sum("amount")
    report.write.mode("overwrite").parquet(target)

print(snapshot.report())
