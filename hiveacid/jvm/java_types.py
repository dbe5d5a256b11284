"""Types for Spark's Java objects, so that `Any` is left for values that can be anything.

In py4j every Java object has the same Python class. Each type here names the Java class of an
object; its methods stay unchecked. A value from py4j needs no conversion.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NewType

if TYPE_CHECKING:

    class JavaObject:
        """Java object: its methods are called by their names."""

        def __getattr__(self, name: str) -> Any: ...

    class JavaArray(JavaObject):
        """Java array: each element is read with a call of its own."""

        def __len__(self) -> int: ...
        def __getitem__(self, index: int) -> Any: ...
        def __setitem__(self, index: int, value: object) -> None: ...

else:
    from py4j import java_collections, java_gateway

    JavaObject = java_gateway.JavaObject
    JavaArray = java_collections.JavaArray

JavaSession = NewType("JavaSession", JavaObject)
"""`org.apache.spark.sql.SparkSession` of the JVM (`classic` since Spark 4)."""

LogicalPlan = NewType("LogicalPlan", JavaObject)
"""`catalyst.plans.logical.LogicalPlan`, parsed or analysed."""

Expression = NewType("Expression", JavaObject)
"""`catalyst.expressions.Expression`."""

MethodHandle = NewType("MethodHandle", JavaObject)
"""`java.lang.invoke.MethodHandle`: a Java function, composed by `jvm.py4j`."""

CatalogTable = NewType("CatalogTable", JavaObject)
"""`catalyst.catalog.CatalogTable`: a table or view in Spark's catalog."""
