"""New rows go into a target's columns as their types allow, or not at all."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import SparkRuntimeException

from dbt.adapters.hiveacid.incremental import merge_sql
from dbt.adapters.hiveacid.spark.sql import sql_type, type_changes


@pytest.fixture
def stage(spark: Any) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex[:8]}"
    yield name
    spark.sql(f"drop view if exists {name}")


@pytest.mark.parametrize(
    ("given", "stored", "is_allowed", "is_checked"),
    [
        ("int", "bigint", True, False),
        ("int", "string", True, False),
        ("bigint", "int", True, True),
        ("decimal(12,2)", "decimal(10,2)", True, True),
        ("string", "int", False, False),
        ("string", "date", False, False),
        ("boolean", "int", False, False),
        ("array<int>", "array<bigint>", True, False),
        ("array<bigint>", "array<int>", False, False),
        ("int", "array<int>", False, False),
        ("struct<a:int>", "struct<A:bigint>", True, False),
        ("struct<b:int,a:int>", "struct<a:int,b:int>", False, False),
        ("map<int,array<struct<b:int>>>", "map<int,array<struct<a:int>>>", False, False),
        ("array<struct<b:int,a:int>>", "array<struct<a:int,b:int>>", False, False),
    ],
)
def test_what_goes_into_what(
    spark: Any, given: str, stored: str, is_allowed: bool, is_checked: bool
) -> None:
    schemas = [spark.sql(f"select 1 as id, cast(null as {t}) as c").schema for t in (given, stored)]
    (change,) = type_changes(spark, *schemas)
    assert str(change) == f"c ({given}, in the table {stored})"
    assert (change.is_allowed, change.is_checked) == (is_allowed, is_checked)
    assert type_changes(spark, schemas[1], schemas[1]) == []


def test_a_type_in_sql_is_whole_and_quoted(spark: Any) -> None:
    fields = ", ".join(f"'field-{i}', 1" for i in range(30))
    (field,) = spark.sql(
        f"select map('a', array(named_struct('content-type', cast(1 as decimal(5,2)), {fields}, "
        "'a`b', date'2026-01-01'))) as c"
    ).schema.fields
    (cast,) = spark.sql(f"select cast(null as {sql_type(field.dataType)}) as c").schema.fields
    assert cast.dataType.simpleString() == field.dataType.simpleString()


@pytest.mark.parametrize("value", ["3000000000", "null", "7"])
def test_a_value_that_does_not_fit_is_an_error(spark: Any, stage: str, value: str) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.ansi.enabled", "false")
    session.sql(
        f"create temporary view {stage} as "
        f"select cast({value} as bigint) as n, 'insert' as {merge_sql.CHANGE}"
    )
    target = merge_sql.Target("marts.it's", (("n", "int"),), checked=frozenset({"n"}))
    rows = session.sql(merge_sql.staged_inserts(target, stage))
    assert rows.schema.simpleString() == "struct<n:int>"
    if value == "3000000000":
        with pytest.raises(
            SparkRuntimeException,
            match="Column n of marts.it's is int, and a new row has the value",
        ) as error:
            rows.collect()
        assert "the value 3000000000, which does not fit" in str(error.value)
    else:
        assert [row["n"] for row in rows.collect()] == [None if value == "null" else int(value)]
