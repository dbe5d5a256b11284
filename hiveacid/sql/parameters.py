"""Parameters of a statement: values for `:name` and `?` in its text.

Spark binds the values on the way to its analyzer, which is too late here: the tables of a statement
must be known earlier. So the values are bound here, by Spark's own classes: since Spark 4.1 in the
text, before 4.1 in the plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hiveacid.jvm.bulk import parameter_types
from hiveacid.jvm.java_types import Expression, LogicalPlan
from hiveacid.jvm.plans import plan_of
from hiveacid.jvm.py4j import active, each, java, scala_map, scala_seq_of
from hiveacid.spark_versions import version_of
from hiveacid.sql.statement import Statement, check_syntax, of_completed_plan, parse

Parameters = Mapping[str, Any] | Sequence[Any]
"""Values by parameter name, or in the order of the question marks."""

_CATALYST = "org.apache.spark.sql.catalyst"
_BY_POSITION = f"{_CATALYST}.analysis.PosParameterizedQuery"


def parse_with(session: SparkSession, sql: str, values: Parameters | None = None) -> Statement:
    """Parse a statement, with values for its parameters if there are any.

    Raises:
        PySparkException, Py4JJavaError: there are values, and Spark cannot parse the statement, or
            a value is not a constant.
    """
    if not values:
        return parse(session, sql)
    text = with_values(session, sql, values) if version_of(session.version).binds_in_text else None
    # Spark's parser would substitute variables in a value with `${…}`, which must stay as it is.
    if text is not None and _with_variables(session, text) == text:
        statement = of_completed_plan(session, text, check_syntax(session, text))
    else:
        parsed = check_syntax(session, sql)
        statement = of_completed_plan(
            session, sql, parsed, lambda plan: bind(session, plan, values)
        )
    return replace(statement, is_rewritten=True)


def with_values(session: SparkSession, sql: str, values: Parameters) -> str:
    """Bind the parameters in the text of a statement (Spark 4.1 and later).

    Raises:
        PySparkException: Spark cannot parse the statement, or a value is not a constant.
    """
    context = session.sparkContext
    plan = _plan_of_values(session, values)
    with active(session):
        _bound(context, plan, values, plan)  # Spark's own check of the values.
        found = _expressions(plan)
        # As Spark's parser: first `${…}`, then parameters.
        text = _with_variables(session, sql)
        handler = java(context, f"{_CATALYST}.parser.ParameterHandler")
        if isinstance(values, Mapping):
            named = scala_map(context, zip(values, found, strict=True))
            substituted = handler.substituteNamedParameters(text, named)
        else:
            substituted = handler.substitutePositionalParameters(text, scala_seq_of(context, found))
    return str(substituted._1())


def _with_variables(session: SparkSession, text: str) -> str:
    """Substitute the variables `${…}` in a text, as Spark does."""
    variables = java(session.sparkContext, "org.apache.spark.sql.internal.VariableSubstitution")()
    with active(session):
        return str(variables.substitute(text))


def bind(session: SparkSession, plan: LogicalPlan, values: Parameters) -> LogicalPlan:
    """Bind the parameters in a plan (before Spark 4.1).

    Raises:
        PySparkException: a value is not a constant.
    """
    of_values = _plan_of_values(session, values)
    with active(session):
        return _bound(session.sparkContext, plan, values, of_values)


def _plan_of_values(session: SparkSession, values: Parameters) -> LogicalPlan:
    """Return a plan with the values, of any type that `session.sql` takes, as literals."""
    each_value = values.values() if isinstance(values, Mapping) else values
    plan = plan_of(session.range(1).select(*(F.lit(it).alias("value") for it in each_value)))
    return java(session.sparkContext, f"{_CATALYST}.optimizer.ConstantFolding").apply(plan)


def _expressions(plan: LogicalPlan) -> list[Expression]:
    """Return the expressions of the values in a plan of `_plan_of_values`."""
    return [alias.child() for alias in each(plan.projectList())]


def _bound(
    context: SparkContext, plan: LogicalPlan, values: Parameters, of_values: LogicalPlan
) -> LogicalPlan:
    analysis, found = f"{_CATALYST}.analysis", _expressions(of_values)
    if isinstance(values, Mapping):
        node = getattr(java(context, f"{analysis}.NameParameterizedQuery$"), "MODULE$")
        query = node.apply(plan, scala_map(context, zip(values, found, strict=True)))
    else:
        node = getattr(java(context, f"{_BY_POSITION}$"), "MODULE$")
        *_, kind = parameter_types(context, _BY_POSITION, "copy")
        query = node.apply(plan, (_array if kind.endswith("[]") else scala_seq_of)(context, found))
    return java(context, f"{analysis}.BindParameters").apply(query)


def _array(context: SparkContext, expressions: Sequence[Expression]) -> Any:
    assert context._gateway is not None
    kind = java(context, f"{_CATALYST}.expressions.Expression")
    array = context._gateway.new_array(kind, len(expressions))
    for index, expression in enumerate(expressions):
        array[index] = expression
    return array
