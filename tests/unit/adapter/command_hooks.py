"""Hooks of a dbt command that a test plays."""

from __future__ import annotations


class Hooks:
    """A command without sources, some of whose nodes read one."""

    def __init__(self, readers=None, kept=lambda report: None):
        """`readers` are the nodes, None if they are not known; `kept` gets the report."""
        self.readers = readers
        self.keep_report = kept

    def selected_sources(self):
        return set()

    def project_sources(self):
        return set()

    def written_targets(self):
        return set()

    def is_static(self, name):
        return False

    def file_settings(self, names):
        return {}

    def acid_readers(self, read_in_snapshot):
        return self.readers

    def on_lost(self):
        return None

    def raise_if_cancelled(self):
        return None
