"""SQL functions that a statement calls or creates, and the queries in their bodies.

A function is stored in Spark's own catalog, or temporary. Spark inlines the body of a SQL function
during analysis. So the parsed plan of a statement lacks the tables that a body reads.
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
from hiveacid.jvm.java_types import LogicalPlan
from hiveacid.jvm.py4j import active, java, scala_seq_of
from hiveacid.spark_versions import version_of
from hiveacid.sql.catalog import SESSION_CATALOG, session_catalog

_CATALYST = "org.apache.spark.sql.catalyst"

_CALL = re.compile(r"'((?:`(?:[^`]|``)*`|\w+)(?:\.(?:`(?:[^`]|``)*`|\w+))*)\(")
"""A function call in the text of a plan before analysis. A string literal in the statement may look
like a call, too."""

_PART = re.compile(r"`((?:[^`]|``)*)`|(\w+)")
_UNLIMITED = 2**31 - 1

_NAMED_BY_EXPRESSION = "expressionwithunresolvedidentifier("
_TABLE_FUNCTION = re.compile(r"'UnresolvedTableValuedFunction \[([^\]]*)\]")

_SQL_FUNCTION = "sqlFunction."
"""Class name of SQL functions in the catalog. Spark 3 has no SQL functions."""

_MAKERS = ("CreateUserDefinedFunction", "CreateSQLFunctionCommand")

_MARKS = re.compile(
    r"UNRESOLVED_FUNC(TION)?|(UNRESOLVED_)?GENERATOR|UNRESOLVED_TABLE_VALUED_FUNCTION"
    r"|UNRESOLVED_TVF_ALIASES|\w*UNRESOLVED_IDENTIFIER"
)
"""Names of Spark's tree patterns (`TreePattern`) for plans that call a function. Spark's analyzer
finds the calls by them."""

_builtins: dict[SparkContext, frozenset[str]] = {}
_marks: dict[SparkContext, Any] = {}


@dataclass(frozen=True)
class SqlFunction:
    """A SQL function: its name, its body as a query, the database of one-part names in the body.

    The body of a temporary function may read temporary views.
    """

    name: str
    query: str
    database: str | None
    is_temporary: bool = False


def made_by(plan: LogicalPlan) -> SqlFunction | None:
    """Return the SQL function that a plan creates; None for other plans."""
    return SqlFunction("The function", _body(plan), None) if plan.nodeName() in _MAKERS else None


def text_of_calls(context: SparkContext, plan: LogicalPlan) -> str:
    """Return the text of a plan before analysis; empty if the plan calls no function.

    A command without children may hold a plan in a field. It lacks the tree patterns of the held
    plan, so its text is always returned.
    """
    if not plan.children().isEmpty() and not plan.containsAnyPattern(_marks_of_calls(context)):
        return ""
    # verbose, addSuffix, maxFields, printOperatorId; Spark 4 adds printNodeId. The longest overload
    # has a function parameter before them.
    arguments = (False, False, _UNLIMITED, False)
    count = len(parameter_types(context, f"{_CATALYST}.trees.TreeNode", "treeString")) - 1
    return str(plan.treeString(*arguments, *[False] * (count - len(arguments))))


def called_in(session: SparkSession, text: str) -> Iterator[SqlFunction]:
    """Yield the SQL functions called in a text that `text_of_calls` has returned."""
    names = {_parts(name) for name in _CALL.findall(text)}
    names |= {tuple(name.split(", ")) for name in _TABLE_FUNCTION.findall(text)}
    builtin = _builtin(session.sparkContext)
    for parts in sorted(names):
        if ".".join(parts).lower() in builtin:
            continue
        function = _temporary(session, parts) or _stored(session, parts)
        if function is not None:
            yield function


def is_named_by_expression(text: str) -> bool:
    """Return whether a text of `text_of_calls` has a function that IDENTIFIER(…) names."""
    return _NAMED_BY_EXPRESSION in text


def _parts(name: str) -> tuple[str, ...]:
    return tuple(
        quoted.replace("``", "`") if quoted else plain for quoted, plain in _PART.findall(name)
    )


def _marks_of_calls(context: SparkContext) -> Any:
    if context not in _marks:
        patterns = java(context, f"{_CATALYST}.trees.TreePattern")
        names = str(patterns.values().mkString(" ")).split()
        found = (patterns.apply(i) for i, name in enumerate(names) if _MARKS.fullmatch(name))
        _marks[context] = scala_seq_of(context, found)
    return _marks[context]


def _builtin(context: SparkContext) -> frozenset[str]:
    if context not in _builtins:
        names = []
        for registry in ("FunctionRegistry", "TableFunctionRegistry"):
            functions = java(context, f"{_CATALYST}.analysis.{registry}").builtin().listFunction()
            names += str(functions.mkString("\n")).lower().split("\n")
        _builtins[context] = frozenset(names)
    return _builtins[context]


def _temporary(session: SparkSession, parts: tuple[str, ...]) -> SqlFunction | None:
    """Return a temporary SQL function; it was created outside of this library."""
    context, catalog = session.sparkContext, session_catalog(session)
    if len(parts) > 1 or not version_of(session.version).has_sql_functions:
        return None
    none = java(context, "scala.Option").empty()
    name = java(context, f"{_CATALYST}.FunctionIdentifier")(parts[0], none)
    if not catalog.isTemporaryFunction(name):
        return None
    for kind in ("Function", "TableFunction"):
        info = getattr(catalog, f"lookupBuiltinOrTemp{kind}")(parts[0])
        if info.isDefined() and str(info.get().getClassName()) == _SQL_FUNCTION:
            resolve = getattr(catalog, f"resolveBuiltinOrTemp{kind}")
            call = resolve(parts[0], scala_seq_of(context, ()))
            function = call.get().function()
            body, database = _body(function), _database(function)
            return SqlFunction(parts[0].lower(), body, database, is_temporary=True)
    return None


def _stored(session: SparkSession, parts: tuple[str, ...]) -> SqlFunction | None:
    catalog = session_catalog(session)
    if not version_of(session.version).has_sql_functions:
        return None
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
    return SqlFunction(
        f"{database}.{parts[-1]}".lower(), _body(function), _database(function) or database
    )


def _database(function: Any) -> str | None:
    """Return the database in which one-part names in a function's body are looked up."""
    namespace = function.properties().get("catalogAndNamespace.part.1")
    return str(namespace.get()) if namespace.isDefined() else None


def _body(function: Any) -> str:
    """Return the body of a function, which is an expression or a query, as a query."""
    expression, query = function.exprText(), function.queryText()
    return str(query.get()) if query.isDefined() else f"select {expression.get()}"
