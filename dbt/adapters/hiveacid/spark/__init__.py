"""Spark as dbt uses it: the process, a session a connection, statements and who they read."""
