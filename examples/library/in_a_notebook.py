"""The rows of a Hive ACID table in the cells of a notebook."""

# %%
from pyspark.sql import SparkSession

import hiveacid

metastore = "thrift://metastore.example.org:9083"
spark = SparkSession.builder.getOrCreate()
snapshot = hiveacid.snapshot(spark, metastore, ["shop.orders"])

# %%
snapshot.table("shop.orders").show()

# %%
snapshot.check_alive()
snapshot.end()
