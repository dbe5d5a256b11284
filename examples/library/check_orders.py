"""A check of a Hive ACID table's files: a plain PySpark job."""

import sys

from pyspark.sql import SparkSession

import hiveacid

metastore = sys.argv[1]
spark = SparkSession.builder.appName("check orders").getOrCreate()

try:
    with hiveacid.snapshot(spark, metastore, ["shop.orders"], lock_timeout=60) as snapshot:
        verification = snapshot.verify("shop.orders")
except hiveacid.LockTimeoutError as error:
    sys.exit(f"Not now: {error}")
except hiveacid.HiveAcidError as error:
    sys.exit(str(error))

print(verification)
