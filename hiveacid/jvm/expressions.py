"""Expressions in plans of Spark, collected inside the JVM."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.jvm.bulk import Bulk, bulk_of

_CATALYST = "org.apache.spark.sql.catalyst"
_TREE = f"{_CATALYST}.trees.TreeNode"
_FUNCTION = "scala.Function1"


def expressions_of(spark: SparkSession, plans: Iterable[Any], kind: str) -> list[Any]:
    """Return the expressions of a class in some logical plans, equal ones once.

    A walk through Python would take two seconds for a thousand expressions. This one takes a
    handful of calls, whatever the number of expressions that are not of the class.
    """
    return list(_collector(bulk_of(spark), kind).collect(plans))


def texts_of_expressions(
    spark: SparkSession, plans: Iterable[Any], kind: str, getter: str
) -> set[str]:
    """Return the texts that a getter returns of the expressions of a class in some plans."""
    bulk = bulk_of(spark)
    return set(bulk.texts(_collector(bulk, kind, getter).collect(plans)))


def text_of_literal(expression: Any) -> str | None:
    """Return the value of an expression that is a literal, as text; None for any other."""
    if expression.nodeName() != "Literal" or expression.value() is None:
        return None
    return str(expression.toString())


@lru_cache(maxsize=4)
def _collector(bulk: Bulk, kind: str, getter: str = "") -> _Collector:
    return _Collector(bulk, kind, getter)


class _Collector:
    """Collector of the expressions of one class. Threads take turns."""

    def __init__(self, bulk: Bulk, kind: str, getter: str) -> None:
        self._lock = threading.Lock()
        # Thousands of texts take longer on their way to Python than to be found.
        self._found = bulk.java("java.util.LinkedHashSet")()
        add = bulk.method("java.util.Collection", "add", "boolean", ["Object"]).bindTo(self._found)
        if getter:
            add = bulk.then(bulk.method(kind, getter, "String"), add)
        of_kind = bulk.method("Class", "isInstance", "boolean", ["Object"])
        add_if_of_kind = bulk.where(of_kind.bindTo(bulk.class_(kind)), add)
        walk = bulk.method(_TREE, "foreach", "void", [_FUNCTION])
        walk = bulk.with_constants(walk, 1, bulk.implement(_FUNCTION, add_if_of_kind))
        plan, sequence = f"{_CATALYST}.plans.QueryPlan", "scala.collection.immutable.Seq"
        for_each = bulk.method("scala.collection.IterableOnceOps", "foreach", "void", [_FUNCTION])
        for_each = bulk.with_constants(for_each, 1, bulk.implement(_FUNCTION, walk))
        in_node = bulk.then(bulk.method(plan, "expressions", sequence), for_each)
        self._visit = bulk.implement(_FUNCTION, in_node)

    def collect(self, plans: Iterable[Any]) -> Any:
        """Return an array of what is in some plans, which are walked down to their leaves."""
        with self._lock:
            try:
                for plan in plans:
                    plan.foreach(self._visit)
                return self._found.toArray()
            finally:
                self._found.clear()
