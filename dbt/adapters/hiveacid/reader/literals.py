"""Large constants in a query."""

from __future__ import annotations

import sys
from array import array

from pyspark.sql import Column, SparkSession

from dbt.adapters.hiveacid.spark.jvm import java

_SQL = "org.apache.spark.sql"


def longs_literal(spark: SparkSession, values: array[int]) -> Column:
    """An `array<bigint>` of signed 64-bit values as one constant.

    PySpark's own `lit` makes an object of each value, which Spark then unboxes for every row, and
    prints in every plan. This one is a flat block of memory (`UnsafeArrayData`).
    """
    context = spark.sparkContext
    gateway = context._gateway
    assert gateway is not None and values.typecode == "q"
    longs = gateway.new_array(java(context, "long"), len(values))
    order = java(context, "java.nio.ByteOrder")
    native = order.LITTLE_ENDIAN if sys.byteorder == "little" else order.BIG_ENDIAN
    content = java(context, "java.nio.ByteBuffer").wrap(bytearray(values.tobytes())).order(native)
    content.asLongBuffer().get(longs)
    catalyst = f"{_SQL}.catalyst.expressions"
    types = java(context, f"{_SQL}.types.DataTypes")
    literal = java(context, f"{catalyst}.Literal")(
        java(context, f"{catalyst}.UnsafeArrayData").fromPrimitiveArray(longs),
        types.createArrayType(types.LongType, False),
    )
    if spark.version.startswith("3."):
        return Column(java(context, f"{_SQL}.Column")(literal))
    return Column(java(context, f"{_SQL}.classic.ExpressionUtils").column(literal))
