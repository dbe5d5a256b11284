"""Spark's logical plans in Python: reading, changing and running them.

A plan is an immutable tree of case classes. A changed plan is another plan, which shares the
unchanged nodes.
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
