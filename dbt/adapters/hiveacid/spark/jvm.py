"""Java and Scala objects of Spark's driver, through py4j."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark import SparkContext
from pyspark.sql import SparkSession


def java(context: SparkContext, name: str) -> Any:
    """A Java class, for its static methods and constructors.

    By `spark._jvm.org.apache…` py4j would look in every jar for classes `org`, `org.apache`, …,
    which takes milliseconds each time.
    """
    assert context._gateway is not None
    return JavaClass(name, context._gateway._gateway_client)


def scala_seq(context: SparkContext, java_list: Any) -> Any:
    """A Scala `Seq` of what is in a `java.util.List`."""
    return java(context, "org.apache.spark.api.python.PythonUtils").toSeq(java_list)


def each(scala_sequence: Any) -> Iterator[Any]:
    """The elements of a Scala `Seq`, one call each: for the few that a plan has."""
    return (scala_sequence.apply(i) for i in range(scala_sequence.size()))


@contextmanager
def active(session: SparkSession) -> Iterator[None]:
    """Make `session` the one whose settings Spark's own code goes by, on this thread.

    Spark does so itself while it analyses and runs a statement, but not in what is called directly:
    its parser would go by the session that this thread has used for something else, or by none.
    """
    sessions = java(session.sparkContext, "org.apache.spark.sql.SparkSession")
    former = sessions.getActiveSession()
    sessions.setActiveSession(session._jsparkSession)
    try:
        yield
    finally:
        if former.isDefined():
            sessions.setActiveSession(former.get())
        else:
            sessions.clearActiveSession()
