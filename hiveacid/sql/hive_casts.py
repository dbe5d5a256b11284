"""Casts in the plan of a view of Hive's: those that Hive makes otherwise are made as Hive's.

Spark's analyzer adds casts where types differ. So the casts are looked at in the analysed plan,
explicit and added ones, with the types that they go from and to. What is in the tables here was
tried: Hive 4.0.1 and Spark made the same casts of the same values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark import SparkContext
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sql_functions
from pyspark.sql.types import DataType, DecimalType, NullType

from hiveacid.jvm.plans import (
    dataframe_of,
    execution_of,
    partial_function,
    plan_of,
    replaced_in_expressions,
    with_child,
)
from hiveacid.jvm.py4j import active, each, java
from hiveacid.metastore.models import Column
from hiveacid.reader.timestamps import has
from hiveacid.reader.types import INTEGER_BITS, UnionType, spark_type
from hiveacid.sql.hive_functions import DiffersError

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
"""Digits that each value of so many has room for in an integer type."""

_EXACT_DIGITS = 18
"""Digits of a decimal up to which Hive makes a double of it; of some longer ones it makes NULL."""

_MOST_DIGITS = 38

_PLAIN_SCALE = 6
"""Scale up to which Spark writes a decimal without an exponent, as Hive always does."""

_CANONICAL = {
    "date": r"\d{4}-\d\d-\d\d",
    "timestamp": r"\d{4}-\d\d-\d\d( \d\d:\d\d:\d\d(\.\d{1,6})?)?",
    "number": r"-?\d+(\.\d+)?",
}
"""Literals of which both make the same value."""

_FAIL = (
    "raise_error(concat('A view of Hive''s reads the text ''', x, ''' as a {type}, which Hive and "
    "Spark do in different ways. Put the view''s query into a model or a statement.'))"
)
_DAY = r"^ *[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}"
_ODD_TIME = r"^ *(0000-|[0-9]{1,2}:|(-[0-9]{1,4}|[0-9]{1,3})-[0-9]{1,2}-[0-9]{1,2}([^0-9]|$))"
_TIME = r"([ T]([01]?[0-9]|2[0-3]):[0-5]?[0-9]:[0-5]?[0-9](\\.[0-9]{1,9})?)?"
_GUARDS = {
    "date": (
        f"case when x rlike '{_ODD_TIME}' then {_FAIL.format(type='date')} "
        f"when x rlike '{_DAY}' then regexp_extract(x, '{_DAY}', 0) end"
    ),
    "timestamp": (
        f"case when x rlike '{_DAY}{_TIME} *$' and not x rlike '^ *0000-' then x "
        f"when x rlike '{_DAY}|{_ODD_TIME}' then {_FAIL.format(type='timestamp')} end"
    ),
    "integer": r"case when not x rlike '^\\s*[+-]?[.]\\s*$' then x end",
    "fraction": (
        r"case when not x rlike '(?i)^\\s*[+-]?(inf|infinity|nan)\\s*$' "
        r"or x rlike '^\\s*[+-]?(Infinity|NaN)\\s*$' then x end"
    ),
    "decimal": (
        r"case when x rlike '^[\\s\\p{Nd}.eE+-]*$' and "
        r"x rlike '[^\\x20-\\x7E]|[eE][+-]?[0-9]{3}' then "
        f"{_FAIL.format(type='decimal')} else x end"
    ),
    "double as decimal": (
        "case when x <> 0 and abs(x) < 1e-50 then "
        f"{_FAIL.format(type='decimal').replace('text', 'number')} else x end"
    ),
}
"""By what `x` is cast to: what Spark casts as Hive casts `x`, or an error of Spark's."""


@dataclass(frozen=True)
class _Cast:
    """A cast in an analysed plan.

    Attributes:
        node: the expression.
        parent: the kind of the expression around it.
        is_explicit: whether the query's text has it; otherwise Spark's analyzer added it.
    """

    node: Any
    parent: str
    is_explicit: bool


def with_hives_casts(session: SparkSession, query: Any, suspects: frozenset[str]) -> Any:
    """Return the analysed plan of a query that casts as Hive does.

    Args:
        session: the session that evaluates as Hive does.
        query: the query's plan.
        suspects: kinds of expressions in it that differ for some types.

    Raises:
        DiffersError: with the part of the query, and the reason.
    """
    context = session.sparkContext
    plan = analysed(session, query)
    guards: list[tuple[Any, Any]] = []
    for found in _casts_in(context, plan, suspects):
        guard = _guard_of(context, found)
        if guard is not None:
            guards.append((found.node, _guarded(session, found.node, guard)))
    if not guards:
        return plan
    return analysed(session, replaced_in_expressions(context, plan, guards))


def as_declared(session: SparkSession, plan: Any, columns: Iterable[Column]) -> Any:
    """Return a plan with the names and the types that Hive has of a view's columns.

    Raises:
        DiffersError: with a column whose type tells that Hive evaluates it in another way.
    """
    declared = list(columns)
    frame = dataframe_of(session, plan)
    found = [field.dataType for field in frame.schema]
    if len(found) != len(declared):
        raise DiffersError(
            "The columns", f"Hive has {len(declared)} of them, and Spark finds {len(found)}"
        )
    with active(session):
        numbered = frame.toDF(*[f"_{n}" for n in range(len(found))])
        shown = []
        for n, (column, type_) in enumerate(zip(declared, found, strict=True)):
            wanted = _type_of(column)
            value = sql_functions.col(f"_{n}")
            if not _is_same(type_, wanted):
                if not _fits(type_, wanted):
                    raise DiffersError(
                        f"The column {column.name}",
                        f"it is {column.type} in Hive, and {type_.simpleString()} in Spark",
                    )
                value = value.cast(wanted)
            shown.append(value.alias(column.name))
        return plan_of(numbered.select(*shown))


def analysed(session: SparkSession, query: Any) -> Any:
    """Return the analysed plan of a query.

    Raises:
        DiffersError: Spark cannot analyse it.
    """
    try:
        execution = execution_of(session.sparkContext, session._jsparkSession, query)
        return execution.analyzed()
    except AnalysisException as error:
        first = str(error).strip().partition("\n")[0].partition(";")[0].rstrip(". ")
        raise DiffersError("The query", f"Spark cannot run it ({first})") from error


def _type_of(column: Column) -> DataType:
    if column.type == "void":
        return NullType()
    reason = f"Spark has no type for {column.type}"
    try:
        found = spark_type(column.type)
    except ValueError as error:
        raise DiffersError(f"The column {column.name}", reason) from error
    if has(found, UnionType):
        raise DiffersError(f"The column {column.name}", reason)
    return found


def _is_same(found: DataType, wanted: DataType) -> bool:
    return found.simpleString().lower() == wanted.simpleString().lower()


def _fits(found: DataType, wanted: DataType) -> bool:
    if type(found) in INTEGER_BITS and type(wanted) in INTEGER_BITS:
        return True
    if isinstance(found, DecimalType) and isinstance(wanted, DecimalType):
        return found.scale == wanted.scale
    return isinstance(found, NullType)


def _casts_in(context: SparkContext, plan: Any, suspects: frozenset[str]) -> Iterator[_Cast]:
    """Yield the casts of a query, not those in the rows of the tables that it reads.

    Raises:
        DiffersError: an expression of the `suspects` has a type for which it differs.
    """
    patterns = java(context, "org.apache.spark.sql.catalyst.trees.TreePattern")
    cast, inner = patterns.CAST(), patterns.PLAN_EXPRESSION()
    written = java(context, f"{_EXPRESSIONS}.Cast").USER_SPECIFIED_CAST()

    def in_expression(node: Any, parent: str) -> Iterator[_Cast]:
        if not suspects and not node.containsPattern(cast):
            return
        kind = str(node.getClass().getSimpleName())
        if kind == "Cast":
            yield _Cast(node, parent, bool(node.getTagValue(written).isDefined()))
        children = list(each(node.children()))
        if kind in suspects:
            _refuse_suspect(node, kind, children)
        for child in children:
            yield from in_expression(child, kind)

    def in_plan(node: Any) -> Iterator[_Cast]:
        if node.nodeName() == "SubqueryAlias" and not node.identifier().qualifier().isEmpty():
            return
        has_inner = node.containsPattern(inner)
        if not suspects and not has_inner and not node.containsPattern(cast):
            return
        for expression in each(node.expressions()):
            yield from in_expression(expression, "")
        for child in each(node.children()):
            yield from in_plan(child)
        for child in each(node.subqueries()) if has_inner else ():
            yield from in_plan(child)

    yield from in_plan(plan)


def _refuse_suspect(node: Any, kind: str, children: list[Any]) -> None:
    types = [str(child.dataType().catalogString()) for child in children]
    reason = None
    if kind == "ConcatWs":
        # A literal NULL gets the type of an array from Spark's analyzer.
        arrays = (type_.startswith("array") for type_ in types)
        if any(it and not _is_null(child) for it, child in zip(arrays, children, strict=True)):
            reason = "Hive writes a NULL in an array as text, and Spark leaves it out"
    elif kind == "Pmod":
        if _FRACTIONS & set(types):
            reason = "of fractions Hive and Spark make different digits"
    elif kind == "Multiply" and all(type_.startswith("decimal") for type_ in types):
        digits = sum(int(re.findall(r"\d+", type_)[0]) for type_ in types)
        if digits + 1 > _MOST_DIGITS:
            reason = "of products that may have more than 38 digits Hive makes NULL more often"
    if reason is not None:
        raise DiffersError(str(node.sql()), reason)


def _is_null(node: Any) -> bool:
    inner = node.child() if str(node.getClass().getSimpleName()) == "Cast" else node
    return str(inner.getClass().getSimpleName()) == "Literal" and inner.value() is None


def _guard_of(context: SparkContext, found: _Cast) -> str | None:
    """Return the name of the guard that a cast needs; None if it needs none.

    Raises:
        DiffersError: the cast cannot be made as Hive makes it.
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
    how = "" if found.is_explicit else ", which the types ask for,"
    raise DiffersError(
        str(node.sql()), f"the cast{how} from {source} to {target} differs from Hive's"
    )


def _guard_of_text(found: _Cast, target: str) -> str | None:
    kind = _kind(target)
    child = found.node.child()
    if str(child.getClass().getSimpleName()) == "Literal" and kind != "other":
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
            f"Hive compares or converts a string with {target} in another way; a CAST in the view "
            "would tell how",
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
    """Tell whether Hive and Spark make the same of each value, by the names of two types."""
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


def _guarded(session: SparkSession, node: Any, guard: str) -> Any:
    """Return a cast of what Spark casts as Hive casts the cast's child."""
    context = session.sparkContext
    with active(session):
        parser = session._jsparkSession.sessionState().sqlParser()
        text = parser.parseExpression(_GUARDS[guard])
        x = parser.parseExpression("x")
    child = text.transform(partial_function(context, [(x, node.child())]))
    return with_child(context, node, child)
