"""Constants in the decimal calculations of a Hive view.

The type of a decimal calculation follows from the types of its operands, and the scale of a
division from the precision of the divisor. Hive treats some constants, and columns that are
constants (`constant_columns`), as decimals of other types than the query says:

- Hive 3 takes the digits of a constant's value, whatever type the query casts it to:
  `x / cast(3 as decimal(20,10))` has the scale of `x / 3` there.
- Hive 4 does so for whole numbers of any integer type, such as `x / cast('3' as int)`, and for
  constants in sums that become text. It also divides constants with more digits than the type of
  the result has, and multiplies wrongly by constants with zeros at their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark import SparkContext

from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.java_types import Expression, LogicalPlan
from hiveacid.jvm.plans import kind_of
from hiveacid.jvm.py4j import each, java
from hiveacid.sql.hive_views.constant_columns import (
    is_table_or_view,
    is_view,
    with_constant_columns,
)
from hiveacid.sql.hive_views.refusals import DiffersError

_CATALYST = "org.apache.spark.sql.catalyst"
_SIGNS = frozenset({"UnaryMinus", "UnaryPositive"})
_BINARY = frozenset("Add Divide Multiply Remainder Subtract".split())
_ARITHMETIC = frozenset(
    {*_BINARY, *_SIGNS, *"Abs AggregateExpression BRound Cast Round Sum WindowExpression".split()}
)
"""Kinds of expressions whose decimal type follows from the types of the decimals in them. A choice
such as CASE or COALESCE has the declared types of its constants in Hive, too."""

_DIGITS_OF_LONG = 18
"""Highest precision of the decimals that Hive's vectorized operators keep in a long."""

_LONGEST = frozenset("Add CaseWhen Coalesce Greatest If Least Subtract".split())
"""Kinds of expressions with as many digits behind the point as the longest of their operands."""


def check_constants(context: SparkContext, plan: LogicalPlan, *, is_hive_3: bool) -> None:
    """Refuse calculations of decimals with constants for which Hive has another result.

    Args:
        context: the Spark context.
        plan: the analysed plan of a view's query.
        is_hive_3: whether the view is read as in Hive 3.

    Raises:
        DiffersError: with the constant or the calculation.
    """
    patterns = java(context, f"{_CATALYST}.trees.TreePattern")
    arithmetic, cast = patterns.BINARY_ARITHMETIC(), patterns.CAST()
    written = java(context, f"{_CATALYST}.expressions.Cast").USER_SPECIFIED_CAST()
    has_text = not is_hive_3 and any(_is_text(it) for it, _ in _nodes(context, plan, cast))
    if not has_text and not plan.containsPattern(arithmetic):
        return
    if not is_hive_3:
        for node, _ in _nodes(context, plan, arithmetic):
            _refuse_whole_numbers(node, written)
    columns = {str(column.exprId()) for column in each(plan.output())}
    for query in with_constant_columns(context, plan):
        for node, _ in _nodes(context, query, cast, in_views=True) if has_text else ():
            _refuse_longer_constant(node, written)
        for node, parent in _nodes(context, query, arithmetic, in_views=is_hive_3):
            if is_hive_3:
                _refuse_other_digits(node, written)
                continue
            if kind_of(parent) != "Alias" or str(parent.exprId()) not in columns:
                _refuse_quotient(node)
            _refuse_product(node)


def _nodes(
    context: SparkContext, plan: LogicalPlan, pattern: Any, *, in_views: bool = False
) -> Iterator[tuple[Expression, Expression]]:
    """Yield the expressions of a query with a pattern in them, each with the expression around it.

    The plans of the tables that the query reads are skipped, and those of the views, unless
    `in_views`. At the top the expression around it is the expression itself.
    """
    inner = java(context, f"{_CATALYST}.trees.TreePattern").PLAN_EXPRESSION()

    def in_expression(
        node: Expression, parent: Expression
    ) -> Iterator[tuple[Expression, Expression]]:
        if node.containsPattern(pattern):
            yield node, parent
            for child in each(node.children()):
                yield from in_expression(child, node)

    def in_plan(node: LogicalPlan) -> Iterator[tuple[Expression, Expression]]:
        has_inner = node.containsPattern(inner)
        if not has_inner and not node.containsPattern(pattern):
            return
        if is_table_or_view(node) and not (in_views and is_view(context, node)):
            return
        for expression in each(node.expressions()):
            yield from in_expression(expression, expression)
        for child in (*each(node.children()), *(each(node.subqueries()) if has_inner else ())):
            yield from in_plan(child)

    yield from in_plan(plan)


def _constants(division: Expression, written: Any) -> Iterator[Expression]:
    """Yield the constants from whose types the type of a division of decimals follows."""

    def in_operand(node: Expression) -> Iterator[Expression]:
        if not _is_decimal(node):
            return
        if node.foldable():
            yield node
            return
        kind = kind_of(node)
        if kind in _ARITHMETIC and (kind != "Cast" or node.getTagValue(written).isEmpty()):
            for child in each(node.children()):
                yield from in_operand(child)

    if kind_of(division) == "Divide":
        for operand in each(division.children()):
            yield from in_operand(operand)


def _has_type_of_digits(constant: Expression) -> bool:
    """Return whether the type of a decimal constant is that of the digits of its value."""
    kind = kind_of(constant)
    if kind == "Literal":
        return True  # Of a decimal literal Spark, too, takes the digits.
    inner = constant.child() if kind in ("Cast", "UnaryMinus", "UnaryPositive") else None
    if inner is None or kind_of(inner) != "Literal":
        return False
    type_ = str(constant.dataType().catalogString())
    if inner.value() is None or str(inner.dataType().catalogString()) == type_:
        return True
    digits = str(inner.toString()).lstrip("-")
    return digits.isdecimal() and type_ == f"decimal({len(digits)},0)"


def _refuse_other_digits(node: Expression, written: Any) -> None:
    """Refuse a division by constants whose type in Spark is not that of their digits.

    Raises:
        DiffersError: with the constant.
    """
    for constant in _constants(node, written):
        if not _has_type_of_digits(constant):
            raise DiffersError(
                str(constant.sql()),
                "in a division of decimals Hive 3 treats it as a decimal of its own digits; a "
                "literal, such as 3 or 1.5, has this type in both",
            )


def _refuse_whole_numbers(node: Expression, written: Any) -> None:
    """Refuse a division by `cast('3' as int)`, whose type in Spark is not that of its digits.

    Of a calculated whole number, such as `1 + 2`, Hive 4 takes the type, as Spark does.

    Raises:
        DiffersError: with the constant.
    """
    for constant in _constants(node, written):
        inner = constant
        while kind_of(inner) == "Cast" or kind_of(inner) in _SIGNS:
            inner = inner.child()
        is_whole = kind_of(constant) == "Cast" and constant.getTagValue(written).isEmpty()
        if is_whole and kind_of(inner) == "Literal" and not _has_type_of_digits(constant):
            raise DiffersError(
                str(constant.sql()),
                "in a division of decimals Hive treats it as a decimal of its own digits; a "
                "literal, such as 3, has this type in both",
            )


def _refuse_longer_constant(node: Expression, written: Any) -> None:
    """Refuse a constant that gives a sum or a choice more digits behind the point, as text.

    Hive leaves the zeros out: `concat(x + cast(3 as decimal(10,4)), '')` has the digits of `x`.

    Raises:
        DiffersError: with the constant.
    """
    if kind_of(node) not in _LONGEST or not _is_decimal(node):
        return
    operands = [_uncast(it, written) for it in each(node.children())]
    constants = [it for it in operands if it.foldable() and _is_decimal(it)]
    columns = [_scale(it) for it in operands if not it.foldable()]
    for constant in constants:
        if _scale(constant) > max(columns, default=_scale(constant)):
            inner = constant.child() if kind_of(constant) == "Cast" else constant
            if kind_of(inner) != "Literal" or _scale(inner) != _scale(constant):
                raise DiffersError(
                    str(constant.sql()),
                    "as text Hive shows the sum or choice without its zeros at the end; write "
                    "the constant as a literal",
                )


def _uncast(node: Expression, written: Any) -> Expression:
    """Return the expression that Spark's analyzer has cast, or the expression itself."""
    is_implicit = kind_of(node) == "Cast" and node.getTagValue(written).isEmpty()
    return Expression(node.child()) if is_implicit else node


def _scale(node: Expression) -> int:
    return int(node.dataType().scale()) if _is_decimal(node) else 0


def _refuse_quotient(node: Expression) -> None:
    """Refuse a division of constants: Hive calculates more digits than its type has.

    Raises:
        DiffersError: with the division.
    """
    if kind_of(node) == "Divide" and _is_decimal(node) and node.foldable():
        raise DiffersError(
            str(node.sql()),
            "Hive calculates with more digits of a quotient of constants than its type has; "
            "write the quotient as a literal",
        )


def _refuse_product(node: Expression) -> None:
    """Refuse a factor such as `(1.5 + 1.5)` or `cast(3 as decimal(4,2))`, which is 3.00.

    Where Hive runs vectorized, and the product fits into a long, it multiplies by 0.3 or 0.03.

    Raises:
        DiffersError: with the factor.
    """
    if kind_of(node) != "Multiply" or not _is_decimal(node) or node.foldable():
        return
    for factor in each(node.children()):
        fits = int(node.dataType().precision()) <= _DIGITS_OF_LONG
        is_made = kind_of(factor) in _BINARY or (kind_of(factor) == "Cast" and fits)
        if is_made and factor.foldable() and _is_decimal(factor):
            value = _value(factor)
            shown = "" if value is None else f"{value.toJavaBigDecimal():f}"
            if value is not None and len(shown.partition(".")[2].rstrip("0")) < _scale(factor):
                raise DiffersError(
                    str(factor.sql()),
                    "Hive multiplies wrongly by a constant with zeros at its end; write it as a "
                    "literal",
                )


def _value(constant: Expression) -> Any:
    """Return the value of a decimal constant, a Java object.

    Raises:
        DiffersError: Spark calculates it only after its optimizer has rewritten it.
    """
    try:
        return constant.eval(None)
    except JAVA_ERRORS as error:
        raise DiffersError(
            str(constant.sql()), "Spark does not know its value here; write it as a literal"
        ) from error


def _is_text(node: Expression) -> bool:
    is_text = kind_of(node) == "Cast" and node.dataType().catalogString() == "string"
    return is_text and _is_decimal(node.child())


def _is_decimal(node: Expression) -> bool:
    return str(node.dataType().catalogString()).startswith("decimal")
