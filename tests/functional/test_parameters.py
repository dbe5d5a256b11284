"""Values of parameters in statements: also where Delta's parser hides them from Spark."""

from __future__ import annotations

import datetime as dt
import math
import re
from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from hiveacid.sql.parameters import parse_with
from hiveacid.sql.swap import SwappedStatement

VALUES: dict[str, Any] = {
    "day": dt.date(2026, 3, 1),
    "old": dt.date(1500, 3, 1),
    "at": dt.datetime(2026, 3, 1, 12, 0, 0, 123456),
    "took": dt.timedelta(days=1, seconds=5, microseconds=7),
    "exact": Decimal("12.3400"),
    "nothing": None,
    "text": 'it\'s a \\ "quoted" `:id` ? ünï 🎈\n',
    "small": 3,
    "large": 2**40,
    "float": 1.5,
    "infinite": math.inf,
    "yes": True,
    "bytes": b"\x00\xff",
    "numbers": [1, 2, 3],
    "days": [dt.date(2026, 1, 1), dt.date(2026, 1, 2)],
    # Columns are made when there is a Spark.
    "pair": lambda: F.struct(F.lit(1).alias("x"), F.lit("y").alias("y")),
    "map": lambda: F.create_map(F.lit("k"), F.lit(1)),
}
#: Statements with parameters, values for them, and the same statements with the values in them.
QUERIES: dict[str, tuple[str, Any, str]] = {
    "with": (
        "with few as (select id from range(10) where id > :low), "
        "fewer as (select id from few where id in (select id from few where id < :high)) "
        "select id, (select max(id) from fewer) + :low as m from fewer order by id limit :most",
        {"low": 2, "high": 8, "most": 3},
        "select id, 9L as m from range(3, 6)",
    ),
    "by position": (
        "select ? as a, '?' as `b?`, ? as c /* ? */ from range(3) where id = ? -- ?",
        ["x", 2.5, 1],
        "select 'x' as a, '?' as `b?`, 2.5d as c",
    ),
    "inline": (
        "select * from values (:a, 1), (:b, 2) as v(x, y) where x = :b",
        {"a": 1, "b": 2},
        "select 2 as x, 2 as y",
    ),
    "nothing": (
        "select id from range(2) where :n is null",
        {"n": None},
        "select id from range(2)",
    ),
    "explain": (
        "explain select 1 as a from range(2) where :yes and :a = 1",
        {"a": 1, "yes": True},
        "explain select 1 as a from range(2)",
    ),
}


def made(values: Any) -> Any:
    if isinstance(values, list):
        return values
    return {name: value() if callable(value) else value for name, value in values.items()}


def run(session: SparkSession, text: str, values: Any) -> DataFrame:
    statement = parse_with(session, text, made(values))
    assert statement.is_rewritten
    return SwappedStatement(statement, statement.plan).run(session)


def shown(frame: DataFrame) -> list[str]:
    """The rows; plans without the numbers of their columns."""
    return [re.sub(r"#\d+|splits=\d+", "", str(row)) for row in frame.collect()]


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_the_values_in_the_text(spark: SparkSession, query: str) -> None:
    text, values, literal = QUERIES[query]
    ours, expected = run(spark, text, values), spark.sql(literal)
    assert ours.schema.simpleString() == expected.schema.simpleString()
    assert shown(ours) == shown(expected) != []


def test_a_value_has_its_type(spark: SparkSession) -> None:
    values = made(VALUES)
    text = ", ".join(f":{name} as `{name}`" for name in values)
    ours = run(spark, f"select {text} from range(3) where id = :id", {**values, "id": 1})
    expected = spark.range(1).select(*(F.lit(it).alias(name) for name, it in values.items()))
    assert ours.schema.simpleString() == expected.schema.simpleString()
    assert ours.collect() == expected.collect()


def test_the_values_that_a_statement_was_given_for_its_tables(spark: SparkSession) -> None:
    text = "select * from table_changes('shop.orders', :since)"
    (function,) = parse_with(spark, text, {"since": 17}).functions
    assert function.arguments == ("shop.orders", "17")


def test_variables_of_the_session_are_put_in_first(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.dbt.x", "it is")
    text = "select '${spark.dbt.x}' as a, :b as b"
    for value in (1, "${spark.dbt.x} ${env:HOME} ${nothing}"):
        assert run(session, text, {"b": value}).collect() == [Row(a="it is", b=value)]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("select :a, :b", {"a": 1}),
        ("select ?, ?", [1]),
        ("select :a", {"a": F.rand}),
        ("select :a", {"a": lambda: F.col("id")}),
        ("selec :a", {"a": 1}),
        ("select :a from nowhere.to_be_found", {"a": 1}),
    ],
)
def test_mistakes_are_told_by_spark(spark: SparkSession, text: str, values: Any) -> None:
    with pytest.raises(PySparkException):
        run(spark, text, values)


def test_without_values_a_statement_stays_as_it_is(spark: SparkSession) -> None:
    for values in (None, {}, []):
        assert not parse_with(spark, "select 1", values).is_rewritten
