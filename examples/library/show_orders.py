"""The rows of a Hive ACID table: the shortest program."""

from pyspark.sql import SparkSession

import hiveacid

metastore = "thrift://metastore.example.org:9083"
spark = SparkSession.builder.getOrCreate()

with hiveacid.snapshot(spark, metastore, ["shop.orders"]) as snapshot:
    snapshot.table("shop.orders").show()
