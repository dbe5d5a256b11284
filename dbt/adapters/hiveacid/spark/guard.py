"""Transactional tables must not reach Spark's plain readers and writers.

Spark takes the directory of a Hive ACID table for plain files: it shows no rows, or rows that are
deleted, without an error. So every relation that a statement names is looked up in Spark's catalog
first, and views are followed to the tables behind them.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import AcidTargetError, RawAcidReferenceError
from dbt.adapters.hiveacid.spark.statements import NameParts, Statement, parse
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.py4j import each, java

_SESSION_CATALOG = "spark_catalog"


def refuse_raw_acid(session: SparkSession, statement: Statement) -> None:
    """Refuse a statement that names a transactional table, directly or through permanent views.

    Temporary views are not followed: the statement that made one was looked at itself.

    Raises:
        RawAcidReferenceError: naming the table, how the statement came to it, and what to write.
        AcidTargetError: the statement would remove, bring or move files of the table.
    """
    catalog = _Catalog(session)
    catalog.refuse(statement, default_database=None, path=())
    catalog.refuse_files(statement)
    schema = statement.dropped_schema or ()
    if len(schema) == 1 or schema[:1] == (_SESSION_CATALOG,):
        refuse_acid_in_schema(session, schema[-1].lower())


def refuse_acid_target(session: SparkSession, database: str, table: str) -> None:
    """Refuse to drop or rename a table that is transactional.

    A model with the name of such a table would take its place, and its rows with it; Spark asks
    for none of Hive's locks.

    Raises:
        AcidTargetError: naming the table.
    """
    if _Catalog(session).is_transactional(database, table):
        raise AcidTargetError(_about_target(database, table))


def refuse_acid_in_schema(session: SparkSession, database: str) -> None:
    """Refuse to drop a database with all that is in it, if that is a transactional table, too.

    Raises:
        AcidTargetError: naming the first of its transactional tables.
    """
    table = min(_Catalog(session).transactional_in(database), default=None)
    if table is not None:
        raise AcidTargetError(_about_target(database, table))


def is_plain_table(session: SparkSession, database: str, table: str) -> bool:
    """Whether Spark's own catalog has a table or view of this name that is not transactional."""
    found = _Catalog(session).look_up(database, table)
    return found is not None and not _is_transactional(found)


class _Catalog:
    """Spark's session catalog, asked about names."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._seen: set[tuple[str, str]] = set()
        context = session.sparkContext
        self._option = java(context, "scala.Option")
        self._identifier = java(context, "org.apache.spark.sql.catalyst.TableIdentifier")
        state = session._jsparkSession.sessionState()
        self._catalog = state.catalog()
        self._manager = state.catalogManager()

    def refuse(
        self, statement: Statement, default_database: str | None, path: tuple[str, ...]
    ) -> None:
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
            table = self.look_up(*qualified)
            if table is not None:
                self._refuse_table(".".join(qualified), table, path)

    def refuse_files(self, statement: Statement) -> None:
        for parts in sorted(statement.of_files):
            qualified = self._qualify(parts, None)
            if qualified is not None and self.is_transactional(*qualified):
                raise AcidTargetError(
                    f"{'.'.join(qualified)} is a transactional Hive table. Spark would change its "
                    "files without Hive's locks and write ids, and what others have written since "
                    "the run's snapshot may be lost. Run the statement in Hive."
                )

    def is_transactional(self, database: str, name: str) -> bool:
        table = self.look_up(database, name)
        return table is not None and _is_transactional(table)

    def transactional_in(self, database: str) -> list[str]:
        names = unless_missing(lambda: self._catalog.listTables(database, "*", False))
        if names is None:
            return []
        tables = each(self._catalog.getTablesByName(names))
        return [table.identifier().table() for table in tables if _is_transactional(table)]

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
        """`parts` as database and table of the session catalog; None for what is not in it."""
        if len(parts) > 2 and parts[0].lower() == _SESSION_CATALOG:
            parts = parts[1:]
        elif len(parts) > 2 or self._is_catalog(parts):
            return None
        if len(parts) == 2:
            return parts[0].lower(), parts[1].lower()
        if default_database is None:
            if self._manager.currentCatalog().name() != _SESSION_CATALOG:
                return None
            if self._catalog.isTempView(self._identifier(parts[0], self._option.apply(None))):
                return None
            default_database = self._catalog.getCurrentDatabase()
        return default_database.lower(), parts[0].lower()

    def _is_catalog(self, parts: NameParts) -> bool:
        return len(parts) == 2 and self._manager.isCatalogRegistered(parts[0])

    def look_up(self, database: str, table: str) -> Any:
        # None for what is not there, or what the session catalog does not know (`parquet.`/path``):
        # Spark meets the same when it runs the statement, and says so.
        identifier = self._identifier(table, self._option.apply(database))
        return unless_missing(lambda: self._catalog.getTableMetadata(identifier))


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
