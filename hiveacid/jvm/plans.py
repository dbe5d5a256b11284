"""Spark's logical plans in Python: reading, changing and running them.

A plan is an immutable tree of case classes. A changed plan is another plan, which shares the
unchanged nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from hiveacid.jvm.bulk import bulk_of, parameter_types
from hiveacid.jvm.java_types import Expression, JavaObject, JavaSession, LogicalPlan
from hiveacid.jvm.py4j import each, java, scala_map, scala_seq_of
from hiveacid.spark_versions import version_of

_CATALYST = "org.apache.spark.sql.catalyst"
_LOGICAL_RDD = "org.apache.spark.sql.execution.LogicalRDD$"
_TREE_NODE = f"{_CATALYST}.trees.TreeNode"
_QUERY_PLAN = f"{_CATALYST}.plans.QueryPlan"
Node = TypeVar("Node", bound=JavaObject)
"""Case class: a plan, an expression, or a field of either."""


def dataframe_of(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Return the rows of a logical plan. A command runs at once, as with `spark.sql`.

    Raises:
        PySparkException: the plan cannot be analysed, or the command fails.
    """
    package = "classic." if version_of(spark.version).has_classic_package else ""
    dataset = java(spark.sparkContext, f"org.apache.spark.sql.{package}Dataset")
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def in_session(frame: DataFrame, session: SparkSession) -> DataFrame:
    """Return the same rows as a DataFrame of `session`, for its temporary views.

    pandas-on-Spark uses PySpark's active session, which is the same on all threads.
    """
    if frame.sparkSession._jsparkSession.equals(session._jsparkSession):
        return frame
    return dataframe_of(session, plan_of(frame))


def partitions_of(frame: DataFrame) -> JavaObject:
    """Return the rows of a DataFrame as a Java RDD, planned at once with the present settings."""
    return frame._jdf.queryExecution().toRdd()


def of_partitions(
    spark: SparkSession, frame: DataFrame, partitions: JavaObject, numbers: Iterable[int]
) -> DataFrame:
    """Return the rows in some of the `partitions_of` a DataFrame; the others are never run.

    Spark reads all columns of the DataFrame, whatever a statement needs.
    """
    context = spark.sparkContext
    # A Scala set is a function from a value to whether the set has it.
    is_wanted = scala_seq_of(context, numbers).toSet()
    pruned = java(context, "org.apache.spark.rdd.PartitionPruningRDD").create(partitions, is_wanted)
    arguments = [pruned, frame._jdf, False]
    if len(parameter_types(context, _LOGICAL_RDD, "fromDataset")) > len(arguments):
        arguments.append(False)  # In Spark 4.3: whether the rows come from a checkpoint.
    relation = getattr(java(context, _LOGICAL_RDD), "MODULE$")
    return dataframe_of(spark, relation.fromDataset(*arguments))


def plan_of(frame: DataFrame) -> LogicalPlan:
    """Return the analyzed logical plan of a DataFrame."""
    return frame._jdf.queryExecution().analyzed()


def execution_of(context: SparkContext, session: JavaSession, plan: LogicalPlan) -> JavaObject:
    """Return Spark's `QueryExecution` of a plan in a Java session. Runs no command."""
    modes = java(context, "org.apache.spark.sql.execution.CommandExecutionMode")
    return session.sessionState().executePlan(plan, modes.SKIP())


def leaves(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield the leaves of a plan and of the subqueries in its expressions.

    Equal leaves in one query are yielded once: each leaf costs calls to the JVM.
    """
    for root in (plan, *each(plan.subqueriesAll())):
        yield from each(root.collectLeaves().distinct())


@dataclass(frozen=True)
class PlanTree:
    """Shape of a plan and of the subqueries in its expressions. Nodes are numbered; the root is 0.

    Attributes:
        kinds: the name of each node's class, such as `Project`.
        inputs: the children of each node.
        subqueries: the roots of the subqueries in the expressions of each node.
        nodes: a `java.util.List` of the nodes.
    """

    kinds: Sequence[str]
    inputs: Sequence[tuple[int, ...]]
    subqueries: Sequence[tuple[int, ...]]
    nodes: JavaObject | None = field(default=None, compare=False, repr=False)

    def node(self, number: int) -> LogicalPlan:
        """Return a node by its number."""
        assert self.nodes is not None
        return LogicalPlan(self.nodes.get(number))

    def of_kind(self, kind: str) -> list[int]:
        """Return the numbers of the nodes of a class."""
        return [number for number, other in enumerate(self.kinds) if other == kind]


def tree_of(spark: SparkSession, plan: LogicalPlan) -> PlanTree:
    """Return the shape of a plan. Costs a few calls to the JVM for each level of subqueries."""
    bulk = bulk_of(spark)
    nodes = java(spark.sparkContext, "java.util.ArrayList")()
    add = bulk.method("java.util.ArrayList", "add", "boolean", ["Object"])
    # `foreach` visits a node before its children.
    collect = bulk.implement("scala.Function1", add.bindTo(nodes))
    size = bulk.method("scala.collection.Seq", "size", "int")
    class_of = bulk.method("Object", "getClass", "Class")
    kinds_of = bulk.strings(bulk.then(class_of, bulk.method("Class", "getSimpleName", "String")))
    count_inputs = bulk.integers(bulk.then(bulk.property_of(_TREE_NODE, "children"), size))
    count_subqueries = bulk.integers(bulk.then(bulk.property_of(_QUERY_PLAN, "subqueries"), size))
    kinds: list[str] = []
    inputs: list[tuple[int, ...]] = []
    subqueries: list[tuple[int, ...]] = []
    plan.foreach(collect)
    while len(kinds) < nodes.size():
        first = len(kinds)
        added = nodes.subList(first, nodes.size()).toArray()
        kinds += kinds_of(added)
        inputs += _inputs(first, count_inputs(added))
        for index, count in enumerate(count_subqueries(added)):
            roots = []
            for root in each(added[index].subqueries()) if count else ():
                roots.append(nodes.size())
                root.foreach(collect)
            subqueries.append(tuple(roots))
    return PlanTree(kinds, inputs, subqueries, nodes)


def _inputs(first: int, counts: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the children of nodes that follow each other as `foreach` visits them.

    `first` is the number of the first node; `counts` are the numbers of children.
    """
    found: list[tuple[int, ...]] = []
    without_parent: list[int] = []
    for index in reversed(range(len(counts))):
        found.append(tuple(without_parent.pop() for _ in range(counts[index])))
        without_parent.append(first + index)
    return found[::-1]


def replaced(
    context: SparkContext,
    plan: LogicalPlan,
    pairs: Iterable[tuple[LogicalPlan, LogicalPlan]],
) -> LogicalPlan:
    """Return a plan with the first node of each pair replaced by the second one.

    Nodes are compared by value. Subqueries in expressions are searched, too; replacements are not.
    """
    return plan.transformUpWithSubqueries(partial_function(context, pairs))


def replaced_in_expressions(
    context: SparkContext,
    plan: LogicalPlan,
    pairs: Iterable[tuple[Expression, Expression]],
) -> LogicalPlan:
    """Return a plan with the first expression of each pair replaced by the second one.

    Subqueries in expressions are searched, too.
    """
    return plan.transformAllExpressionsWithSubqueries(partial_function(context, pairs))


def partial_function(
    context: SparkContext, pairs: Iterable[tuple[JavaObject, JavaObject]]
) -> JavaObject:
    """Return a Scala partial function from pairs, as Spark's tree transformations take it."""
    # A Scala map is a partial function.
    return scala_map(context, pairs)


def with_child(context: SparkContext, node: Node, child: JavaObject) -> Node:
    """Return a node of one child with another child."""
    return node.withNewChildren(scala_seq_of(context, [child]))


def with_fields(context: SparkContext, node: Node, **fields: object) -> Node:
    """Return a copy of a case class's object with other values of some fields."""
    assert context._gateway is not None
    names = _field_names(context, node)
    values = context._gateway.new_array(java(context, "java.lang.Object"), len(names))
    for index, name in enumerate(names):
        values[index] = fields.pop(name) if name in fields else node.productElement(index)
    assert not fields, f"{node.getClass().getName()} has no {', '.join(fields)}"
    constructors = node.getClass().getConstructors()
    (constructor,) = [it for it in constructors if it.getParameterCount() == len(names)]
    return constructor.newInstance(values)


def kind_of(node: JavaObject) -> str:
    """Return the name of a node's class, such as `Cast`."""
    return str(node.getClass().getSimpleName())


def named(
    context: SparkContext, plan: LogicalPlan, name: str, qualifier: Iterable[str]
) -> LogicalPlan:
    """Return a plan whose columns have a table's name: `name.x`, `qualifier.name.x`."""
    parts = scala_seq_of(context, qualifier)
    alias = java(context, f"{_CATALYST}.AliasIdentifier")(name, parts)
    return java(context, f"{_CATALYST}.plans.logical.SubqueryAlias")(alias, plan)


def _field_names(context: SparkContext, node: JavaObject) -> list[str]:
    """Return the names of a case class's fields, in their order."""
    reflection = getattr(java(context, f"{_CATALYST}.ScalaReflection$"), "MODULE$")
    return [str(name) for name in each(reflection.getConstructorParameterNames(node.getClass()))]
