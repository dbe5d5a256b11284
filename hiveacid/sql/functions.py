"""SQL functions whose bodies read tables.

A statement that calls a function says nothing of the tables that the function's body reads: Spark
puts the body in while it analyses the statement. So the calls of a statement are looked at before
it runs, and the bodies of functions that are not built in are parsed as stored views are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hiveacid.jvm.expressions import expressions_of, text_of_literal, texts_of_expressions
from hiveacid.jvm.py4j import active, each, java
from hiveacid.sql.catalog import session_catalog
from hiveacid.sql.statement import NameParts, Statement, parse

_CATALYST = "org.apache.spark.sql.catalyst"
_CALL = f"{_CATALYST}.analysis.UnresolvedFunction"
_COMPUTED = f"{_CATALYST}.analysis.ExpressionWithUnresolvedIdentifier"
_SEPARATOR = "\0"
_MAKES_FUNCTION = ("CreateUserDefinedFunction", "CreateSQLFunctionCommand")


@dataclass(frozen=True)
class FunctionBody:
    """Body of a SQL function. One-part names in it are looked up in `database`."""

    name: str
    statement: Statement
    database: str | None


class Calls(NamedTuple):
    """Names of the functions that a statement calls, and whether others are computed."""

    names: frozenset[str] = frozenset()
    are_computed: bool = False


def calls_of(session: SparkSession, statement: Statement) -> Calls:
    """Return the functions that a statement calls, as SQL writes their names.

    `IDENTIFIER('a.f')(1)`, whose name is a literal, is known. Other names are computed when the
    statement runs. An `IDENTIFIER(…)` that stands for a column looks the same.
    """
    if session.version.startswith("3.") or statement.plan is None:
        return Calls()
    names = {function.name for function in statement.functions}
    plans = _with_pattern(session, statement, "UNRESOLVED_FUNCTION")
    if plans:
        names |= texts_of_expressions(session, plans, _CALL, "prettyName")
    plans = _with_pattern(session, statement, "UNRESOLVED_IDENTIFIER")
    given = [
        text_of_literal(it.identifierExpr())
        for it in (expressions_of(session, plans, _COMPUTED) if plans else ())
    ]
    return Calls(frozenset({*names, *filter(None, given)}), None in given)


def bodies_of(session: SparkSession, calls: Calls, database: str | None) -> Iterator[FunctionBody]:
    """Yield the bodies of those functions that are SQL functions.

    Functions that are built in cost nothing; Spark's catalog is asked for each other name.
    `database` is where one-part names are looked up; None for the session's current one.
    """
    names = calls.names and sorted(
        name for name in calls.names if name.lower() not in _built_in(session.sparkContext)
    )
    for name in names:
        body = _body(session, name, database)
        if body is not None:
            yield body


def body_that_is_stored(session: SparkSession, statement: Statement) -> FunctionBody | None:
    """Return the body of the SQL function that a statement makes; None if it makes none."""
    if statement.kind not in _MAKES_FUNCTION:
        return None
    plan = statement.plan
    if statement.kind == "CreateSQLFunctionCommand":
        name = str(plan.name().unquotedString())
    else:
        name = ".".join(map(str, each(plan.child().nameParts())))
    parsed = _parsed(session, plan.exprText(), plan.queryText())
    return None if parsed is None else FunctionBody(name, parsed, None)


def _with_pattern(session: SparkSession, statement: Statement, pattern: str) -> list[Any]:
    """Return those of a statement's plans that have a kind of node, which Spark's nodes know."""
    patterns = java(session.sparkContext, f"{_CATALYST}.trees.TreePattern")
    wanted = getattr(patterns, pattern)()
    return [plan for plan in statement.plans if plan.containsPattern(wanted)]


def _body(session: SparkSession, text: str, database: str | None) -> FunctionBody | None:
    parts = name_parts(session, text)
    catalog = session_catalog(session)
    if len(parts) == 3 and parts[0].lower() == "spark_catalog":
        parts = parts[1:]
    if not 1 <= len(parts) <= 2:
        return None
    if len(parts) == 1 and database is None:
        database = str(catalog.getCurrentDatabase())
    where = parts[0] if len(parts) == 2 else database
    context = session.sparkContext
    identifier = partial(java(context, f"{_CATALYST}.FunctionIdentifier"), parts[-1])
    option = java(context, "scala.Option")
    if len(parts) == 1 and catalog.isTemporaryFunction(identifier(option.empty())):
        return None
    if not catalog.isPersistentFunction(identifier(option.apply(where))):
        return None
    stored = catalog.getFunctionMetadata(identifier(option.apply(where)))
    functions = java(context, f"{_CATALYST}.catalog.SQLFunction")
    if not functions.isSQLFunction(stored.className()):
        return None
    parser = session._jsparkSession.sessionState().sqlParser()
    with active(session):
        function = functions.fromCatalogFunction(stored, parser)
    parsed = _parsed(session, function.exprText(), function.queryText())
    if parsed is None:
        return None
    return FunctionBody(f"{where}.{parts[-1]}".lower(), parsed, _database_of(function))


def _parsed(session: SparkSession, expression: Any, query: Any) -> Statement | None:
    if query.isDefined():
        return parse(session, str(query.get()))
    return parse(session, f"select ({expression.get()}\n)") if expression.isDefined() else None


def _database_of(function: Any) -> str | None:
    """Return the database that was the current one when the function was made."""
    properties = function.properties()
    last = None
    for number in range(8):
        part = properties.get(f"catalogAndNamespace.part.{number}")
        if not part.isDefined():
            break
        last = str(part.get())
    return last


def name_parts(session: SparkSession, text: str) -> NameParts:
    """Return the parts of a name in SQL; none for a text that is no name."""
    try:
        with active(session):
            parser = session._jsparkSession.sessionState().sqlParser()
            return tuple(map(str, each(parser.parseMultipartIdentifier(text))))
    except PySparkException:
        return ()


@lru_cache(maxsize=1)
def _built_in(context: SparkContext) -> frozenset[str]:
    """Return the names of the functions that Spark brings along, in lower case."""
    names: set[str] = set()
    for registry in ("FunctionRegistry", "TableFunctionRegistry"):
        found = java(context, f"{_CATALYST}.analysis.{registry}").functionSet()
        names |= set(str(found.mkString(_SEPARATOR)).lower().split(_SEPARATOR))
    return frozenset(names)
