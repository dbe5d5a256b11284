"""The changes of a Hive ACID table since the last time: a plain PySpark job."""

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import hiveacid

metastore, target, stored_state = sys.argv[1], sys.argv[2], Path(sys.argv[3])
spark = SparkSession.builder.appName("follow orders").getOrCreate()

state = stored_state.read_text() if stored_state.exists() else None
with hiveacid.snapshot(spark, metastore, ["shop.orders"]) as snapshot:
    changes = snapshot.changes("shop.orders", since=state)
    if changes.losses:
        print("Everything is read again:", *changes.losses)
        changes = snapshot.changes("shop.orders")
    changes.rows.write.mode("overwrite").parquet(target)

# Only now: the block has ended without an error, so the rows are those of one snapshot.
stored_state.write_text(changes.state.to_text())
