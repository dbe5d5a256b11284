"""Meaning of directory names, buckets and write ids. Pure functions, no I/O."""
