"""The version, where dbt looks for it."""

from hiveacid import __version__ as version

__all__ = ["version"]
