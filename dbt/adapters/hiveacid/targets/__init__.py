"""Targets: building and switching tables, and their states."""
