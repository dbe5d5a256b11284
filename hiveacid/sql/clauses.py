"""Clauses after the name of a transactional table: options in `with (…)`, and time travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from hiveacid.errors import InvalidSettingError
from hiveacid.formatting import text_literal
from hiveacid.jvm.errors import short_message
from hiveacid.jvm.java_types import Expression
from hiveacid.jvm.plans import dataframe_of, partial_function
from hiveacid.jvm.py4j import java
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice
from hiveacid.snapshots.read_options import AsOf, ReadKind
from hiveacid.spark_versions import SparkVersion, version_of
from hiveacid.sql.statement import READ_FUNCTION, Relation, check_syntax

_LINE = version_of(pyspark.__version__)

OPTIONS = ("partitions", "read", "static")
"""Options that `with (…)` takes."""

_CATALYST = "org.apache.spark.sql.catalyst"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PLACE = "hiveacid_instant"


@dataclass(frozen=True)
class ReadClauses:
    """How a statement reads one of its transactional tables.

    Attributes:
        partitions: the partitions that it reads.
        static: whether the table hardly changes, so that a model over changes of another table may
            read it.
        as_of: the earlier instant that it reads; None for the snapshot's own.
        read: the kind of the read.
    """

    partitions: PartitionChoice = PartitionChoice()
    static: bool = False
    as_of: AsOf | None = None
    read: ReadKind = ReadKind.SNAPSHOT

    @classmethod
    def of(cls, spark: SparkSession, table: TableName, relation: Relation) -> ReadClauses:
        """Parse the clauses of a relation.

        Raises:
            InvalidSettingError: naming the table and every problem.
        """
        found, problems = cls(), []
        for key, text in sorted(relation.options.items()):
            try:
                found = found._with_option(key, text)
            except (ValueError, InvalidSettingError) as error:
                problems.append(_reason(error))
        try:
            found = replace(found, as_of=_instant(spark, relation))
        except (ValueError, InvalidSettingError) as error:
            problems.append(_reason(error))
        if relation.is_stream:
            problems.append("it cannot be read as a stream")
        if problems:
            raise InvalidSettingError(
                f"The statement cannot read {table} so: {'; '.join(problems)}. Options of `with "
                f"(…)` are: {', '.join(OPTIONS)}.",
                code="HIVEACID_INVALID_READ_OPTIONS",
            )
        return found

    @classmethod
    def of_options(cls, options: Mapping[str, str]) -> ReadClauses:
        """Parse the options of a `with (…)` clause, as `options` returns them.

        Raises:
            ValueError, InvalidSettingError: an option is unknown or wrong.
        """
        found = cls()
        for key, text in options.items():
            found = found._with_option(key, text)
        return found

    def _with_option(self, key: str, text: str) -> ReadClauses:
        if key == "partitions":
            try:
                return replace(self, partitions=PartitionChoice.from_json(text))
            except ValueError as error:
                raise ValueError(
                    f"partitions must be a JSON object of values, but {error}"
                ) from error
        if key == "read":
            return replace(self, read=ReadKind.parse(text))
        if key == "static" and text.lower() in ("true", "false"):
            return replace(self, static=text.lower() == "true")
        if key == "static":
            raise ValueError(f"static must be true or false, not {text!r}")
        raise ValueError(f"unknown option {key!r}")

    def options(self) -> dict[str, str]:
        """Return the options of an equivalent `with (…)` clause; defaults are left out.

        `as_of` is not an option: SQL has its own clause for time travel.
        """
        options = {}
        if self.partitions:
            options["partitions"] = self.partitions.to_json()
        if self.read is not ReadKind.SNAPSHOT:
            options["read"] = self.read.value
        if self.static:
            options["static"] = "true"
        return options


def refuse_ignored(relation: Relation, kind: str) -> None:
    """Refuse options for a transactional table on a relation where Spark ignores them.

    Raises:
        InvalidSettingError: naming the relation, its `kind`, and the options.
    """
    ours = [key for key in OPTIONS if key in relation.options]
    if ours:
        raise InvalidSettingError(
            f"{'.'.join(relation.parts)} is {kind}, so Spark ignores the option "
            f"{', '.join(ours)} in its `with (…)`. Write the option behind the name of the "
            "transactional table itself.",
            code="HIVEACID_OPTION_IGNORED",
        )


def render_read(name: str, options: Mapping[str, str], line: SparkVersion = _LINE) -> str:
    """Return SQL that reads a table with options on a line of Spark; without options, its name."""
    if not options:
        return name
    given = [(key, text_literal(text)) for key, text in sorted(options.items())]
    if line.has_options_clause:
        return f"{name} with ({', '.join(f'{key} = {text}' for key, text in given)})"
    shown = [text_literal(name), *(f"{key} => {text}" for key, text in given)]
    return f"{READ_FUNCTION}({', '.join(shown)})"


def _reason(error: ValueError | InvalidSettingError) -> str:
    """Return what is wrong, as a part of a longer message."""
    text = error.message if isinstance(error, InvalidSettingError) else str(error)
    return text.rstrip(".")


def _instant(spark: SparkSession, relation: Relation) -> AsOf | None:
    """Return the instant of a relation's time travel clause; None without one."""
    if relation.version is not None:
        try:
            return AsOf(version=int(relation.version))
        except ValueError as error:
            raise ValueError(
                f"a version is a write id, a whole number, not {relation.version!r}"
            ) from error
    if relation.timestamp is None:
        return None
    try:
        # An expression, such as `current_timestamp() - interval 1 day`.
        microseconds = _microseconds(spark, relation.node.timestamp().get())
    except PySparkException as error:
        message = short_message(error)
        raise ValueError(f"{relation.timestamp} is no timestamp: {message}") from error
    try:
        moment = _EPOCH + timedelta(microseconds=microseconds)  # type: ignore[arg-type]
    except (TypeError, OverflowError) as error:
        raise ValueError(f"{relation.timestamp} is no timestamp") from error
    return AsOf(timestamp=moment.isoformat(" "))


def _microseconds(spark: SparkSession, expression: Expression) -> int | None:
    """Evaluate a Spark expression as a timestamp, in microseconds since the epoch.

    The query contains the expression itself, not its text: the text of a parsed literal has lost
    the literal's time zone, and names two times in the hour that the end of daylight saving time
    repeats.

    Raises:
        ValueError: the expression has a subquery, which would read its tables without the snapshot.
        PySparkException: Spark cannot evaluate the expression.
    """
    context = spark.sparkContext
    if java(context, f"{_CATALYST}.expressions.SubqueryExpression").hasSubquery(expression):
        raise ValueError("the time of `timestamp as of` cannot be a query")
    query = check_syntax(spark, f"select unix_micros(cast({_PLACE} as timestamp_ltz))")
    place = java(context, f"{_CATALYST}.analysis.UnresolvedAttribute").quoted(_PLACE)
    plan = query.transformExpressions(partial_function(context, [(place, expression)]))
    (row,) = dataframe_of(spark, plan).collect()
    found: int | None = row[0]
    return found
