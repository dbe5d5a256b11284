"""Casts of a translated Hive view, made to behave as they do in Hive.

Spark's analyzer adds casts where types differ. So casts are checked in the analysed plan, explicit
and added ones, with their source and target types. What the tables of this module allow was tried:
Hive 4.0.1 and Spark cast the same values alike.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from hiveacid.jvm.java_types import Expression, LogicalPlan
from hiveacid.jvm.plans import (
    execution_of,
    kind_of,
    partial_function,
    replaced_in_expressions,
    with_child,
)
from hiveacid.jvm.py4j import active, each, java
from hiveacid.metastore.models import HiveView
from hiveacid.sql.hive_views.constants import check_constants
from hiveacid.sql.hive_views.refusals import DiffersError, fail_for_value

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"

_INTEGERS = frozenset({"tinyint", "smallint", "int", "bigint"})
_FRACTIONS = frozenset({"float", "double"})
_COMPARISONS = frozenset(
    """
    EqualTo EqualNullSafe LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual In InSet
    InSubquery ListQuery
    """.split()
)
_ARITHMETIC = frozenset("Add Subtract Multiply Divide Remainder IntegralDivide Pmod".split())
_DIGITS = {"tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}
"""Number of decimal digits of which every value fits into an integer type."""

_DIGITS_OF_LONG = 19
"""Precision of the decimal to which Hive casts a bigint next to a decimal. Spark's is 20."""

_ABS = {"tinyint": "int", "smallint": "int", "float": "double"}
"""Argument types for which Hive's `abs` returns another type."""

_CHOICES = frozenset("CaseWhen Coalesce Greatest If Least".split())
_SET_OPERATIONS = frozenset({"Except", "Intersect", "Union"})
_WITHOUT_COLUMNS = frozenset({"Filter", "Join", "Sort"})
"""Kinds of plans whose expressions make no columns."""

_EXACT_DIGITS = 18
"""Highest precision at which Hive casts every decimal to double. Some longer ones become NULL."""

_MOST_DIGITS = 38

_MORE_DIGITS_OF_MEAN = 14
"""Precision that Hive's `avg` needs beyond that of its decimals: 10 for a sum, 4 for the mean."""

_PLAIN_SCALE = 6
"""Highest scale at which Spark writes decimals without an exponent, as Hive always does."""

_CANONICAL = {
    "date": r"\d{4}-\d\d-\d\d",
    "timestamp": r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?",
    "number": r"-?\d+(\.\d+)?",
}
"""Literals that Hive and Spark cast to the same value."""

_DAY = r"^ *[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_ODD_TIME = r"^ *(0000-|[0-9]{1,2}:|(-[0-9]{1,4}|[0-9]{1,3})-[0-9]{1,2}-[0-9]{1,2}([^0-9]|$))"
_TIME = r"([ T]([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](\\.[0-9]{1,9})?)?"
_GUARDS = {
    "date": (
        f"case when x rlike '{_ODD_TIME}' then {{fails}} "
        f"when x rlike '{_DAY}' then regexp_extract(x, '{_DAY}', 0) end"
    ),
    "timestamp": (
        f"case when x rlike '{_DAY}{_TIME} *$' and not x rlike '^ *0000-' then x "
        f"when x rlike '{_DAY}|{_ODD_TIME}' then {{fails}} end"
    ),
    "integer": r"case when not x rlike '^\\s*[+-]?[.]\\s*$' then x end",
    "fraction": (
        r"case when not x rlike '(?i)^\\s*[+-]?(inf|infinity|nan)\\s*$' "
        r"or x rlike '^\\s*[+-]?(Infinity|NaN)\\s*$' then x end"
    ),
    "decimal": (
        r"case when x rlike '^[\\s\\p{Nd}.eE+-]*$' and "
        r"x rlike '[^\\x20-\\x7E]|[eE][+-]?[0-9]{3}' then {fails} else x end"
    ),
    "double as decimal": "case when x <> 0 and abs(x) < 1e-50 then {fails} else x end",
}
"""By target type: Spark SQL that Spark casts as Hive casts `x`, or that fails (`fails`)."""


@dataclass(frozen=True)
class _Cast:
    """A cast in an analysed plan.

    Attributes:
        node: the expression.
        parent: the kind of the expression around it.
        is_explicit: whether the query's text has it; otherwise Spark's analyzer added it.
        column: the column of the view in whose expression it stands; None elsewhere in the query.
    """

    node: Expression
    parent: str
    is_explicit: bool
    column: str | None


@dataclass(frozen=True)
class _Retyped:
    """An expression whose type differs in Hive, and Spark SQL with Hive's type.

    Attributes:
        node: the expression, which has one child.
        text: Spark SQL over the child, `x`.
    """

    node: Expression
    text: str


def with_hives_casts(
    session: SparkSession,
    query: LogicalPlan,
    view: HiveView,
    type_dependent: frozenset[str],
    *,
    is_hive_3: bool,
) -> LogicalPlan:
    """Return the analysed plan of a view's query, with casts that behave as in Hive.

    Args:
        session: the session that evaluates as Hive does.
        query: the query's plan.
        view: the view.
        type_dependent: kinds of expressions in it that differ from Hive for some types.
        is_hive_3: whether the view is read as in Hive 3.

    Raises:
        DiffersError: with the part of the query, and the reason.
    """
    context = session.sparkContext
    plan = analysed(session, query)
    check_constants(context, plan, is_hive_3=is_hive_3)
    pairs: list[tuple[Expression, Any]] = []
    for found in _differing_in(context, plan, view, type_dependent, is_hive_3=is_hive_3):
        node = found.node
        if isinstance(found, _Retyped):
            pairs.append((node, _made(session, found.text, node.child())))
            continue
        if is_hive_3:
            _refuse_of_hive_3(found)
        else:
            _refuse_rounded_constant(found)
        guard = _guard_of(found)
        if guard is not None:
            child = _made(session, _guard_text(guard, found, view), node.child())
            pairs.append((node, with_child(context, node, child)))
    return analysed(session, replaced_in_expressions(context, plan, pairs)) if pairs else plan


def analysed(session: SparkSession, query: LogicalPlan) -> LogicalPlan:
    """Return the analysed plan of a query.

    Raises:
        DiffersError: Spark cannot analyse it.
    """
    try:
        execution = execution_of(session.sparkContext, session._jsparkSession, query)
        return LogicalPlan(execution.analyzed())
    except AnalysisException as error:
        first = str(error).strip().partition("\n")[0].partition(";")[0].rstrip(". ")
        raise DiffersError("The query", f"Spark cannot run it ({first})") from error


def _differing_in(
    context: SparkContext,
    plan: LogicalPlan,
    view: HiveView,
    type_dependent: frozenset[str],
    *,
    is_hive_3: bool,
) -> Iterator[_Cast | _Retyped]:
    """Yield the casts of a view's query, and the expressions whose type differs in Hive.

    The plans of the tables that the query reads are skipped.

    Raises:
        DiffersError: an expression has types for which Spark cannot evaluate it as Hive does.
    """
    patterns = java(context, "org.apache.spark.sql.catalyst.trees.TreePattern")
    cast, inner = patterns.CAST(), patterns.PLAN_EXPRESSION()
    written = java(context, f"{_EXPRESSIONS}.Cast").USER_SPECIFIED_CAST()
    outputs = zip(each(plan.output()), view.columns, strict=False)
    columns = {output.exprId(): column.name for output, column in outputs}
    outermost = _outermost(plan)

    def in_expression(
        node: Expression, parent: str, column: str | None
    ) -> Iterator[_Cast | _Retyped]:
        if not type_dependent and not node.containsPattern(cast):
            return
        kind = kind_of(node)
        children = list(each(node.children()))
        if kind == "Cast":
            is_explicit = bool(node.getTagValue(written).isDefined())
            if not is_explicit and _is_long_as_decimal(node):
                yield _Retyped(node, f"cast(x as decimal({_DIGITS_OF_LONG},0))")
            else:
                yield _Cast(node, parent, is_explicit, column)
        elif kind in _CHOICES:
            _refuse_mixture(node, children, written)
        elif kind == "Divide":
            for long in _longs_in_choices(node, written):
                raise DiffersError(
                    str(long.sql()),
                    "in a division Hive takes the choice between a bigint and a decimal for a "
                    "decimal of fewer digits; write a CAST to decimal in the view",
                )
        if kind == "Average" and is_hive_3:
            _refuse_mean_of_hive_3(node, children[0])
        if kind in type_dependent:
            text = _check_type_dependent(node, kind, children)
            if text is not None:
                yield _Retyped(node, text)
        for child in children:
            yield from in_expression(child, kind, column)

    def in_plan(node: LogicalPlan) -> Iterator[_Cast | _Retyped]:
        kind = str(node.nodeName())
        if kind == "SubqueryAlias" and not node.identifier().qualifier().isEmpty():
            return
        has_inner = node.containsPattern(inner)
        if not type_dependent and not has_inner and not node.containsPattern(cast):
            return
        if kind_of(node) in _SET_OPERATIONS:
            _refuse_mixed_numbers(node, written)
        for expression in each(node.expressions()):
            is_column = kind_of(expression) == "Alias"
            column = columns.get(expression.exprId()) if is_column else None
            for found in in_expression(expression, "", column):
                if isinstance(found, _Retyped) and not node.fastEquals(outermost):
                    _refuse_inside(found, kind)
                yield found
        for child in each(node.children()):
            yield from in_plan(child)
        for child in each(node.subqueries()) if has_inner else ():
            yield from in_plan(child)

    yield from in_plan(plan)


def _outermost(plan: LogicalPlan) -> LogicalPlan:
    """Return the part of a plan whose columns nothing in the plan refers to."""
    while True:
        kind = str(plan.nodeName())
        if kind.startswith("WithCTE"):
            plan = plan.plan()
        elif kind in ("Distinct", "GlobalLimit", "LocalLimit"):
            plan = plan.child()
        else:
            return plan


def _refuse_inside(found: _Retyped, kind: str) -> None:
    """Refuse a type that differs in Hive in an inner query: the outer query keeps Spark's type.

    Raises:
        DiffersError: the expressions of a plan of this `kind` make columns.
    """
    if kind not in _WITHOUT_COLUMNS:
        raise DiffersError(
            str(found.node.sql()),
            "in a query inside of the view it has another type in Hive than in Spark; write a "
            "CAST in the view",
        )


def _refuse_mixed_numbers(operation: LogicalPlan, written: Any) -> None:
    """Refuse integers that Spark's analyzer has cast to decimals in a set operation.

    Hive takes the type of the decimals, whether the integers fit into it or not.

    Raises:
        DiffersError: naming the column.
    """
    for side in each(operation.children()):
        for column in each(side.projectList()) if side.nodeName() == "Project" else ():
            cast = column.child() if kind_of(column) == "Alias" else column
            if kind_of(cast) != "Cast" or cast.getTagValue(written).isDefined():
                continue
            target = str(cast.dataType().catalogString())
            if target.startswith("decimal") and (
                cast.child().dataType().catalogString() in _INTEGERS
            ):
                raise DiffersError(
                    str(cast.child().sql()),
                    "in a UNION, INTERSECT or EXCEPT with decimals, Hive makes NULL of whole "
                    "numbers that have too many digits for its decimal; write a CAST in the "
                    "view",
                )


def _is_long_as_decimal(node: Expression) -> bool:
    """Return whether a cast is Spark's of a bigint to a decimal that holds every bigint."""
    source, target = node.child().dataType(), node.dataType()
    return (source.catalogString(), target.catalogString()) == ("bigint", "decimal(20,0)")


def _refuse_mixture(node: Expression, children: list[Expression], written: Any) -> None:
    """Refuse a choice, such as CASE, between a float and a decimal that Spark casts to one type.

    Raises:
        DiffersError: there are both.
    """
    casts = [it for it in children if kind_of(it) == "Cast" and it.getTagValue(written).isEmpty()]
    types = {str(it.child().dataType().catalogString()).partition("(")[0] for it in casts}
    if {"float", "decimal"} <= types:
        raise DiffersError(str(node.sql()), "Hive makes a float of a float and a decimal")


def _longs_in_choices(node: Expression, written: Any) -> Iterator[Expression]:
    """Yield the bigints that Spark casts to the type of a choice, such as CASE, with decimals."""
    if not str(node.dataType().catalogString()).startswith("decimal"):
        return
    if kind_of(node) == "Cast":
        if node.getTagValue(written).isDefined():
            return
        is_longer = int(node.dataType().precision()) > _DIGITS_OF_LONG + 1
        if is_longer and node.child().dataType().catalogString() == "bigint":
            yield node.child()
    for child in each(node.children()):
        yield from _longs_in_choices(child, written)


def _refuse_mean_of_hive_3(node: Expression, child: Expression) -> None:
    of_text = kind_of(child) == "Cast" and (child.child().dataType().catalogString() == "string")
    if of_text or str(child.dataType().catalogString()).startswith("decimal"):
        raise DiffersError(
            str(node.sql()), "the mean of decimals or of texts is another number in Hive 3"
        )


def _refuse_of_hive_3(found: _Cast) -> None:
    """Refuse a cast that differs between Hive 3 and Hive 4.

    Raises:
        DiffersError: with the part of the query, and the reason.
    """
    child = found.node.child()
    source = str(child.dataType().catalogString())
    target = str(found.node.dataType().catalogString())
    reason = None
    if source.startswith("decimal") and target == "string":
        reason = "Hive 3 writes no zeros at the end of a decimal"
    elif source == "string" and target in ("date", "timestamp"):
        is_literal = kind_of(child) == "Literal"
        if not is_literal or not _is_day(str(child.toString())):
            reason = "Hive 3 makes a later day of a day that does not exist, such as 2024-02-30"
    if reason is not None:
        raise DiffersError(str(found.node.sql()), reason)


def _refuse_rounded_constant(found: _Cast) -> None:
    """Refuse a cast that rounds a constant: Hive 4 calculates with all of its digits.

    Raises:
        DiffersError: with the cast.
    """
    child, target = found.node.child(), found.node.dataType()
    types = (child.dataType().catalogString(), target.catalogString())
    if found.is_explicit and child.foldable() and all(it.startswith("decimal") for it in types):
        if child.dataType().scale() > target.scale():
            raise DiffersError(
                str(found.node.sql()),
                "Hive calculates with all digits of the constant; write it with fewer digits",
            )


def _is_day(literal: str) -> bool:
    """Return whether a text begins with a valid date. Hive 3 moves an invalid one forward."""
    try:
        dt.date.fromisoformat(literal[:10])
    except ValueError:
        return False
    return True


def _check_type_dependent(node: Expression, kind: str, children: list[Expression]) -> str | None:
    """Return Spark SQL to replace an expression with; None if the expression can stay.

    Raises:
        DiffersError: it cannot be evaluated as Hive evaluates it.
    """
    types = [str(child.dataType().catalogString()) for child in children]
    reason = None
    if kind == "ConcatWs":
        # A literal NULL gets the type of an array from Spark's analyzer.
        arrays = (type_.startswith("array") for type_ in types)
        if any(it and not _is_null(child) for it, child in zip(arrays, children, strict=True)):
            reason = "Hive writes a NULL in an array as text, and Spark leaves it out"
    elif kind == "Pmod":
        if _FRACTIONS & set(types):
            reason = "Hive and Spark compute different digits for fractions"
    elif kind == "Average" and types[0] == "bigint":
        reason = "Hive adds up as bigint or as double, depending on how it runs the query"
    elif kind == "Average" and types[0].startswith("decimal"):
        if int(re.findall(r"\d+", types[0])[0]) + _MORE_DIGITS_OF_MEAN > _MOST_DIGITS:
            reason = "Hive's mean of so many digits has fewer digits behind the point"
    elif kind == "Multiply" and all(type_.startswith("decimal") for type_ in types):
        digits = sum(int(re.findall(r"\d+", type_)[0]) for type_ in types)
        if digits + 1 > _MOST_DIGITS:
            reason = "Hive makes NULL more often of products that may have more than 38 digits"
    if reason is not None:
        raise DiffersError(str(node.sql()), reason)
    return f"abs(cast(x as {_ABS[types[0]]}))" if kind == "Abs" and types[0] in _ABS else None


def _is_null(node: Expression) -> bool:
    inner = node.child() if kind_of(node) == "Cast" else node
    return kind_of(inner) == "Literal" and inner.value() is None


def _guard_text(guard: str, found: _Cast, view: HiveView) -> str:
    """Return SQL over `x` that Spark casts as Hive casts `x`, or that fails."""
    part = f"column {found.column}" if found.column else str(found.node.child().sql())
    target = str(found.node.dataType().catalogString())
    fails = fail_for_value(
        f"is cast to {target} differently by Hive and Spark", f"{view.name}, {part}"
    )
    return _GUARDS[guard].replace("{fails}", fails)


def _guard_of(found: _Cast) -> str | None:
    """Return the name of the guard that a cast needs; None if it needs none.

    Raises:
        DiffersError: Spark cannot cast as Hive does.
    """
    node = found.node
    source = str(node.child().dataType().catalogString())
    target = str(node.dataType().catalogString())
    if source == "void" or source == target:
        return None
    if source == "string":
        return _guard_of_text(found, target)
    if _is_equal(source, target, found.is_explicit):
        return None
    if (source, target) == ("float", "double") and found.parent not in _COMPARISONS | _ARITHMETIC:
        return None
    if source == "double" and target.startswith("decimal") and found.is_explicit:
        return "double as decimal"
    how = "" if found.is_explicit else ", which the types require,"
    raise DiffersError(
        str(node.sql()), f"the cast{how} from {source} to {target} differs from Hive's"
    )


def _guard_of_text(found: _Cast, target: str) -> str | None:
    kind = _kind(target)
    child = found.node.child()
    if kind_of(child) == "Literal" and kind != "other":
        canonical = _CANONICAL.get(kind, _CANONICAL["number"])
        if re.fullmatch(canonical, str(child.toString())):
            return None
    if target == "binary" and (found.is_explicit or found.parent not in _COMPARISONS):
        return None
    allowed = {"date", "timestamp", "fraction"}
    if found.is_explicit:
        allowed |= {"integer", "decimal"}
    elif found.parent in _COMPARISONS:
        allowed = set()
    if kind not in allowed:
        raise DiffersError(
            str(found.node.sql()),
            f"Hive compares or converts a string with {target} differently; write a CAST in "
            "the view",
        )
    return kind


def _kind(target: str) -> str:
    if target in _INTEGERS:
        return "integer"
    if target in _FRACTIONS:
        return "fraction"
    if target in ("date", "timestamp"):
        return target
    return "decimal" if target.startswith("decimal") else "other"


def _is_equal(source: str, target: str, is_explicit: bool) -> bool:
    """Return whether Hive and Spark cast each value of a type to another type alike."""
    if source in _INTEGERS:
        numbers = target in _INTEGERS | _FRACTIONS or target.startswith("decimal")
        return numbers or target == "string" or (is_explicit and target == "boolean")
    if source.startswith("decimal"):
        precision, scale = map(int, re.findall(r"\d+", source))
        if target in _INTEGERS:
            return is_explicit and precision - scale <= _DIGITS[target]
        if target in _FRACTIONS:
            return precision <= _EXACT_DIGITS
        if target == "string":
            return scale <= _PLAIN_SCALE
        return target.startswith("decimal") or (is_explicit and target == "boolean")
    if source in _FRACTIONS:
        if target == "string":
            return True
        return is_explicit and (target in _INTEGERS | _FRACTIONS or target == "boolean")
    if source == "boolean":
        numbers = target in {"int", "double"} or target.startswith("decimal")
        return is_explicit and numbers
    if source in ("date", "timestamp"):
        return target in ("date", "timestamp", "string")
    return source == "binary" and target == "string" and is_explicit


def _made(session: SparkSession, text: str, x: Expression) -> Any:
    """Return the Spark expression of SQL in which `x` stands for another expression."""
    with active(session):
        parser = session._jsparkSession.sessionState().sqlParser()
        expression, name = parser.parseExpression(text), parser.parseExpression("x")
    return expression.transform(partial_function(session.sparkContext, [(name, x)]))
