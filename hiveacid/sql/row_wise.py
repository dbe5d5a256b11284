"""Operators that make a row of a statement from several rows of one relation, or not from each row.

A row-wise statement makes its rows from single rows of the relation: it gives the same rows whether
it reads the relation at once or in parts. Columns, expressions, filters, generators, UNION ALL and
joins with other relations are row-wise. The operators are found in Spark's analysed plan.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hiveacid.jvm.bulk import bulk_of
from hiveacid.jvm.java_types import Expression, LogicalPlan
from hiveacid.jvm.plans import PlanTree, kind_of, tree_of
from hiveacid.jvm.py4j import each
from hiveacid.metastore.models import TableName
from hiveacid.sql.catalog import SESSION_CATALOG

_ROW_WISE = frozenset(
    {
        "CTERelationDef",
        "CTERelationRef",
        "Expand",
        "Filter",
        "Generate",
        "LateralJoin",
        "Project",
        "RebalancePartitions",
        "Repartition",
        "RepartitionByExpression",
        "ResolvedHint",
        "Sort",
        "SubqueryAlias",
        "View",
        "WithCTE",
    }
)
"""Kinds of nodes that are row-wise over any relation. Kinds that are not known are not."""

_LIMITS = frozenset({"GlobalLimit", "LocalLimit", "Tail"})

_OPERATORS = {
    **dict.fromkeys(_LIMITS, "LIMIT"),
    "Deduplicate": "DISTINCT",
    "Distinct": "DISTINCT",
    "Except": "EXCEPT",
    "Intersect": "INTERSECT",
    "Offset": "OFFSET",
    "Sample": "TABLESAMPLE",
    "ScriptTransformation": "TRANSFORM",
    "UnionLoop": "WITH RECURSIVE",
}
"""SQL of nodes that are not row-wise. Nodes that are not here go by their kind."""

_SUBQUERIES = {
    "Exists": "EXISTS (…)",
    "FunctionTableSubqueryArgumentExpression": "TABLE (…)",
    "LateralSubquery": "LATERAL (…)",
    "ListQuery": "IN (…)",
    "ScalarSubquery": "subquery",
}
"""SQL of the expressions that have a query."""

_KEEPS_UNMATCHED_RIGHT = ("RIGHT OUTER", "FULL OUTER")
_ROW_WISE_ON_RIGHT = ("INNER", "CROSS", "RIGHT OUTER")
"""Kinds of joins that are row-wise over their right side."""


@dataclass(frozen=True, order=True)
class CrossRowOperator:
    """An operator that is not row-wise; `line` and `position` are its place in the text.

    Lines begin with 1 and positions with 0, as in Spark's errors. Both are 0 if Spark does not know
    the place.
    """

    line: int
    position: int
    name: str

    def __str__(self) -> str:
        """Return the operator and its place."""
        place = f" (line {self.line}, pos {self.position})" if self.line else ""
        return f"{self.name}{place}"


@dataclass(frozen=True)
class PlanFacts:
    """What decides, next to the shape of a plan, which of its nodes are row-wise.

    Attributes:
        rows: the nodes that show the relation.
        same_table: the nodes that show all rows of the relation's table.
        definitions: the node of each common table expression, by the nodes that refer to it.
        join_type: returns the type of a join, such as `LEFT OUTER`.
        is_limit_0: returns whether a limit is 0, which gives no row of any relation.
    """

    rows: Collection[int]
    same_table: Collection[int] = ()
    definitions: Mapping[int, int] = field(default_factory=dict)
    join_type: Callable[[int], str] = lambda number: "INNER"
    is_limit_0: Callable[[int], bool] = lambda number: False


@dataclass(frozen=True)
class CrossRowNode:
    """A node of a plan that is not row-wise.

    Attributes:
        node: the number of the node.
        name: the SQL of the operator; `{table}` stands for the table of the relation. It is empty
            where only the expressions of the node have it.
        subquery: the number of the subquery, among the subqueries of the node, that makes it so.
    """

    node: int
    name: str = ""
    subquery: int | None = None


def find_cross_row(
    spark: SparkSession, plan: LogicalPlan, rows: str, table: TableName, *, is_keyed: bool
) -> CrossRowOperator | None:
    """Return the first operator of an analysed plan that is not row-wise; None without any.

    Args:
        spark: the session.
        plan: the plan.
        rows: the alias of the relation.
        table: the table that the relation shows rows of.
        is_keyed: whether a row replaces the rows of its key. Then rows of other relations may be
            added with UNION ALL, since they do not accumulate.
    """
    tree = tree_of(spark, plan)
    found = cross_row_nodes(tree, _facts(spark, tree, rows, table), is_keyed=is_keyed)
    return min((_described(tree, it, table) for it in found), default=None)


def cross_row_nodes(tree: PlanTree, facts: PlanFacts, *, is_keyed: bool) -> Iterator[CrossRowNode]:
    """Yield each node that is not row-wise over the relation. Pure."""
    reading = _reaching(tree, facts, facts.rows)
    reading_table = _reaching(tree, facts, facts.same_table)
    for node in sorted(reading - set(facts.rows)):
        kind, inputs = tree.kinds[node], tree.inputs[node]
        read = [number in reading for number in inputs]
        for index, number in enumerate(tree.subqueries[node]):
            if number in reading:
                yield CrossRowNode(node, subquery=index)
            elif number in reading_table:
                yield CrossRowNode(node, "subquery of {table}", index)
        if kind in _ROW_WISE or not any(read):
            continue
        elsewhere = [number for number, reads in zip(inputs, read, strict=True) if not reads]
        if any(number in reading_table for number in elsewhere):
            yield CrossRowNode(
                node, f"{'JOIN' if kind == 'Join' else _name(tree, node)} with {{table}}"
            )
        elif kind == "Join":
            problem = _problem_of_join(facts.join_type(node), *read)
            if problem:
                yield CrossRowNode(node, problem)
        elif kind == "Union":
            if elsewhere and not is_keyed:
                yield CrossRowNode(node, "UNION ALL with other rows and no unique_key")
        elif kind in ("Window", "Aggregate"):
            yield CrossRowNode(node)
        elif kind not in _LIMITS or not facts.is_limit_0(node):
            yield CrossRowNode(node, _name(tree, node))


def _name(tree: PlanTree, node: int) -> str:
    kind = tree.kinds[node]
    if kind == "Union":
        return "UNION ALL"
    if kind == "Distinct" and tree.kinds[tree.inputs[node][0]] == "Union":
        return "UNION without ALL"
    return _OPERATORS.get(kind, kind)


def _problem_of_join(type_: str, reads_left: bool, reads_right: bool) -> str:
    """Return why a join is not row-wise over the relation; empty if it is.

    A join that keeps rows of another relation without a match decides by all rows of ours.
    """
    if reads_left and reads_right:
        return "JOIN with itself"
    if reads_left and type_ in _KEEPS_UNMATCHED_RIGHT:
        return f"{type_} JOIN"
    if reads_right and type_ not in _ROW_WISE_ON_RIGHT:
        return f"{type_} JOIN on the right side"
    return ""


def _reaching(tree: PlanTree, facts: PlanFacts, found: Iterable[int]) -> set[int]:
    """Return the nodes above some nodes, and these nodes."""
    above: dict[int, list[int]] = {}
    for node, below in enumerate(zip(tree.inputs, tree.subqueries, strict=True)):
        for number in (*below[0], *below[1]):
            above.setdefault(number, []).append(node)
    for reference, definition in facts.definitions.items():
        above.setdefault(definition, []).append(reference)
    reached, pending = set(found), list(found)
    while pending:
        for node in above.get(pending.pop(), ()):
            if node not in reached:
                reached.add(node)
                pending.append(node)
    return reached


def _facts(spark: SparkSession, tree: PlanTree, rows: str, table: TableName) -> PlanFacts:
    aliases = _aliases(spark, tree)
    return PlanFacts(
        [node for node, name in aliases.items() if name == rows],
        [
            node
            for node, name in aliases.items()
            if name.lower() == table.table and _is_in(tree.node(node), table.database)
        ],
        _definitions(tree),
        lambda node: str(tree.node(node).joinType().sql()),
        lambda node: _is_0(tree.node(node)),
    )


def _aliases(spark: SparkSession, tree: PlanTree) -> dict[int, str]:
    """Return the name of each relation in a plan, by its node."""
    bulk, numbers = bulk_of(spark), tree.of_kind("SubqueryAlias")
    assert tree.nodes is not None
    nodes = bulk.some(tree.nodes.toArray(), numbers)
    owner = "org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias"
    names = bulk.strings(bulk.method(owner, "alias", "String"))(nodes)
    return dict(zip(numbers, names, strict=True))


def _is_in(alias: LogicalPlan, database: str) -> bool:
    qualifier = [str(part).lower() for part in each(alias.identifier().qualifier())]
    return qualifier == [SESSION_CATALOG, database]


def _definitions(tree: PlanTree) -> dict[int, int]:
    ids = {int(tree.node(node).id()): node for node in tree.of_kind("CTERelationDef")}
    references = {node: int(tree.node(node).cteId()) for node in tree.of_kind("CTERelationRef")}
    return {node: ids[cte] for node, cte in references.items() if cte in ids}


def _is_0(limit: LogicalPlan) -> bool:
    expression = limit.limitExpr()
    return kind_of(expression) == "Literal" and str(expression.value()) == "0"


def _described(tree: PlanTree, found: CrossRowNode, table: TableName) -> CrossRowOperator:
    """Return the operator of a node, with the place that Spark knows for it."""
    node, name = tree.node(found.node), found.name
    of_expressions, part = _of_expressions(node, tree.kinds[found.node], found.subquery)
    place = node.origin() if part is None else part.origin()
    line, position = place.line(), place.startPosition()
    return CrossRowOperator(
        int(line.get()) if line.isDefined() else 0,
        int(position.get()) if position.isDefined() else 0,
        (name or of_expressions).format(table=table),
    )


def _of_expressions(
    node: LogicalPlan, kind: str, subquery: int | None
) -> tuple[str, Expression | None]:
    """Return the SQL that the expressions of a node have for it, and the expression at fault."""
    if subquery is not None:
        queries = list(_of_kinds(each(node.expressions()), _SUBQUERIES))
        query = queries[subquery] if subquery < len(queries) else None
        return ("subquery" if query is None else _SUBQUERIES[kind_of(query)]), query
    if kind == "Window":
        window = next(_of_kinds(each(node.windowExpressions()), ["WindowExpression"]), None)
        return "window" if window is None else f"{_called(window.windowFunction())} window", window
    if kind == "Aggregate" and node.groupingExpressions().isEmpty():
        call = next(_of_kinds(each(node.aggregateExpressions()), ["AggregateExpression"]), None)
        return f"{'aggregate' if call is None else _called(call)} without GROUP BY", call
    return "GROUP BY", None


def _called(function: Expression) -> str:
    """Return the call of a function, such as `row_number()`."""
    is_aggregate = kind_of(function) == "AggregateExpression"
    return f"{(function.aggregateFunction() if is_aggregate else function).prettyName()}()"


def _of_kinds(expressions: Iterable[Expression], kinds: Collection[str]) -> Iterator[Expression]:
    """Yield the expressions of some classes among a few expressions and below them."""
    pending = list(expressions)[::-1]
    while pending:
        expression = pending.pop()
        if kind_of(expression) in kinds:
            yield expression
        pending += list(each(expression.children()))[::-1]
