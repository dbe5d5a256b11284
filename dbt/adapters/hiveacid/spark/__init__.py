"""Spark for dbt: the driver, one session for each connection, statements, catalog, login."""
