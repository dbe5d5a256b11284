"""Two Hive ACID tables that change together: a plain PySpark job."""

import sys

from pyspark.sql import SparkSession

import hiveacid

metastore = sys.argv[1]
spark = SparkSession.builder.appName("write marts").getOrCreate()

with hiveacid.transaction(spark, metastore, ["shop.orders"]) as transaction:
    orders = transaction.table("shop.orders")
    daily = orders.groupBy("country").agg({"amount": "sum"}).toDF("country", "amount")
    transaction.overwrite("marts.daily", daily)
    transaction.append("marts.log", spark.sql("SELECT current_timestamp() AS at"))
