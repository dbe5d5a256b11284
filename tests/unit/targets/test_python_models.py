"""The session of a Python model hands its statements to the run."""

from types import SimpleNamespace

import pytest
from pyspark.sql import DataFrame, SparkSession

from dbt.adapters.hiveacid.targets.python_models import ModelSession
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


@pytest.fixture
def own():
    return Own()


@pytest.fixture
def session(own):
    def run(text, values=None):
        own.ran.append((text, values) if values else text)
        return SimpleNamespace(_jdf="rows")

    return ModelSession(own, run, lambda text: "orders" in text)


def test_it_is_a_session_of_spark(session, own):
    assert isinstance(session, SparkSession)
    assert session._jsparkSession is own._jsparkSession


def test_statements_and_tables_are_read_in_the_run(session, own):
    frames = [
        session.sql("select 1"),
        session.sql("select {x}", x=3),
        session.sql("select * from shop.orders where id = :id", args={"id": 1}),
        session.table("shop.orders"),
        session.read.table("shop.orders"),
        session.read.option("partitions", "{}").table("shop.orders"),
        session.read.options(static=True).table("shop.orders"),
    ]
    assert own.ran == [
        "select 1",
        "select 3",
        ("select * from shop.orders where id = :id", {"id": 1}),
        "select * from shop.orders",
        "select * from shop.orders",
        f"select * from {render_read('shop.orders', {'partitions': '{}'})}",
        f"select * from {render_read('shop.orders', {'static': 'True'})}",
    ]
    assert all(isinstance(it, DataFrame) and it.sparkSession is session for it in frames)


def test_what_is_no_acid_table_is_left_to_spark(session, own):
    session.read.table("marts.plain")
    assert own.ran == [("reader", "marts.plain")]
