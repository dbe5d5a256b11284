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
    kind_of,
    partial_function,
    plan_of,
    replaced_in_expressions,
    with_child,
)
from hiveacid.jvm.py4j import active, each, java
from hiveacid.metastore.models import Column
from hiveacid.reader.timestamps import has
from hiveacid.reader.types import INTEGER_BITS, UnionType, spark_type
from hiveacid.sql.followed_types import with_followed_types
from hiveacid.sql.hive_3 import is_day
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

_DIGITS_OF_LONG = 19
"""Digits of the decimal that Hive makes of a bigint next to a decimal; Spark's has 20."""

_ABS = {"tinyint": "int", "smallint": "int", "float": "double"}
"""Types of which Hive's `abs` makes another one."""

_CHOICES = frozenset("CaseWhen Coalesce Greatest If Least".split())
_SET_OPERATIONS = frozenset({"Except", "Intersect", "Union"})
_DECIMAL = re.compile(r"decimal\((?P<digits>\d+),(?P<scale>\d+)\)")

_EXACT_DIGITS = 18
"""Digits of a decimal up to which Hive makes a double of it; of some longer ones it makes NULL."""

_MOST_DIGITS = 38

_MORE_DIGITS_OF_MEAN = 4
"""Digits that a mean of decimals has more than they have, in both."""

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


@dataclass(frozen=True)
class _Typed:
    """An expression in an analysed plan that is Hive's for its types if it is written otherwise.

    Attributes:
        node: the expression, which has one child.
        text: what is put in its place: SQL over the child, `x`.
    """

    node: Any
    text: str


def with_hives_casts(
    session: SparkSession, query: Any, suspects: frozenset[str], *, is_hive_3: bool
) -> Any:
    """Return the analysed plan of a query that casts as Hive does.

    Args:
        session: the session that evaluates as Hive does.
        query: the query's plan.
        suspects: kinds of expressions in it that differ for some types.
        is_hive_3: whether it is Hive 3 that shows the query.

    Raises:
        DiffersError: with the part of the query, and the reason.
    """
    context = session.sparkContext
    plan = analysed(session, query)
    guards: list[tuple[Any, Any]] = []
    has_other_types = False
    for found in _differing_in(context, plan, suspects, is_hive_3=is_hive_3):
        node = found.node
        if isinstance(found, _Typed):
            guards.append((node, _made(session, found.text, node.child())))
            has_other_types = True
            continue
        if is_hive_3:
            _refuse_of_hive_3(found)
        guard = _guard_of(found)
        if guard is not None:
            child = _made(session, _GUARDS[guard], node.child())
            guards.append((node, with_child(context, node, child)))
    if not guards:
        return plan
    plan = analysed(session, replaced_in_expressions(context, plan, guards))
    return with_followed_types(session, plan, analysed) if has_other_types else plan


def as_declared(session: SparkSession, plan: Any, columns: Iterable[Column]) -> Any:
    """Return a plan with the names that Hive has of a view's columns.

    The types are those of the query, as in Hive: where a column of a table became wider after the
    view was made, Hive shows the wider values, though the metastore has the previous type.

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
            if _is_cast(type_, wanted):
                value = value.cast(wanted)
            elif not _is_same(type_, wanted) and not _is_wider(type_, wanted):
                raise DiffersError(
                    f"The column {column.name}",
                    f"it is {column.type} in Hive, and {type_.simpleString()} in Spark",
                )
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


def _is_cast(found: DataType, wanted: DataType) -> bool:
    """Tell whether a column must have the type that Hive has of it, which changes no value."""
    if isinstance(found, DecimalType) and isinstance(wanted, DecimalType):
        return found.scale == wanted.scale and found.precision < wanted.precision
    return isinstance(found, NullType)


def _is_wider(found: DataType, wanted: DataType) -> bool:
    if type(found) in INTEGER_BITS and type(wanted) in INTEGER_BITS:
        return INTEGER_BITS[type(found)] > INTEGER_BITS[type(wanted)]
    if isinstance(found, DecimalType) and isinstance(wanted, DecimalType):
        whole = wanted.precision - wanted.scale
        return found.scale >= wanted.scale and found.precision - found.scale >= whole
    return False


def _differing_in(
    context: SparkContext, plan: Any, suspects: frozenset[str], *, is_hive_3: bool
) -> Iterator[_Cast | _Typed]:
    """Yield the casts of a query, and what is written otherwise for some types.

    What is in the rows of the tables that the query reads is left alone.

    Raises:
        DiffersError: an expression of the `suspects` has a type for which it differs.
    """
    patterns = java(context, "org.apache.spark.sql.catalyst.trees.TreePattern")
    cast, inner = patterns.CAST(), patterns.PLAN_EXPRESSION()
    written = java(context, f"{_EXPRESSIONS}.Cast").USER_SPECIFIED_CAST()

    def in_expression(node: Any, parent: str) -> Iterator[_Cast | _Typed]:
        if not suspects and not node.containsPattern(cast):
            return
        kind = kind_of(node)
        children = list(each(node.children()))
        if kind == "Cast":
            is_explicit = bool(node.getTagValue(written).isDefined())
            if not is_explicit and _is_long_as_decimal(node):
                yield _Typed(node, f"cast(x as decimal({_DIGITS_OF_LONG},0))")
            else:
                yield _Cast(node, parent, is_explicit)
        elif kind in _CHOICES:
            _refuse_mixture(node, children, written)
        if kind == "Average" and is_hive_3:
            _refuse_mean_of_hive_3(node, children[0])
        if kind in suspects:
            text = _check_suspect(node, kind, children)
            if text is not None:
                yield _Typed(node, text)
        for child in children:
            yield from in_expression(child, kind)

    def in_plan(node: Any) -> Iterator[_Cast | _Typed]:
        if node.nodeName() == "SubqueryAlias" and not node.identifier().qualifier().isEmpty():
            return
        has_inner = node.containsPattern(inner)
        if not suspects and not has_inner and not node.containsPattern(cast):
            return
        if kind_of(node) in _SET_OPERATIONS:
            _refuse_longer_numbers(list(each(node.children())), written)
        for expression in each(node.expressions()):
            yield from in_expression(expression, "")
        for child in each(node.children()):
            yield from in_plan(child)
        for child in each(node.subqueries()) if has_inner else ():
            yield from in_plan(child)

    yield from in_plan(plan)


def _refuse_longer_numbers(sides: list[Any], written: Any) -> None:
    """Refuse whole numbers in a set operation that Spark's analyzer made longer decimals of.

    Hive takes the type of the decimals, if it has room for the numbers or not. It makes no view
    with a literal that is too long.

    Raises:
        DiffersError: naming the column.
    """
    columns = zip(*(_columns_of(side, written) for side in sides), strict=True)
    for column in columns:
        decimals = [it for it in (_DECIMAL.fullmatch(type_) for _, type_, _ in column) if it]
        if not decimals:
            continue
        room = min(int(it["digits"]) - int(it["scale"]) for it in decimals)
        for expression, type_, is_literal in column:
            if type_ in _INTEGERS and not is_literal and _DIGITS[type_] + 1 > room:
                raise DiffersError(
                    str(expression.sql()),
                    "of a UNION, INTERSECT or EXCEPT of decimals and whole numbers Hive makes NULL "
                    "of the numbers that its decimal has too few digits for; a CAST in the view "
                    "would tell the type",
                )


def _columns_of(side: Any, written: Any) -> list[tuple[Any, str, bool]]:
    """Return the columns of a side as they were before Spark's analyzer cast them.

    Each with its type, and whether it is a literal.
    """
    if side.nodeName() != "Project":
        return [(it, str(it.dataType().catalogString()), False) for it in each(side.output())]
    below = side.child()
    named = below.projectList() if below.nodeName() == "Project" else ()
    named = below.aggregateExpressions() if below.nodeName() == "Aggregate" else named
    literals = {
        str(it.exprId())
        for it in (each(named) if named else ())
        if kind_of(it) == "Alias" and kind_of(it.child()) == "Literal"
    }
    found = []
    for column in each(side.projectList()):
        cast = column.child() if kind_of(column) == "Alias" else column
        if kind_of(cast) != "Cast" or cast.getTagValue(written).isDefined():
            found.append((column, str(column.dataType().catalogString()), False))
            continue
        inner = cast.child()
        is_literal = kind_of(inner) == "Literal" or (
            kind_of(inner) == "AttributeReference" and str(inner.exprId()) in literals
        )
        found.append((inner, str(inner.dataType().catalogString()), is_literal))
    return found


def _is_long_as_decimal(node: Any) -> bool:
    """Tell whether a cast makes of a bigint the decimal that Spark has for all of them."""
    source, target = node.child().dataType(), node.dataType()
    return (source.catalogString(), target.catalogString()) == ("bigint", "decimal(20,0)")


def _refuse_mixture(node: Any, children: list[Any], written: Any) -> None:
    """Refuse to choose between a float and a decimal, of which Spark's analyzer made one type.

    Raises:
        DiffersError: always, where there are both.
    """
    casts = [it for it in children if kind_of(it) == "Cast" and it.getTagValue(written).isEmpty()]
    types = {str(it.child().dataType().catalogString()).partition("(")[0] for it in casts}
    if {"float", "decimal"} <= types:
        raise DiffersError(str(node.sql()), "of a float and a decimal Hive makes a float")


def _refuse_mean_of_hive_3(node: Any, child: Any) -> None:
    of_text = kind_of(child) == "Cast" and (child.child().dataType().catalogString() == "string")
    if of_text or str(child.dataType().catalogString()).startswith("decimal"):
        raise DiffersError(
            str(node.sql()), "the mean of decimals or of texts is another number in Hive 3"
        )


def _refuse_of_hive_3(found: _Cast) -> None:
    """Refuse a cast that Hive 3 makes in another way than Hive 4.

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
        if not is_literal or not is_day(str(child.toString())):
            reason = "of a day that does not exist, such as 2024-02-30, Hive 3 makes a later day"
    if reason is not None:
        raise DiffersError(str(found.node.sql()), reason)


def _check_suspect(node: Any, kind: str, children: list[Any]) -> str | None:
    """Return what is to be written for an expression; None if it can stay.

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
            reason = "of fractions Hive and Spark make different digits"
    elif kind == "Average" and types[0] == "bigint":
        reason = "Hive adds up as bigint or as double, by the way in which it runs the query"
    elif kind == "Average" and types[0].startswith("decimal"):
        if int(re.findall(r"\d+", types[0])[0]) + _MORE_DIGITS_OF_MEAN > _MOST_DIGITS:
            reason = "of so many digits Hive makes a mean with fewer behind the point"
    elif kind == "Multiply" and all(type_.startswith("decimal") for type_ in types):
        digits = sum(int(re.findall(r"\d+", type_)[0]) for type_ in types)
        if digits + 1 > _MOST_DIGITS:
            reason = "of products that may have more than 38 digits Hive makes NULL more often"
    if reason is not None:
        raise DiffersError(str(node.sql()), reason)
    return f"abs(cast(x as {_ABS[types[0]]}))" if kind == "Abs" and types[0] in _ABS else None


def _is_null(node: Any) -> bool:
    inner = node.child() if kind_of(node) == "Cast" else node
    return kind_of(inner) == "Literal" and inner.value() is None


def _guard_of(found: _Cast) -> str | None:
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


def _made(session: SparkSession, text: str, x: Any) -> Any:
    """Return Spark's expression of a text in which `x` stands for another expression."""
    with active(session):
        parser = session._jsparkSession.sessionState().sqlParser()
        expression, name = parser.parseExpression(text), parser.parseExpression("x")
    return expression.transform(partial_function(session.sparkContext, [(name, x)]))
