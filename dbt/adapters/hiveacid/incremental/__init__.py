"""Incremental models over the changes of an ACID source."""
