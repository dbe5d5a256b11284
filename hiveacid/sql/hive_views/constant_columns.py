"""Columns of a Hive view's query that Hive treats as constants.

Besides columns of inner queries (`SELECT 3 AS k`) these are, as measured in Hive 3.1.3 and 4.0.1:

- columns that a condition fixes (`WHERE k = 3`), above and below the condition, and those that an
  inner join sets equal to them;
- columns of a UNION ALL that are the same constant in each of its queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pyspark import SparkContext

from hiveacid.jvm.bulk import parameter_types
from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.java_types import Expression, JavaObject, LogicalPlan
from hiveacid.jvm.plans import kind_of, replaced
from hiveacid.jvm.py4j import each, java, scala_seq_of

_CATALYST = "org.apache.spark.sql.catalyst"
_INLINE = f"{_CATALYST}.optimizer.InlineCTE"
_EXACT = frozenset("byte decimal integer long short".split())
"""Names of the types that can be operands of a calculation of decimals."""

_BARRIER = "ReturnAnswer"
"""Kind of the node that stands for a table: Spark replaces nothing in it."""


def mark_view(context: SparkContext, shown: LogicalPlan) -> LogicalPlan:
    """Mark the plan of a Hive view: its constants are constants of the queries that read it."""
    shown.setTagValue(_tag(context), True)
    return shown


def is_view(context: SparkContext, plan: LogicalPlan) -> bool:
    """Return whether a plan is that of a Hive view."""
    return bool(plan.getTagValue(_tag(context)).isDefined())


def is_table_or_view(plan: LogicalPlan) -> bool:
    """Return whether a plan has the rows of a table or a view, under its name."""
    return kind_of(plan) == "SubqueryAlias" and not plan.identifier().qualifier().isEmpty()


def with_constant_columns(context: SparkContext, plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield a query and its subqueries, with constants for the columns that are some in Hive."""
    barrier = java(context, f"{_CATALYST}.plans.logical.{_BARRIER}")
    tables = [(table, barrier(table)) for table in _tables(context, plan)]
    flags = [True, *(False for _ in parameter_types(context, _INLINE, "copy")[1:])]
    inlined = java(context, _INLINE)(*flags).apply(replaced(context, plan, tables))
    rule = java(context, f"{_CATALYST}.optimizer.ReplaceExpressions$")
    for query in (inlined, *each(inlined.subqueriesAll())):
        # Before its replacement a call of NVL is no constant in Spark.
        before = LogicalPlan(getattr(rule, "MODULE$").apply(query))
        equal = _EqualColumns()
        _collect(before, equal)
        yield _propagated(context, _with_constants(context, before, equal))


def _propagated(context: SparkContext, plan: LogicalPlan) -> LogicalPlan:
    """Return a plan with constants for the columns that a Project in it names."""
    rule = getattr(java(context, f"{_CATALYST}.optimizer.FoldablePropagation$"), "MODULE$")
    # Once for each query on the way that renames the column.
    while not (after := rule.apply(plan)).fastEquals(plan):
        plan = after
    return LogicalPlan(after)


@dataclass
class _EqualColumns:
    """Groups of columns that are equal, by the ids of Spark's expressions.

    `constants` are the values of the groups that a condition fixes, by `group`.
    """

    constants: dict[str, Expression] = field(default_factory=dict)
    _parents: dict[str, str] = field(default_factory=dict)

    def group(self, column: str) -> str:
        """Return the column that stands for the group of a column."""
        while (parent := self._parents.get(column, column)) != column:
            column = parent
        return column

    def unite(self, one: str, other: str) -> None:
        """Put two columns into one group."""
        kept, gone = self.group(one), self.group(other)
        if kept != gone:
            self._parents[gone] = kept
            if gone in self.constants:
                self.constants.setdefault(kept, self.constants.pop(gone))

    def fix(self, column: str, constant: Expression) -> None:
        """Set the value of a column."""
        self.constants.setdefault(self.group(column), constant)


def _collect(plan: LogicalPlan, equal: _EqualColumns) -> None:
    """Collect which columns of a query are equal, and which have a fixed value."""
    if kind_of(plan) == _BARRIER:
        return
    for one, other in _equalities(plan):
        column, value = _column(one), _column(other)
        if column is not None and value is not None:
            equal.unite(column, value)
        elif column is not None and other.foldable():
            equal.fix(column, other)
        elif value is not None and one.foldable():
            equal.fix(value, one)
    for expression in each(plan.expressions()):
        if kind_of(expression) == "Alias" and (column := _column(expression.child())) is not None:
            equal.unite(str(expression.exprId()), column)
    for child in each(plan.children()):
        _collect(child, equal)


def _equalities(plan: LogicalPlan) -> Iterator[tuple[Expression, Expression]]:
    """Yield the sides of each equality that holds in all rows of a filter or an inner join."""
    kind = kind_of(plan)
    if kind == "Filter":
        yield from _sides(plan.condition())
    elif kind == "Join" and str(plan.joinType().sql()) in ("INNER", "CROSS"):
        for condition in each(plan.condition().toList()):
            yield from _sides(condition)


def _sides(condition: Expression) -> Iterator[tuple[Expression, Expression]]:
    kind = kind_of(condition)
    if kind == "And":
        yield from _sides(condition.left())
        yield from _sides(condition.right())
    elif kind == "Not" and kind_of(condition.child()) == "Not":
        yield from _sides(condition.child().child())
    elif kind in ("EqualTo", "EqualNullSafe"):
        yield condition.left(), condition.right()
    elif kind == "In" and condition.list().size() == 1:
        yield condition.value(), condition.list().head()


def _column(node: Expression) -> str | None:
    """Return the id of a column of exact numbers, also if it is cast; None for all else."""
    while kind_of(node) == "Cast":
        node = node.child()
    is_column = kind_of(node) == "AttributeReference" and _is_exact(node)
    return str(node.exprId()) if is_column else None


def _is_exact(node: Expression) -> bool:
    return str(node.dataType().typeName()).partition("(")[0] in _EXACT


def _with_constants(context: SparkContext, plan: LogicalPlan, equal: _EqualColumns) -> LogicalPlan:
    """Return a query with a Project around each node from which on a column is a constant."""
    below: list[LogicalPlan] = []
    if kind_of(plan) != _BARRIER:
        below = [_with_constants(context, child, equal) for child in each(plan.children())]
    if kind_of(plan) == "Union":
        below = [_propagated(context, child) for child in below]
        constants = _of_union(plan, below)
    else:
        constants = _fixed_in(plan, below, equal)
    if below:
        plan = LogicalPlan(plan.withNewChildren(scala_seq_of(context, below)))
    return _projected(context, plan, constants) if constants else plan


def _fixed_in(
    plan: LogicalPlan, below: list[LogicalPlan], equal: _EqualColumns
) -> dict[str, Expression]:
    """Return the columns whose values a node fixes, or which come from it and have a fixed value.

    The values of another node's columns may be those of an outer join, and NULL.
    """
    if not equal.constants:
        return {}
    by_node = {
        equal.group(column)
        for sides in _equalities(plan)
        for side in sides
        if (column := _column(side)) is not None
    }
    known = {column for child in below for column in _ids(child)}
    found = {}
    for column in _ids(plan):
        group = equal.group(column)
        if group in equal.constants and (group in by_node or column not in known):
            found[column] = equal.constants[group]
    return found


def _of_union(plan: LogicalPlan, below: list[LogicalPlan]) -> dict[str, Expression]:
    """Return the columns of a UNION ALL that are the same constant in each of its queries."""
    found = {}
    for index, column in enumerate(_ids(plan)):
        values = [_constant_of(child, index) for child in below]
        first = values[0]
        if first is not None and all(it is not None and _is_same(it, first) for it in values):
            found[column] = first
    return found


def _constant_of(plan: LogicalPlan, index: int) -> Expression | None:
    """Return the constant that a column of a query is; None if it is none."""
    while kind_of(plan) in ("Distinct", "Filter", "SubqueryAlias"):
        plan = plan.child()
    if kind_of(plan) == "Project":
        column = plan.projectList().apply(index)
    elif kind_of(plan) == "Aggregate":
        column = plan.aggregateExpressions().apply(index)
    else:
        return None
    is_constant = kind_of(column) == "Alias" and column.child().foldable()
    return Expression(column.child()) if is_constant else None


def _is_same(one: Expression, other: Expression) -> bool:
    """Return whether two constants are equal. A value that Spark does not know yet is equal."""
    try:
        return bool(one.eval(None) == other.eval(None))
    except JAVA_ERRORS:
        return True


def _projected(
    context: SparkContext, plan: LogicalPlan, constants: dict[str, Expression]
) -> LogicalPlan:
    """Return a Project around a plan, with constants in place of some of its columns."""
    alias = java(context, f"{_CATALYST}.expressions.Alias")
    nothing, none = scala_seq_of(context, []), java(context, "scala.Option").empty()
    columns: list[JavaObject] = []
    for column in each(plan.output()):
        constant = constants.get(str(column.exprId()))
        if constant is not None:
            value = _as_written(context, constant, column)
            column = alias(value, column.name(), column.exprId(), nothing, none, nothing)
        columns.append(column)
    project = java(context, f"{_CATALYST}.plans.logical.Project")
    return LogicalPlan(project(scala_seq_of(context, columns), plan))


def _as_written(context: SparkContext, constant: Expression, column: Expression) -> JavaObject:
    """Return a constant of the type of a column.

    Its cast stands in another one: the checks take off one that the query does not have.
    """
    type_ = column.dataType()
    if constant.dataType().equals(type_) and kind_of(constant) != "Cast":
        return constant
    cast, none = java(context, f"{_CATALYST}.expressions.Cast"), java(context, "scala.Option")
    inner = cast(constant, type_, none.empty())
    return cast(inner, type_, none.empty())


def _ids(plan: LogicalPlan) -> list[str]:
    return [str(column.exprId()) for column in each(plan.output())]


def _tag(context: SparkContext) -> JavaObject:
    return java(context, f"{_CATALYST}.trees.TreeNodeTag")("hiveacid.view")


def _tables(context: SparkContext, plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield the tables that a query reads, also behind views.

    The key of a single partition is a constant in the plan of a table, and none in Hive.
    """
    if is_table_or_view(plan) and not is_view(context, plan):
        yield plan
        return
    for child in (*each(plan.children()), *each(plan.subqueries())):
        yield from _tables(context, child)
