"""Selects of many columns: what they show, and that their calls to the JVM do not grow."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hiveacid.formatting import quoted
from hiveacid.reader.projection import named, project
from tests.functional.jvm_calls import count


def test_texts_and_columns_in_the_order_given(spark: SparkSession) -> None:
    frame = spark.range(2).select("id", F.struct(F.col("id").alias("a.b `c`")).alias("row"))
    odd = "a.b `c`"
    shown = project(
        frame,
        [
            (odd, f"row.{quoted(odd)}"),
            ("id", F.col("id") + 10),
            ("row", "id"),
            ("Größe", F.lit("x")),
            ("select", "cast(7 AS bigint)"),
        ],
    )
    assert shown.columns == [odd, "id", "row", "Größe", "select"]
    assert sorted(map(tuple, shown.collect())) == [(0, 10, 0, "x", 7), (1, 11, 1, "x", 7)]


@pytest.mark.parametrize("name", ["x", "select", "a b", "a.b", ".*", "größe", "b`c"])
def test_names_are_no_patterns(spark: SparkSession, name: str) -> None:
    """With this setting, for users of Hive, Spark takes quoted names for regular expressions."""
    session = spark.newSession()
    session.conf.set("spark.sql.parser.quotedRegexColumnNames", "true")
    fields = [F.col("id").alias(name), F.lit(7).alias("ab")]
    frame = session.range(1).select(*fields, F.struct(*fields).alias("row"))
    shown = project(frame, [(name, named(name)), ("field", named("row", name))])
    assert shown.columns == [name, "field"]
    assert list(map(tuple, shown.collect())) == [(0, 0)]


def test_names_that_repeat_stay_apart(spark: SparkSession) -> None:
    shown = project(spark.range(1), [("n", "id"), ("n", F.col("id") + 1)])
    assert list(map(tuple, shown.collect())) == [(0, 1)]


def test_calls_do_not_grow_with_the_columns(spark: SparkSession) -> None:
    frame = spark.range(1)
    few = [(f"c{i}", "id") for i in range(3)]
    many = [(f"c{i}", "id") for i in range(300)]
    project(frame, few)
    assert count(lambda: project(frame, many)) == count(lambda: project(frame, few)) <= 20


def test_spark_sees_one_projection(spark: SparkSession) -> None:
    frame = project(spark.range(1), [("a", "id"), ("b", F.col("id") * 2)])
    plan = frame._jdf.queryExecution().optimizedPlan().toString()
    assert plan.count("Project") == 1
