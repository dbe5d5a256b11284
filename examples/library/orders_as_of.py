"""A Hive ACID table as it was, and what has changed in it since: a plain PySpark job."""

import logging
import sys

from pyspark.sql import SparkSession

import hiveacid

metastore, write_id = sys.argv[1], int(sys.argv[2])
spark = SparkSession.builder.appName("orders as of").getOrCreate()
logging.basicConfig(format="%(message)s", stream=sys.stdout)
logging.getLogger("hiveacid").setLevel(logging.INFO)

with hiveacid.snapshot(spark, metastore, ["shop.orders"]) as snapshot:
    earlier = snapshot.table("shop.orders", version_as_of=write_id)
    print("as of write id", write_id, sorted(row.id for row in earlier.collect()))

with hiveacid.snapshot(spark, metastore, ["shop.orders"]) as snapshot:
    at_noon = snapshot.table("shop.orders", timestamp_as_of="2999-01-31 12:00:00")
    print("as of a time", sorted(row.id for row in at_noon.collect()))

with hiveacid.snapshot(spark, metastore, ["shop.orders"]) as snapshot:
    compacted = snapshot.table("shop.orders", read="optimized")
    print("compacted", sorted(row.id for row in compacted.collect()))

with hiveacid.snapshot(spark, metastore, ["shop.orders"]) as snapshot:
    try:
        feed = snapshot.table_changes("shop.orders", since=write_id)
    except (hiveacid.InstantLostError, hiveacid.HistoryLostError) as error:
        sys.exit(str(error))
    for row in feed.orderBy("_commit_version", "_change_type", "id").collect():
        print(row._commit_version, row._change_type, row.id, row._commit_timestamp is not None)
