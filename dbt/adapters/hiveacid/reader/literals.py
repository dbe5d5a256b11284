"""Large constants in a query."""

from __future__ import annotations

import sys
from array import array

from pyspark.sql import Column, SparkSession


def longs_literal(spark: SparkSession, values: array[int]) -> Column:
    """An `array<bigint>` of signed 64-bit values as one constant.

    PySpark's own `lit` makes an object of each value, which Spark then unboxes for every row, and
    prints in every plan. This one is a flat block of memory (`UnsafeArrayData`).
    """
    assert spark._jvm is not None and values.typecode == "q"
    jvm = spark._jvm
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    longs = gateway.new_array(jvm.long, len(values))
    order = jvm.java.nio.ByteOrder
    native = order.LITTLE_ENDIAN if sys.byteorder == "little" else order.BIG_ENDIAN
    content = jvm.java.nio.ByteBuffer.wrap(bytearray(values.tobytes())).order(native)
    content.asLongBuffer().get(longs)
    catalyst = jvm.org.apache.spark.sql.catalyst.expressions
    types = jvm.org.apache.spark.sql.types.DataTypes
    literal = catalyst.Literal(
        catalyst.UnsafeArrayData.fromPrimitiveArray(longs),
        types.createArrayType(types.LongType, False),
    )
    if spark.version.startswith("3."):
        return Column(jvm.org.apache.spark.sql.Column(literal))
    return Column(jvm.org.apache.spark.sql.classic.ExpressionUtils.column(literal))
