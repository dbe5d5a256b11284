"""Logical plans of Spark in Python: looking at them, changing them, running them.

A plan is a tree of case classes that never change. So a changed plan is another plan, which shares
the nodes that stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from hiveacid.jvm.bulk import parameter_types
from hiveacid.jvm.java_types import Expression, JavaObject, JavaSession, LogicalPlan
from hiveacid.jvm.py4j import each, java, scala_map, scala_seq_of
from hiveacid.spark_versions import version_of

_CATALYST = "org.apache.spark.sql.catalyst"
_LOGICAL_RDD = "org.apache.spark.sql.execution.LogicalRDD$"
Node = TypeVar("Node", bound=JavaObject)
"""A case class: a plan, an expression, or what either has in its fields."""


def dataframe_of(spark: SparkSession, plan: LogicalPlan) -> DataFrame:
    """Return the rows of a logical plan. A command runs at once, as with `spark.sql`.

    Raises:
        PySparkException: the plan cannot be analysed, or the command fails.
    """
    package = "classic." if version_of(spark.version).has_classic_package else ""
    dataset = java(spark.sparkContext, f"org.apache.spark.sql.{package}Dataset")
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def partitions_of(frame: DataFrame) -> JavaObject:
    """Return the rows of a frame as an RDD of Java's, planned now, with the settings of now."""
    return frame._jdf.queryExecution().toRdd()


def of_partitions(
    spark: SparkSession, frame: DataFrame, partitions: JavaObject, numbers: Iterable[int]
) -> DataFrame:
    """Return the rows in some of the `partitions_of` a frame; the others are never run.

    Spark reads all columns of the frame, whatever a statement needs.
    """
    context = spark.sparkContext
    # A Scala set is a function that tells whether something is in it.
    is_wanted = scala_seq_of(context, numbers).toSet()
    pruned = java(context, "org.apache.spark.rdd.PartitionPruningRDD").create(partitions, is_wanted)
    arguments = [pruned, frame._jdf, False]
    if len(parameter_types(context, _LOGICAL_RDD, "fromDataset")) > len(arguments):
        arguments.append(False)  # Spark 4.3 asks whether the rows are of a checkpoint.
    relation = getattr(java(context, _LOGICAL_RDD), "MODULE$")
    return dataframe_of(spark, relation.fromDataset(*arguments))


def plan_of(frame: DataFrame) -> LogicalPlan:
    """Return the logical plan of a DataFrame, as Spark's analyzer has left it."""
    return frame._jdf.queryExecution().analyzed()


def execution_of(context: SparkContext, session: JavaSession, plan: LogicalPlan) -> JavaObject:
    """Return Spark's `QueryExecution` of a plan in a session of Java's. Runs no command."""
    modes = java(context, "org.apache.spark.sql.execution.CommandExecutionMode")
    return session.sessionState().executePlan(plan, modes.SKIP())


def leaves(plan: LogicalPlan) -> Iterator[LogicalPlan]:
    """Yield every leaf of a plan and of the queries in its expressions.

    Of equal leaves in one query the first stands for all: each leaf costs calls to the JVM.
    """
    for root in (plan, *each(plan.subqueriesAll())):
        yield from each(root.collectLeaves().distinct())


def replaced(
    context: SparkContext,
    plan: LogicalPlan,
    pairs: Iterable[tuple[LogicalPlan, LogicalPlan]],
) -> LogicalPlan:
    """Return a plan with the second node of each pair wherever it has the first one.

    Nodes are compared by their values. Queries in expressions are looked through, too. What is put
    in is not looked through.
    """
    return plan.transformUpWithSubqueries(partial_function(context, pairs))


def replaced_in_expressions(
    context: SparkContext,
    plan: LogicalPlan,
    pairs: Iterable[tuple[Expression, Expression]],
) -> LogicalPlan:
    """Return a plan with the second expression of each pair wherever it has the first one.

    Queries in expressions are looked through, too.
    """
    return plan.transformAllExpressionsWithSubqueries(partial_function(context, pairs))


def partial_function(
    context: SparkContext, pairs: Iterable[tuple[JavaObject, JavaObject]]
) -> JavaObject:
    """Return what Spark's transformations take: a function of the first of each pair."""
    # A Scala map is a partial function.
    return scala_map(context, pairs)


def with_child(context: SparkContext, node: Node, child: JavaObject) -> Node:
    """Return a node that has one child with another child."""
    return node.withNewChildren(scala_seq_of(context, [child]))


def with_fields(context: SparkContext, node: Node, **fields: object) -> Node:
    """Return a case class's object with other values of some fields."""
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
    """Return what kind of expression a node is: the name of its class, such as `Cast`."""
    return str(node.getClass().getSimpleName())


def named(
    context: SparkContext, plan: LogicalPlan, name: str, qualifier: Iterable[str]
) -> LogicalPlan:
    """Return a plan whose columns go by a table's name: `name.x`, `qualifier.name.x`."""
    parts = scala_seq_of(context, qualifier)
    alias = java(context, f"{_CATALYST}.AliasIdentifier")(name, parts)
    return java(context, f"{_CATALYST}.plans.logical.SubqueryAlias")(alias, plan)


def _field_names(context: SparkContext, node: JavaObject) -> list[str]:
    """Return the names of a case class's fields, in their order."""
    reflection = getattr(java(context, f"{_CATALYST}.ScalaReflection$"), "MODULE$")
    return [str(name) for name in each(reflection.getConstructorParameterNames(node.getClass()))]
