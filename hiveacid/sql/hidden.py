"""What hides that a statement reads or uses a transactional table: refused, with the reason.

Names of relations are looked up by the module `relations`. This one looks at the rest: functions,
paths, procedures, and names that only the run-time knows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError, RawAcidReferenceError
from hiveacid.jvm.expressions import text_of_literal
from hiveacid.jvm.py4j import each
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import session_catalog, transactional_in
from hiveacid.sql.functions import (
    FunctionBody,
    bodies_of,
    body_that_is_stored,
    calls_of,
    name_parts,
)
from hiveacid.sql.paths import acid_directory, paths_of
from hiveacid.sql.statement import NameParts, Statement

_STORES_STATISTICS = frozenset({"AnalyzeTable", "AnalyzeColumn"})
_TAKES_FILES = frozenset({"CloneTableStatement", "ConvertToDeltaCommand"})
_PROCEDURES = frozenset({"Call", "CallStatement"})

TablesOf = Callable[[Statement, "str | None", "tuple[str, ...]"], Iterable[str]]
"""Returns the transactional tables that a statement reads, given where one-part names are looked
up, and the views that led to the statement."""


class HiddenReads:
    """What hides transactional tables in a statement, and in the views and functions that it uses.

    An object serves one statement.
    """

    def __init__(
        self,
        session: SparkSession,
        acid: Callable[[NameParts], TableName | None],
        tables_of: TablesOf,
    ) -> None:
        """`acid` returns the transactional table that a name means."""
        self._session = session
        self._acid = acid
        self._tables_of = tables_of
        self._calls: list[str] = []

    def refuse_reads(
        self, statement: Statement, database: str | None, path: tuple[str, ...]
    ) -> None:
        """Refuse names that only the run-time knows, and functions over transactional tables.

        Raises:
            RawAcidReferenceError: naming what hides the table; with the function, the table.
        """
        calls = calls_of(self._session, statement)
        how = "IDENTIFIER(…)" if calls.are_computed else statement.opaque
        if how is not None:
            raise RawAcidReferenceError(
                f"{how}{through(path)} hides which tables the statement reads, and "
                "Spark reads transactional Hive tables wrong. So the statement was not run. Write "
                "the statements and names out; dbt's Jinja can compute them."
            )
        for body in bodies_of(self._session, calls, database):
            if body.name in self._calls:
                continue  # Spark has an error for a function that calls itself.
            self._calls.append(body.name)
            tables = self._tables_of(body.statement, body.database or database, path)
            self._refuse_body(body, tables, path)
            self._calls.remove(body.name)

    def refuse_path(self, place: str, path: tuple[str, ...] = ()) -> None:
        """Refuse a path into the directory of a transactional table.

        Raises:
            RawAcidReferenceError: naming the path and the directory.
        """
        directory = acid_directory(self._session, place)
        if directory is not None:
            raise RawAcidReferenceError(
                f"The path {place}{through(path)} leads into {directory}, the directory of a "
                "transactional Hive table. Spark reads the files there wrong, and nothing else "
                "may be kept there. So the statement was not run. Name the table to read its "
                "rows, and write to another directory."
            )

    def refuse_uses(self, statement: Statement) -> None:
        """Refuse what uses the files of a transactional table without reading its rows.

        Raises:
            RawAcidReferenceError: the statement takes files over, or makes a function over a table.
            AcidTargetError: the statement stores numbers that Spark has counted in the files.
        """
        body = body_that_is_stored(self._session, statement)
        if body is not None:
            self._refuse_body(body, self._tables_of(body.statement, None, ()), ())
        for place in paths_of(statement):
            self.refuse_path(place)
        if statement.kind == "AnalyzeTables" or statement.kind in _STORES_STATISTICS:
            self._refuse_statistics(statement)
        elif statement.kind in _TAKES_FILES:
            names = set(statement.reads | statement.mentions)
            names |= set(_names_in(statement.plan))
            self._refuse_taking(names)
        elif statement.kind in _PROCEDURES:
            self._refuse_arguments(statement.plan)

    def _refuse_body(
        self, body: FunctionBody, tables: Iterable[str], path: tuple[str, ...]
    ) -> None:
        shown = ", ".join(sorted(tables))
        if shown:
            raise RawAcidReferenceError(
                f"The function {body.name}{through(path)} reads the transactional table {shown}. "
                "Spark puts the function's body in by itself, so it cannot read a snapshot, and "
                "the rows would be wrong. Read the table in the statement itself, or hand what is "
                "read to the function as an argument."
            )

    def _refuse_statistics(self, statement: Statement) -> None:
        names = set(statement.mentions)
        if statement.kind == "AnalyzeTables":
            schema = self._schema_of(statement.plan.namespace())
            names = {(schema, name) for name in transactional_in(self._session, schema.lower())}
        for name in self._acid_among(names):
            raise AcidTargetError(
                f"{name} is a transactional Hive table. Spark would count its files, deleted rows "
                "included, and store the numbers in the metastore. Run ANALYZE TABLE in Hive."
            )

    def _schema_of(self, namespace: Any) -> str:
        if namespace.nodeName() != "UnresolvedNamespace":
            return str(session_catalog(self._session).getCurrentDatabase())
        return str(list(each(namespace.multipartIdentifier()))[-1])

    def _refuse_arguments(self, call: Any) -> None:
        for argument in each(call.args()):
            if argument.nodeName() == "NamedArgumentExpression":
                argument = argument.value()
            text = text_of_literal(argument)
            if text is None:
                continue
            parts = name_parts(self._session, text)
            self._refuse_taking({parts} if parts else set())
            for place in {text, *parts[1:]}:
                if "/" in place:
                    self.refuse_path(place)

    def _refuse_taking(self, names: Iterable[NameParts]) -> None:
        for name in self._acid_among(names):
            raise RawAcidReferenceError(
                f"{name} is a transactional Hive table. The statement would take its files over as "
                "they are, with rows that are deleted and without rows of updates. Make a table of "
                f"its rows instead: CREATE TABLE … AS SELECT * FROM {name}."
            )

    def _acid_among(self, names: Iterable[NameParts]) -> Iterator[TableName]:
        found = (self._acid(parts) for parts in sorted(names))
        return (name for name in found if name is not None)


def through(path: tuple[str, ...]) -> str:
    """Return a remark on the views that lead to a table; empty without any."""
    return f" (through the view {' > '.join(path)})" if path else ""


def _names_in(command: Any) -> Iterator[NameParts]:
    """Yield the names of tables that commands of Delta's keep in fields of their own."""
    if command.nodeName() == "ConvertToDeltaCommand":
        yield _parts_of(command.tableIdentifier())
    elif command.source().nodeName() == "TimeTravel":
        yield tuple(map(str, each(command.source().relation().multipartIdentifier())))


def _parts_of(identifier: Any) -> NameParts:
    database = identifier.database()
    table = str(identifier.table())
    return (str(database.get()), table) if database.isDefined() else (table,)
