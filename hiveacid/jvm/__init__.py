"""Access to Spark's JVM from Python, in bulk."""
