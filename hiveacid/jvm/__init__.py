"""Spark's JVM from Python, in bulk."""
