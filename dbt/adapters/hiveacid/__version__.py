"""The adapter's version, in the module in which dbt looks for it."""

from hiveacid import __version__ as version

__all__ = ["version"]
