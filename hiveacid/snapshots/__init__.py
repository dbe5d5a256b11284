"""Snapshots: one transaction, its locks, and the tables pinned under them."""
