"""Pushdown of a statement's filters to ORC's reader of ACID files.

ORC skips row groups in which no row can match the filters. Spark pushes a filter on a user's column
down as `row.x`, but ORC resolves the columns of a search argument inside `row`, and finds no column
of this name. So while a statement runs, its filters reach ORC under the names inside `row`. An
option of each scan refers to a setting of the session by name (Hadoop's `Configuration` resolves
`${…}` at each access). The setting holds a search argument that every row matches, except while
such a statement runs.

A search argument only saves reading: Spark applies the filter itself to all rows that ORC returns.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from hiveacid.jvm.bulk import parameter_types
from hiveacid.jvm.java_types import Expression, JavaObject, LogicalPlan
from hiveacid.jvm.plans import execution_of
from hiveacid.jvm.py4j import active, each, java, scala_seq

_SETTING = "spark.hiveacid.search_argument"
_SCAN = "hiveacid.scan"
_SPARKS_OWN = "spark.sql.orc.filterPushdown"
_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_SOURCES = "org.apache.spark.sql.sources"
_SARG = "org.apache.hadoop.hive.ql.io.sarg"
_numbers = itertools.count(1)
_COMPARISONS = frozenset(
    {"EqualTo", "GreaterThan", "GreaterThanOrEqual", "LessThan", "LessThanOrEqual"}
)
_ORDERED = re.compile("boolean|byte|short|integer|long|decimal.*|date|string")
"""Types whose statistics are in the order of Spark's comparisons. Timestamps are excluded: their
statistics depend on time zones. So are float and double: ORC sorts -0.0 below 0.0, and compares the
float 1.1 as the double 1.1, so that it skipped rows that Spark finds (seen). For some values of
these types ORC's order differs, too: `_is_in_order`."""

_FIRST_SURROGATE = "\ud800"
_FIRST_GREGORIAN_DAY = "1582-10-15"
_SIMPLE_NAME = re.compile("[A-Za-z_][A-Za-z_0-9]*")
"""Column names that ORC reads literally: it reads a number as a column's position, and dots and
backticks as syntax."""

_DAY_BY_NAME = re.compile(r"""['"]\s*(now|today|tomorrow|yesterday)\b""", re.IGNORECASE)
_everywhere: ContextVar[bool] = ContextVar("everywhere", default=False)


@contextmanager
def for_every_session() -> Iterator[None]:
    """Make the scans that are created in the block usable in other sessions."""
    token = _everywhere.set(True)
    try:
        yield
    finally:
        _everywhere.reset(token)


def scan_options(spark: SparkSession) -> dict[str, str]:
    """Return the options of a new scan of ACID files by which `pushed_down` reaches the scan."""
    number = str(next(_numbers))
    by_all = _matched_by_all(spark.sparkContext)
    spark.conf.set(f"{_SETTING}.{number}", by_all)
    if _everywhere.get():
        # A session that does not set the setting reads it from Hadoop's configuration.
        spark.sparkContext._jsc.hadoopConfiguration().set(f"{_SETTING}.{number}", by_all)
    return {
        _SCAN: number,
        "orc.kryo.sarg": f"${{{_SETTING}.{number}}}",
        "orc.sarg.column.names": "row",
    }


def search_arguments_of_command(
    spark: SparkSession, sql: str, plan: LogicalPlan | None = None
) -> Mapping[str, str]:
    """Return the `search_arguments` of a command, without running it; empty for a query.

    `plan`, if given, is the plan that runs instead of the text.

    The result is empty, too, for a command that uses the current time: Spark plans the command
    again to run it, and midnight may lie between.

    Raises:
        PySparkException: the statement cannot be parsed or analysed.
    """
    if plan is None:
        with active(spark):
            plan = spark._jsparkSession.sessionState().sqlParser().parsePlan(sql)
    execution = execution_of(spark.sparkContext, spark._jsparkSession, plan)
    if not _is_a(spark, execution.analyzed(), "Command") or _reads_clock(spark, sql, execution):
        return {}
    return search_arguments(spark, execution)


def search_arguments(spark: SparkSession, execution: JavaObject) -> Mapping[str, str]:
    """Return the serialised search argument of each scan that is read once, under a filter.

    The result is empty if the statement fills a cache: the cache must not depend on the filters of
    the first statement that uses it. It is empty, too, if the statement also filters other ORC
    files: they would lose Spark's own pushdown.

    Args:
        spark: the session of the statement.
        execution: Spark's `QueryExecution` of the statement.
    """
    with active(spark):
        return _Filters(spark).of(execution)


@contextmanager
def pushed_down(spark: SparkSession, arguments: Mapping[str, str]) -> Iterator[None]:
    """Set a statement's search arguments for the scans while the block runs the statement."""
    if not arguments:
        yield
        return
    # Otherwise Spark replaces our search argument by its own, which ORC cannot use.
    own = spark.conf.get(_SPARKS_OWN)
    spark.conf.set(_SPARKS_OWN, "false")
    try:
        for number, argument in arguments.items():
            spark.conf.set(f"{_SETTING}.{number}", argument)
        yield
    finally:
        spark.conf.set(_SPARKS_OWN, str(own))
        for number in arguments:
            spark.conf.set(f"{_SETTING}.{number}", _matched_by_all(spark.sparkContext))


def _reads_clock(spark: SparkSession, sql: str, execution: JavaObject) -> bool:
    """Return whether a plan has `current_date` or the like, or may have had `date 'today'`.

    The parser replaces `date 'today'` by the day.
    """
    if _DAY_BY_NAME.search(sql):
        return True
    current = java(spark.sparkContext, "org.apache.spark.sql.catalyst.trees.TreePattern")
    analyzed = execution.analyzed()
    plans = [analyzed, *_held_queries(spark, analyzed)]
    return any(plan.containsPattern(current.CURRENT_LIKE()) for plan in plans)


def _held_queries(spark: SparkSession, plan: LogicalPlan) -> list[LogicalPlan]:
    """Return the queries in a command such as CREATE TABLE AS: they are not its children."""
    return [i for i in each(plan.innerChildren()) if _is_a(spark, i, "LogicalPlan")]


class _Filters:
    """Filters directly above the scans of a statement, after Spark's optimizer."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        #: For each of our scans, by its number: the search argument of each of its reads.
        self._found: dict[str, list[str | None]] = {}
        self._is_ours_alone = True

    def of(self, execution: JavaObject) -> Mapping[str, str]:
        """Return the search arguments of the scans (see `search_arguments`)."""
        for plan in self._optimized(execution):
            for root in (plan, *each(plan.subqueriesAll())):
                self._walk(root, None)
        if not self._is_ours_alone:
            return {}
        return {
            number: arguments[0]
            for number, arguments in self._found.items()
            if len(arguments) == 1 and arguments[0] is not None
        }

    def _optimized(self, execution: JavaObject) -> list[LogicalPlan]:
        plan = execution.optimizedPlan()
        if plan.children().nonEmpty():
            return [plan]
        # The optimizer does not optimize a command's queries together with the command.
        queries = _held_queries(self._spark, plan)
        context, session = self._spark.sparkContext, self._spark._jsparkSession
        return [plan, *(execution_of(context, session, it).optimizedPlan() for it in queries)]

    def _walk(self, plan: LogicalPlan, condition: Expression | None) -> None:
        kind = plan.nodeName()
        if kind == "LogicalRelation":
            self._scan(plan, condition)
        elif kind == "InMemoryRelation":
            self._is_ours_alone = False
        below = plan.condition() if kind == "Filter" else None
        for child in each(plan.children()):
            self._walk(child, below)

    def _scan(self, plan: LogicalPlan, condition: Expression | None) -> None:
        relation = plan.relation()
        if relation.getClass().getSimpleName() != "HadoopFsRelation":
            return
        number = relation.options().get(_SCAN)
        if number.isDefined():
            argument = None if condition is None else self._search_argument(plan, condition)
            self._found.setdefault(number.get(), []).append(argument)
        elif condition is not None and "Orc" in relation.fileFormat().getClass().getSimpleName():
            self._is_ours_alone = False

    def _search_argument(self, plan: LogicalPlan, condition: Expression) -> str | None:
        strategy = getattr(self._java(f"{_DATASOURCES}.DataSourceStrategy$"), "MODULE$")
        row = plan.schema().apply("row").dataType()
        filters = self._java("java.util.ArrayList")()
        for conjunct in _conjuncts(condition):
            translated = strategy.translateFilter(conjunct, True)
            renamed = self._renamed(translated.get(), row) if translated.isDefined() else None
            if renamed is not None:
                filters.add(renamed)
        if not filters:
            return None
        argument = _create_filter(self._spark.sparkContext, row, filters)
        if not argument.isDefined():
            return None
        return _serialized(self._spark.sparkContext, argument.get())

    def _renamed(self, filter: JavaObject, row: JavaObject) -> JavaObject | None:
        """Return the filter with names inside `row`, or a weaker filter; None without either."""
        kind = filter.getClass().getSimpleName()
        if kind in ("And", "Or"):
            left = self._renamed(filter.left(), row)
            right = self._renamed(filter.right(), row)
            if left is not None and right is not None:
                return self._java(f"{_SOURCES}.{kind}")(left, right)
            return (left or right) if kind == "And" else None
        if kind not in _COMPARISONS and kind != "In":
            return None
        inside, _, name = filter.attribute().partition(".")
        if inside != "row" or not _SIMPLE_NAME.fullmatch(name):
            return None
        index = row.getFieldIndex(name)
        if not index.isDefined():  # the name as the statement has it, in another case
            return None
        type_ = row.fields()[index.get()].dataType().typeName()
        if not _ORDERED.fullmatch(type_):
            return None
        value = filter.values() if kind == "In" else filter.value()
        if type_ in ("string", "date") and not _is_in_order(type_, self._texts(kind, value)):
            return None
        return self._java(f"{_SOURCES}.{kind}")(name, value)

    def _texts(self, kind: str, value: object) -> list[str]:
        if kind != "In":
            return [str(value)]
        return str(self._java("java.util.Arrays").toString(value)).strip("[]").split(", ")

    def _java(self, name: str) -> Any:
        return java(self._spark.sparkContext, name)


def _create_filter(context: SparkContext, row: JavaObject, filters: JavaObject) -> JavaObject:
    """Return ORC's search argument for filters on the columns of `row`, as a Scala option."""
    orc_filters = f"{_DATASOURCES}.orc.OrcFilters"
    arguments = [row, scala_seq(context, filters)]
    if len(parameter_types(context, orc_filters, "createFilter")) > len(arguments):
        # Spark 4.3 takes another schema, for columns of the type VARIANT.
        arguments.append(java(context, "scala.Option").empty())
    return java(context, orc_filters).createFilter(*arguments)


def _is_in_order(type_: str, values: Iterable[str]) -> bool:
    """Return whether ORC compares texts or dates with the values in its files as Spark does.

    The statistics of texts are in the order of UTF-8, but ORC compares literals with them in the
    order of UTF-16, which differs from the surrogates on. Bloom filters have the days of dates in
    the writer's calendar, but are queried with the days of Spark's calendar, which differ before
    the Gregorian calendar. Spark changes the days that the reform left out to the first day after
    them.
    """
    if type_ == "string":
        return all(character < _FIRST_SURROGATE for value in values for character in value)
    return all(value > _FIRST_GREGORIAN_DAY for value in values)


def _is_a(spark: SparkSession, plan: LogicalPlan, kind: str) -> bool:
    """Return whether a plan is of a class of `org.apache.spark.sql.catalyst.plans.logical`."""
    name = f"org.apache.spark.sql.catalyst.plans.logical.{kind}"
    return bool(java(spark.sparkContext, "py4j.reflection.TypeUtil").isInstanceOf(name, plan))


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if condition.nodeName() == "And":
        for child in each(condition.children()):
            yield from _conjuncts(child)
    else:
        yield condition


@functools.cache
def _matched_by_all(context: SparkContext) -> str:
    """Return the search argument that every row matches.

    Cached, since each statement creates views, and each view has scans.
    """
    every = java(context, f"{_SARG}.SearchArgument$TruthValue").YES_NO_NULL
    builder = java(context, f"{_SARG}.SearchArgumentFactory").newBuilder()
    return _serialized(context, builder.startAnd().literal(every).end().build())


def _serialized(context: SparkContext, argument: JavaObject) -> str:
    assert context._gateway is not None
    configuration = java(context, "org.apache.hadoop.conf.Configuration")(False)
    names = context._gateway.new_array(java(context, "java.lang.String"), 0)
    orc = java(context, "org.apache.orc.mapred.OrcInputFormat")
    orc.setSearchArgument(configuration, argument, names)
    return str(configuration.get("orc.kryo.sarg"))
