"""Names in a statement, and the tables that they mean in Spark's catalog and in the metastore."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hiveacid.errors import RawAcidReferenceError
from hiveacid.jvm.java_types import CatalogTable
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import (
    SESSION_CATALOG,
    catalog_manager,
    current_catalog,
    identifier,
    is_catalog,
    is_transactional,
    session_catalog,
    table_metadata,
    tables_metadata,
)
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.paths import is_path
from hiveacid.sql.reads import STATEMENT, Scope
from hiveacid.sql.statement import NameParts, Relation, parse_name

_TOGETHER = 3
"""Number of tables of one database from which one request for all of them pays off."""


class Names:
    """Names of one statement, and of the views that it reads. Each table is looked up once."""

    def __init__(self, session: SparkSession, known: KnownTables) -> None:
        self._session = session
        self._known = known
        self._catalog = session_catalog(session)
        self._manager = catalog_manager(session)
        self._metadata: dict[TableName, CatalogTable | None] = {}

    def qualify(self, parts: NameParts, scope: Scope = STATEMENT) -> TableName | None:
        """Return the table of Spark's own catalog that a name means in a scope.

        None for a table of another catalog, and for a temporary view, which only a statement itself
        can name. In another current catalog, a name of two parts still means the metastore's table
        if the host has declared the table, and if the text is the host's.
        """
        if len(parts) == 3 and parts[0].lower() == SESSION_CATALOG:
            return TableName(parts[1].lower(), parts[2].lower())
        if len(parts) > 2 or self.is_in_catalog(parts):
            return None
        catalog = scope.catalog or current_catalog(self._manager)
        is_elsewhere = catalog.lower() != SESSION_CATALOG
        if len(parts) == 2:
            name = TableName(parts[0].lower(), parts[1].lower())
            if is_elsewhere and not (scope.knows_declared and self._known.is_declared(name)):
                return None
            return None if name.database == self._global_temporary else name
        if is_elsewhere or (scope.database is None and self.is_temporary(parts)):
            return None
        database = scope.database or str(self._catalog.getCurrentDatabase())
        return TableName(database.lower(), parts[0].lower())

    def schema_in_spark(self, parts: NameParts) -> str | None:
        """Return the database of Spark's own catalog that a name means; None for any other."""
        if len(parts) == 2 and parts[0].lower() == SESSION_CATALOG:
            return parts[1].lower()
        if len(parts) != 1 or current_catalog(self._manager) != SESSION_CATALOG:
            return None
        return parts[0].lower()

    def is_temporary(self, parts: NameParts) -> bool:
        """Return whether a name means a temporary view."""
        *database, view = parts
        if database and [it.lower() for it in database] != [self._global_temporary]:
            return False
        name = identifier(self._session, database[0] if database else None, view)
        return bool(self._catalog.isTempView(name))

    def is_in_catalog(self, parts: NameParts) -> bool:
        """Return whether a two-part name means a table of another Spark catalog."""
        return len(parts) == 2 and is_catalog(self._manager, parts[0])

    def look_up_together(self, relations: Iterable[Relation], scope: Scope) -> None:
        """Look up tables in one request per database from which a statement reads several."""
        wanted: dict[str, set[str]] = {}
        for relation in relations:
            name = None if is_path(relation.parts) else self.qualify(relation.parts, scope)
            if name is not None and name not in self._metadata:
                wanted.setdefault(name.database, set()).add(name.table)
        for schema, tables in wanted.items():
            if len(tables) < _TOGETHER:
                continue
            try:
                found = tables_metadata(self._session, schema, sorted(tables))
            except (PySparkException, Py4JJavaError):
                continue  # One of them cannot be described. They are looked up one by one.
            self._metadata |= {TableName(schema, table): found.get(table) for table in tables}

    def table(self, name: TableName) -> CatalogTable | None:
        """Return the `CatalogTable` of Spark's own catalog; None if it has no such table."""
        if name not in self._metadata:
            try:
                self._metadata[name] = table_metadata(self._session, name.database, name.table)
            except (PySparkException, Py4JJavaError):
                # Spark cannot describe a Hive materialized view, for example. Reads are refused.
                known = self._known
                view = known.hive_view(name, in_spark=False)
                if view is None and not known.has(name, in_spark=False):
                    raise
                self._metadata[name] = None
        return self._metadata[name]

    def is_acid(self, name: TableName) -> bool:
        """Return whether a name means a transactional table.

        Raises:
            RawAcidReferenceError: the name means two tables, one of them in Spark's catalog.
        """
        metadata = self.table(name)
        if metadata is None:
            return self._known.has(name, in_spark=False)
        if is_transactional(metadata):
            return True
        if self._known.has(name, in_spark=True):
            raise RawAcidReferenceError(
                f"{name} is a transactional table in the metastore of the ACID tables, and "
                "another table in Spark's catalog. So the statement was not run: it would be "
                "unclear which table it reads. Rename one of them, or point Spark at the same "
                "metastore (`spark.hadoop.hive.metastore.uris`).",
                code="HIVEACID_AMBIGUOUS_TABLE",
            )
        return False

    def acid_table(self, text: str) -> TableName | None:
        """Parse a name; return the transactional table that it means, None for any other."""
        name = self.qualify(parse_name(self._session, text))
        return name if name is not None and self.is_acid(name) else None

    def acid_table_elsewhere(self, parts: NameParts) -> TableName | None:
        """Return a transactional table that Spark's catalog does not have; None for any other."""
        name = self.qualify(parts)
        if name is None or self.table(name) is not None or not self.is_acid(name):
            return None
        return name

    @cached_property
    def _global_temporary(self) -> str:
        """The database of temporary views that sessions share."""
        return str(self._session.conf.get("spark.sql.globalTempDatabase")).lower()
