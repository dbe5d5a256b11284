"""A MERGE that changes some columns of the rows that differ."""

import sys

from pyspark.sql import SparkSession

import hiveacid

metastore = sys.argv[1]
spark = SparkSession.builder.appName("merge customers").getOrCreate()
customers = spark.createDataFrame([(1, "Ada"), (2, "Grace")], "id int, name string")

with hiveacid.transaction(spark, metastore) as transaction:
    transaction.merge(
        "marts.customers",
        customers.selectExpr("id", "name", "0 as changes"),
        on="id",
        update={"name": "source.name", "changes": "target.changes + 1"},
        where_matched="source.name <> target.name",
    )
