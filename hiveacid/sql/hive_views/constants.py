"""Constants in the decimal divisions of a Hive view.

The type of a decimal division follows from the types of its operands, and its scale from the
precision of the divisor. For a constant Hive 3 takes the digits of its value, whatever type the
query casts it to: `x / cast(3 as decimal(20,10))` has the scale of `x / 3` there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark import SparkContext

from hiveacid.jvm.bulk import parameter_types
from hiveacid.jvm.java_types import Expression, LogicalPlan
from hiveacid.jvm.plans import kind_of, replaced
from hiveacid.jvm.py4j import each, java
from hiveacid.sql.hive_views.refusals import DiffersError

_CATALYST = "org.apache.spark.sql.catalyst"
_INLINE = f"{_CATALYST}.optimizer.InlineCTE"

_ARITHMETIC = frozenset(
    """
    Abs Add AggregateExpression BRound Cast Divide Multiply Remainder Round Subtract Sum UnaryMinus
    UnaryPositive WindowExpression
    """.split()
)
"""Kinds of expressions whose decimal type follows from the types of the decimals in them. A choice
such as CASE or COALESCE has the declared types of its constants in Hive 3, too."""


def mark_view(context: SparkContext, shown: LogicalPlan) -> LogicalPlan:
    """Mark the plan of a Hive view: its constants are constants of the queries that read it."""
    shown.setTagValue(_tag(context), True)
    return shown


def check_constants(context: SparkContext, plan: LogicalPlan) -> None:
    """Refuse constants of decimal divisions that have another type in Hive 3.

    Args:
        context: the Spark context.
        plan: the analysed plan of a view's query.

    Raises:
        DiffersError: with the constant.
    """
    patterns = java(context, f"{_CATALYST}.trees.TreePattern")
    arithmetic, inner = patterns.BINARY_ARITHMETIC(), patterns.PLAN_EXPRESSION()
    written = java(context, f"{_CATALYST}.expressions.Cast").USER_SPECIFIED_CAST()

    def in_expression(node: Expression) -> None:
        if not node.containsPattern(arithmetic):
            return
        children = list(each(node.children()))
        if kind_of(node) == "Divide" and _is_decimal(node):
            for operand in children:
                for constant in _constants(operand, written):
                    if not _has_type_of_digits(constant):
                        raise DiffersError(
                            str(constant.sql()),
                            "in a division of decimals Hive 3 treats it as a decimal of its own "
                            "digits; a literal, such as 3 or 1.5, has this type in both",
                        )
        for child in children:
            in_expression(child)

    def in_plan(node: LogicalPlan) -> None:
        if _is_table_or_view(node):
            return
        has_inner = node.containsPattern(inner)
        if not has_inner and not node.containsPattern(arithmetic):
            return
        for expression in each(node.expressions()):
            in_expression(expression)
        for child in each(node.children()):
            in_plan(child)
        for child in each(node.subqueries()) if has_inner else ():
            in_plan(child)

    if plan.containsPattern(arithmetic):
        in_plan(_with_constants_of_inner_queries(context, plan))


def _constants(node: Expression, written: Any) -> Iterator[Expression]:
    """Yield the constants from whose types the type of a decimal expression follows."""
    if not _is_decimal(node):
        return
    if node.foldable():
        yield node
        return
    kind = kind_of(node)
    if kind not in _ARITHMETIC or (kind == "Cast" and node.getTagValue(written).isDefined()):
        return
    for child in each(node.children()):
        yield from _constants(child, written)


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


def _with_constants_of_inner_queries(context: SparkContext, plan: LogicalPlan) -> LogicalPlan:
    """Replace the columns of inner queries that are constants by the constants, as Hive does."""
    barrier = java(context, f"{_CATALYST}.plans.logical.ReturnAnswer")
    tables = [(table, barrier(table)) for table in _tables(context, plan)]
    flags = [True, *(False for _ in parameter_types(context, _INLINE, "copy")[1:])]
    before = java(context, _INLINE)(*flags).apply(replaced(context, plan, tables))
    rule = getattr(java(context, f"{_CATALYST}.optimizer.FoldablePropagation$"), "MODULE$")
    # Once for each query on the way that renames the column.
    while not (after := rule.apply(before)).fastEquals(before):
        before = after
    return LogicalPlan(after)


def _tables(context: SparkContext, plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield the tables that a query reads, also behind views.

    The key of a single partition is a constant in the plan of a table, and none in Hive.
    """
    if _is_table_or_view(plan) and plan.getTagValue(_tag(context)).isEmpty():
        yield plan
        return
    for child in (*each(plan.children()), *each(plan.subqueries())):
        yield from _tables(context, child)


def _is_table_or_view(plan: LogicalPlan) -> bool:
    return kind_of(plan) == "SubqueryAlias" and not plan.identifier().qualifier().isEmpty()


def _is_decimal(node: Expression) -> bool:
    return str(node.dataType().catalogString()).startswith("decimal")


def _tag(context: SparkContext) -> Any:
    return java(context, f"{_CATALYST}.trees.TreeNodeTag")("hiveacid.view")
