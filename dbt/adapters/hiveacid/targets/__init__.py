"""Targets: how a table is built, switched, and keeps its state."""
