"""SQL over Hive ACID tables by their own names, on Spark's parser."""
