"""SQL functions that a statement calls or makes, and the queries in their bodies.

Spark puts the body of a SQL function into the plan of a statement while it analyses the statement.
So the tables that a body reads do not stand in the statement's own plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hiveacid.jvm.bulk import parameter_types
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.py4j import active, java
from hiveacid.sql.catalog import SESSION_CATALOG, session_catalog

_CATALYST = "org.apache.spark.sql.catalyst"

_CALL = re.compile(r"'((?:`(?:[^`]|``)*`|\w+)(?:\.(?:`(?:[^`]|``)*`|\w+))*)\(")
"""A call in the text that Spark has of a plan before it is analysed. Not all that looks so is one:
a text in the statement may look so, too."""

_PART = re.compile(r"`((?:[^`]|``)*)`|(\w+)")
_UNLIMITED = 2**31 - 1

_NAMED_BY_EXPRESSION = "expressionwithunresolvedidentifier("
_TABLE_FUNCTION = re.compile(r"'UnresolvedTableValuedFunction \[([^\]]*)\]")

_SQL_FUNCTION = "sqlFunction."
"""The class that the catalog has of a function in SQL. Spark 3 has no such functions."""

_MAKERS = ("CreateUserDefinedFunction", "CreateSQLFunctionCommand")

_builtins: dict[SparkContext, frozenset[str]] = {}


@dataclass(frozen=True)
class SqlFunction:
    """A SQL function: its name, its body as a query, the database of one-part names in the body."""

    name: str
    query: str
    database: str | None


def made_by(plan: Any) -> SqlFunction | None:
    """Return the SQL function that a statement makes, by the statement's plan; None for others."""
    return SqlFunction("The function", _body(plan), None) if plan.nodeName() in _MAKERS else None


def called_in(session: SparkSession, plan: Any) -> Iterator[SqlFunction]:
    """Yield the stored SQL functions that a statement calls, by its plan before analysis."""
    text = _text(session.sparkContext, plan)
    names = {_parts(name) for name in _CALL.findall(text)}
    names |= {tuple(name.split(", ")) for name in _TABLE_FUNCTION.findall(text)}
    builtin = _builtin(session.sparkContext)
    for parts in sorted(names):
        function = None if ".".join(parts).lower() in builtin else _stored(session, parts)
        if function is not None:
            yield function


def is_named_by_expression(context: SparkContext, plan: Any) -> bool:
    """Return whether a statement names a function by IDENTIFIER(…)."""
    return _NAMED_BY_EXPRESSION in _text(context, plan)


def _parts(name: str) -> tuple[str, ...]:
    return tuple(
        quoted.replace("``", "`") if quoted else plain for quoted, plain in _PART.findall(name)
    )


def _text(context: SparkContext, plan: Any) -> str:
    # verbose, addSuffix, maxFields, printOperatorId; Spark 4 adds printNodeId. The longest overload
    # has a function before them.
    arguments = [False, False, _UNLIMITED, False]
    count = len(parameter_types(context, f"{_CATALYST}.trees.TreeNode", "treeString")) - 1
    return str(plan.treeString(*arguments, *[False] * (count - len(arguments))))


def _builtin(context: SparkContext) -> frozenset[str]:
    if context not in _builtins:
        names = []
        for registry in ("FunctionRegistry", "TableFunctionRegistry"):
            functions = java(context, f"{_CATALYST}.analysis.{registry}").builtin().listFunction()
            names += str(functions.mkString("\n")).lower().split("\n")
        _builtins[context] = frozenset(names)
    return _builtins[context]


def _stored(session: SparkSession, parts: tuple[str, ...]) -> SqlFunction | None:
    catalog = session_catalog(session)
    if len(parts) > 2 and parts[0].lower() != SESSION_CATALOG:
        return None
    database = parts[-2] if len(parts) > 1 else str(catalog.getCurrentDatabase())
    stored = catalog.externalCatalog()
    if not unless_missing(lambda: stored.functionExists(database, parts[-1])):
        return None
    found = stored.getFunction(database, parts[-1])
    if str(found.className()) != _SQL_FUNCTION:
        return None
    functions = java(session.sparkContext, f"{_CATALYST}.catalog.SQLFunction")
    with active(session):
        parser = session._jsparkSession.sessionState().sqlParser()
        function = functions.fromCatalogFunction(found, parser)
    namespace = function.properties().get("catalogAndNamespace.part.1")
    return SqlFunction(
        f"{database}.{parts[-1]}".lower(),
        _body(function),
        str(namespace.get()) if namespace.isDefined() else database,
    )


def _body(function: Any) -> str:
    """Return the body of a function, which is an expression or a query, as a query."""
    expression, query = function.exprText(), function.queryText()
    return str(query.get()) if query.isDefined() else f"select {expression.get()}"
