"""The session of a Python model hands its statements to the run."""

from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.errors import PythonModelError
from dbt.adapters.hiveacid.targets import model_session
from dbt.adapters.hiveacid.targets.model_session import ModelSession
from hiveacid.sql.clauses import render_read


class Own:
    """The session of a connection, and Java's reader of it."""

    def __init__(self):
        self._sc = self._jvm = None
        self._jsparkSession = SimpleNamespace(read=lambda: self)
        self.ran = []

    def option(self, key, value):
        return self

    def table(self, name):
        self.ran.append(("reader", name))
        return "rows"

    def sql(self, text, args):
        self.ran.append((text, args))
        execution = SimpleNamespace(analyzed=lambda: text)
        return SimpleNamespace(_jdf=SimpleNamespace(queryExecution=lambda: execution))


@pytest.fixture
def own(monkeypatch):
    def read_by_spark(plan):
        return ["shop.orders"] if "orders" in plan else []

    monkeypatch.setattr(model_session, "read_by_spark", read_by_spark)
    return Own()


@pytest.fixture
def session(own):
    def run(text):
        own.ran.append(text)
        return SimpleNamespace(_jdf="rows")

    return ModelSession(own, run, lambda text: "orders" in text)


def test_it_is_a_session_of_spark(session, own):
    assert isinstance(session, SparkSession)
    assert session._jsparkSession is own._jsparkSession


def test_statements_and_tables_are_read_in_the_run(session, own):
    frames = [
        session.sql("select 1"),
        session.sql("select {x}", x=3),
        session.table("shop.orders"),
        session.read.table("shop.orders"),
        session.read.option("partitions", "{}").table("shop.orders"),
        session.read.options(static=True).table("shop.orders"),
    ]
    assert own.ran == [
        "select 1",
        "select 3",
        "select * from shop.orders",
        "select * from shop.orders",
        f"select * from {render_read('shop.orders', {'partitions': '{}'})}",
        f"select * from {render_read('shop.orders', {'static': 'True'})}",
    ]
    assert all(isinstance(it, DataFrame) and it.sparkSession is session for it in frames)


def test_what_is_no_acid_table_is_left_to_spark(session, own):
    session.read.table("marts.plain")
    session.sql("select :x", args={"x": 3})
    assert own.ran == [("reader", "marts.plain"), ("select :x", {"x": 3})]


def test_a_statement_with_arguments_does_not_read_an_acid_table(session, own):
    with pytest.raises(PythonModelError, match="cannot read ACID tables, such as shop.orders. Put"):
        session.sql("select * from shop.orders where id = :id", args={"id": 1})


def test_a_statement_with_arguments_is_a_query(session, own):
    with pytest.raises(PythonModelError, match="runs queries only"):
        session.sql("create table t as select :id as id", args={"id": 1})
    assert own.ran == []
