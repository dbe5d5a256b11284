"""Types that hold others."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType


def with_leaves(type_: DataType, leaf: Callable[[DataType], DataType]) -> DataType:
    """The type with what `leaf` makes of each type in it that is no array, map or struct."""
    if isinstance(type_, ArrayType):
        return ArrayType(with_leaves(type_.elementType, leaf), type_.containsNull)
    if isinstance(type_, MapType):
        key, value = (with_leaves(inner, leaf) for inner in (type_.keyType, type_.valueType))
        return MapType(key, value, type_.valueContainsNull)
    if isinstance(type_, StructType):
        return StructType(
            [StructField(f.name, with_leaves(f.dataType, leaf), f.nullable) for f in type_]
        )
    return leaf(type_)


def depth(type_: DataType, of_map: int = 1) -> int:
    """How many arrays, maps and structs are in one another; each map counts `of_map` times."""
    if isinstance(type_, ArrayType):
        return 1 + depth(type_.elementType, of_map)
    if isinstance(type_, MapType):
        return of_map + depth(type_.valueType, of_map)
    if isinstance(type_, StructType):
        return 1 + max(depth(field.dataType, of_map) for field in type_)
    return 0
