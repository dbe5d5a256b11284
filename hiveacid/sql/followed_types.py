"""Types of references in an analysed plan in which expressions were given other types.

A reference to a column keeps the type that it had when Spark analysed the query. Where the column's
expression was given another type, rows of the one type would be read as the other: of a decimal
with another scale, values ten times too small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.jvm.plans import kind_of, replaced_in_expressions
from hiveacid.jvm.py4j import each
from hiveacid.sql.hive_functions import DiffersError

_MOST_LEVELS = 50
"""Queries inside of each other: each is mended after the one below it."""

_REASON = "a column of a query inside of it has another type in Hive than in Spark"


def with_followed_types(
    session: SparkSession, plan: Any, analyse: Callable[[SparkSession, Any], Any]
) -> Any:
    """Return a plan in which each reference has the type of what it refers to.

    Args:
        session: the session that evaluates as Hive does.
        plan: an analysed plan.
        analyse: return the analysed plan of a query.

    Raises:
        DiffersError: the type is kept at a place where it cannot be changed, such as in a `with`
            clause, behind LATERAL VIEW, or in a query that refers to one around it.
    """
    for _ in range(_MOST_LEVELS):
        stale = list(_stale_in(plan))
        if not stale:
            return plan
        plan = analyse(session, replaced_in_expressions(session.sparkContext, plan, stale))
    raise DiffersError("The query", f"{_REASON}, and so many are inside of each other")


def _stale_in(plan: Any) -> Iterator[tuple[Any, Any]]:
    """Yield references of another type than their columns, each with what must stand there."""
    definitions: dict[int, Any] = {}
    todo = [plan]
    while todo:
        node = todo.pop()
        kind = str(node.nodeName())
        if kind.startswith("WithCTE"):
            definitions.update({it.id(): it for it in each(node.cteDefs())})
        _check_kept_types(node, kind, definitions)
        given = {it.exprId(): it for it in each(node.inputSet().toSeq())}
        for expression in each(node.expressions()):
            for used in _references(expression):
                source = given.get(used.exprId())
                if source is not None and not source.dataType().equals(used.dataType()):
                    yield used, source.withQualifier(used.qualifier()).withName(used.name())
        todo += [*each(node.children()), *each(node.subqueries())]


def _references(expression: Any) -> Iterator[Any]:
    kind = kind_of(expression)
    if kind == "AttributeReference":
        yield expression
    elif kind == "ListQuery":
        kept = [it.dataType() for it in each(expression.childOutputs())]
        found = [it.dataType() for it in each(expression.plan().output())]
        if any(not a.equals(b) for a, b in zip(kept, found, strict=False)):
            raise DiffersError("The query of an IN", _REASON)
    elif kind == "OuterReference":
        raise DiffersError("The query", f"{_REASON}, and it refers to a query around it")
    for child in each(expression.children()):
        yield from _references(child)


def _check_kept_types(node: Any, kind: str, definitions: dict[int, Any]) -> None:
    """Refuse a node that keeps the types of what it shows, if they are others by now."""
    pairs: list[tuple[Any, Any]] = []
    if kind == "Generate":
        fields = [field.dataType() for field in node.generator().elementSchema().fields()]
        pairs += zip(fields, (it.dataType() for it in each(node.generatorOutput())), strict=True)
    elif kind == "Expand":
        kept = [it.dataType() for it in each(node.output())]
        for projection in each(node.projections()):
            pairs += zip((it.dataType() for it in each(projection)), kept, strict=True)
    elif kind.startswith("CTERelationRef"):
        definition = definitions.get(node.cteId())
        if definition is None:
            raise DiffersError("The query", f"{_REASON}, and Spark keeps the type")
        found = (it.dataType() for it in each(definition.output()))
        pairs += zip(found, (it.dataType() for it in each(node.output())), strict=True)
    if any(not a.equals(b) for a, b in pairs):
        raise DiffersError("The query", f"{_REASON}, and Spark keeps the type")
