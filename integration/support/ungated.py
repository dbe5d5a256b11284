"""A Spark session without the gate, as stock Spark is: what it makes and reads is raw."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hiveacid.jvm.bulk import bulk_of
from hiveacid.jvm.py4j import each, scala_seq_of
from hiveacid.sql.gate import _gate_of, install_gate


@contextmanager
def ungated(session: SparkSession) -> Iterator[SparkSession]:
    """Take the gate out of a session for a block, and put it back if the session had it."""
    analyzer = session._jsparkSession.sessionState().analyzer()
    declared = analyzer.getClass().getDeclaredField("extendedCheckRules")
    declared.setAccessible(True)
    rules = declared.get(analyzer)
    rule = _gate_of(bulk_of(session)).rule
    others = [it for it in each(rules) if not it.equals(rule)]
    if rules.contains(rule):
        declared.set(analyzer, scala_seq_of(session.sparkContext, others))
    try:
        yield session
    finally:
        if rules.contains(rule):
            install_gate(session)
