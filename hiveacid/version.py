"""Version of the library and of the dbt adapter, which are released together."""

__version__ = "0.2.0"
