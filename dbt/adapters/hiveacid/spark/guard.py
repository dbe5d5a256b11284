"""Guard that keeps transactional tables from Spark's plain readers and writers.

Spark treats the directory of a Hive ACID table as plain files: it shows no rows, or rows that are
deleted, without an error. So every relation that a statement names is looked up in Spark's catalog
first, and views are followed to the tables behind them.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError, RawAcidReferenceError
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.py4j import each
from hiveacid.sql.catalog import identifier, session_catalog, table_metadata
from hiveacid.sql.statement import NameParts, Statement, parse

_SESSION_CATALOG = "spark_catalog"


def refuse_raw_acid(session: SparkSession, statement: Statement) -> None:
    """Refuse a statement that names a transactional table, directly or through permanent views.

    Temporary views are not followed: the statement that made the view was looked at itself.

    Raises:
        RawAcidReferenceError: naming the table, the views on the way to it, and what to write.
        AcidTargetError: the statement would remove, bring or move files of the table.
    """
    check = _NameCheck(session)
    check.refuse(statement, default_database=None, path=())
    check.refuse_files(statement)
    schema = statement.dropped_schema or ()
    if len(schema) == 1 or schema[:1] == (_SESSION_CATALOG,):
        refuse_acid_in_schema(session, schema[-1].lower())


def refuse_acid_target(session: SparkSession, database: str, table: str) -> None:
    """Refuse to drop or rename a table that is transactional.

    A model with the name of a transactional table would replace the table, and its rows would be
    lost; Spark asks for none of Hive's locks.

    Raises:
        AcidTargetError: naming the table.
    """
    if _has_transactional(session, database, table):
        raise AcidTargetError(_about_target(database, table))


def refuse_acid_in_schema(session: SparkSession, database: str) -> None:
    """Refuse to drop a database that has a transactional table.

    Raises:
        AcidTargetError: naming the first of its transactional tables.
    """
    table = min(_transactional_in(session, database), default=None)
    if table is not None:
        raise AcidTargetError(_about_target(database, table))


def is_plain_table(session: SparkSession, database: str, table: str) -> bool:
    """Return whether Spark's own catalog has a plain table or a view of this name."""
    found = table_metadata(session, database, table)
    return found is not None and not _is_transactional(found)


class _NameCheck:
    """Check of the names in a statement and in the views that it reads, each name once."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._seen: set[tuple[str, str]] = set()
        self._catalog = session_catalog(session)
        self._manager = session._jsparkSession.sessionState().catalogManager()

    def refuse(
        self, statement: Statement, default_database: str | None, path: tuple[str, ...]
    ) -> None:
        """Refuse names of transactional tables; `path` has the views that led to the statement."""
        if statement.opaque is not None:
            raise RawAcidReferenceError(
                f"{statement.opaque}{_through(path)} hides from dbt-hiveacid which tables the "
                "statement reads, and Spark reads transactional Hive tables wrong. Write the "
                "statements and names out; dbt's Jinja can compute them."
            )
        for parts in sorted(statement.reads):
            qualified = self._qualify(parts, default_database)
            if qualified is None or qualified in self._seen:
                continue
            self._seen.add(qualified)
            table = table_metadata(self._session, *qualified)
            if table is not None:
                self._refuse_table(".".join(qualified), table, path)

    def refuse_files(self, statement: Statement) -> None:
        """Refuse to change the files of transactional tables."""
        for parts in sorted(statement.of_files):
            qualified = self._qualify(parts, None)
            if qualified is not None and _has_transactional(self._session, *qualified):
                raise AcidTargetError(
                    f"{'.'.join(qualified)} is a transactional Hive table. Spark would change its "
                    "files without Hive's locks and write ids, and what others have written since "
                    "the run's snapshot may be lost. Run the statement in Hive."
                )

    def _refuse_table(self, name: str, table: Any, path: tuple[str, ...]) -> None:
        if _is_transactional(table):
            raise RawAcidReferenceError(_message(name, path))
        if table.viewText().isDefined():
            text = parse(self._session, table.viewText().get())
            namespace = table.viewCatalogAndNamespace()
            database = namespace.apply(namespace.size() - 1) if namespace.size() else None
            owner = table.identifier().database().get()
            self.refuse(text, default_database=database or owner, path=(*path, name))

    def _qualify(self, parts: NameParts, default_database: str | None) -> tuple[str, str] | None:
        """Return `parts` as database and table of Spark's own catalog; None for other catalogs."""
        if len(parts) > 2 and parts[0].lower() == _SESSION_CATALOG:
            parts = parts[1:]
        elif len(parts) > 2 or self._is_catalog(parts):
            return None
        if len(parts) == 2:
            return parts[0].lower(), parts[1].lower()
        if default_database is None:
            if self._manager.currentCatalog().name() != _SESSION_CATALOG:
                return None
            if self._catalog.isTempView(identifier(self._session, None, parts[0])):
                return None
            default_database = self._catalog.getCurrentDatabase()
        return default_database.lower(), parts[0].lower()

    def _is_catalog(self, parts: NameParts) -> bool:
        return len(parts) == 2 and self._manager.isCatalogRegistered(parts[0])


def _has_transactional(session: SparkSession, database: str, table: str) -> bool:
    found = table_metadata(session, database, table)
    return found is not None and _is_transactional(found)


def _transactional_in(session: SparkSession, database: str) -> list[str]:
    catalog = session_catalog(session)
    names = unless_missing(lambda: catalog.listTables(database, "*", False))
    tables = () if names is None else each(catalog.getTablesByName(names))
    return [table.identifier().table() for table in tables if _is_transactional(table)]


def _is_transactional(table: Any) -> bool:
    transactional = table.properties().get("transactional")
    return bool(transactional.isDefined() and transactional.get().lower() == "true")


def _about_target(database: str, table: str) -> str:
    return (
        f"{database}.{table} is a transactional Hive table. Spark would drop or rename it without "
        "Hive's locks, and its rows would be lost to Hive. Give the model, seed or snapshot of "
        "this name another `alias` or `schema`. To remove the table itself, drop it in Hive."
    )


def _message(name: str, path: tuple[str, ...]) -> str:
    database, table = name.split(".", 1)
    return (
        f"{name}{_through(path)} is a transactional Hive table, which Spark reads wrong without "
        "an error. So the statement was not run. Declare the table as a source, and read it with "
        f"{{{{ source('{database}', '{table}') }}}}."
    )


def _through(path: tuple[str, ...]) -> str:
    return f" (through the view {' > '.join(path)})" if path else ""
