"""Python processes in which dbt is not installed."""

WITHOUT_DBT = """
import sys

class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("dbt", "dbt_common", "agate"):
            raise ModuleNotFoundError(f"No module named {name!r} (refused by a test)", name=name)

sys.meta_path.insert(0, Refused())
"""
"""The start of a program that must do without dbt."""
