"""Hive's buckets as expressions of Spark: `bucketing_version` 2.

`ObjectInspectorUtils.getBucketNumber`: each column's bytes are hashed by Murmur3 with Hive's seed,
and the hashes are combined. Spark's `hash` has another seed, which a constant in front of the value
makes Hive's, and it hashes the last one to three bytes differently: these are added here.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from hiveacid.formatting import quoted
from hiveacid.metastore import models
from hiveacid.reader.columns import RESERVED_PREFIX

BUCKET_NUMBER = "hiveacid_bucket_number"
"""Column that `with_bucket` adds. A directory for each value must not be hidden (`_`)."""

_HASH, _BLOCKS, _BYTES = (f"{RESERVED_PREFIX}{name}" for name in ("hash", "blocks", "bytes"))

_FOR_HIVES_SEED = 1_867_871_456
"""The integer whose hash in Spark is 104729: then `hash(…, value)` has that seed for the value."""

_LOW_32 = 0xFFFFFFFF
_C1, _C2 = -862_048_943, 461_845_907
_M1, _M2 = -2_048_144_789, -1_028_477_387
"""Factors of Murmur3, as signed integers: their products with 32 bits fit into 64."""

_INVERSE_M1, _INVERSE_M2 = -1_513_385_405, 2_127_672_349
"""Their inverses: `x * _M1 * _INVERSE_M1` is x in 32 bits."""

_HASHED = frozenset({"int", "string"})
"""Types whose buckets have been compared with Hive's."""


def is_hashed(hive_type: str) -> bool:
    """Return whether a table that is bucketed by a type may be written."""
    return hive_type in _HASHED


def with_bucket(rows: DataFrame, columns: Sequence[models.Column], count: int) -> DataFrame:
    """Return rows with the number of Hive's bucket of each.

    Args:
        rows: the rows.
        columns: the columns in CLUSTERED BY, of types that are hashed (`is_hashed`).
        count: the number of buckets.
    """
    result = rows.withColumn(_HASH, F.lit(0).cast("bigint"))
    for column in columns:
        result = _with_hash(result, column)
    number = F.col(_HASH).bitwiseAND(0x7FFFFFFF) % count
    return result.withColumn(BUCKET_NUMBER, number.cast("int")).drop(_HASH)


def _with_hash(rows: DataFrame, column: models.Column) -> DataFrame:
    """Combine the hashes of the columns before with that of one column."""
    # One step for each: Spark evaluates a column that is used several times once.
    length = F.length(_BYTES)
    whole = length - length % 4
    blocks = F.hash(F.lit(_FOR_HIVES_SEED), F.col(_BYTES).substr(F.lit(1), whole))
    return _combined(
        rows.withColumn(_BYTES, _bytes(column))
        .withColumn(_BLOCKS, _unfinished(blocks, whole))
        .withColumn(
            _BLOCKS,
            F.col(_BLOCKS).bitwiseXOR(_tail(whole, length)).bitwiseXOR(length.cast("bigint")),
        ),
        _finished(F.col(_BLOCKS)),
    ).drop(_BYTES, _BLOCKS)


def _combined(rows: DataFrame, hash_: Column) -> DataFrame:
    combined = F.col(_HASH) * 31 + F.coalesce(hash_, F.lit(0))
    return rows.withColumn(_HASH, combined.bitwiseAND(_LOW_32))


def _times(number: Column, factor: int) -> Column:
    return (number * F.lit(factor).cast("bigint")).bitwiseAND(_LOW_32)


def _xor_right(number: Column, *shifts: int) -> Column:
    result = number
    for bits in shifts:
        result = result.bitwiseXOR(F.shiftrightunsigned(number, bits))
    return result


def _finished(number: Column) -> Column:
    """Apply the last step of Murmur3 (`fmix32` without the length)."""
    return _xor_right(_times(_xor_right(_times(_xor_right(number, 16), _M1), 13), _M2), 16)


def _unfinished(hash_: Column, length: Column) -> Column:
    """Return the state before the last step, of a hash of so many bytes."""
    number = _xor_right(hash_.cast("bigint").bitwiseAND(_LOW_32), 16)
    number = _xor_right(_times(number, _INVERSE_M2), 13, 26)
    number = _xor_right(_times(number, _INVERSE_M1), 16)
    return number.bitwiseXOR(length.cast("bigint"))


def _tail(whole: Column, length: Column) -> Column:
    """Return what the bytes behind the last whole block add. Hive takes them as signed bytes."""
    rest = F.lit(0).cast("bigint")
    for place in range(3):
        unsigned = F.conv(F.hex(F.col(_BYTES).substr(whole + place + 1, F.lit(1))), 16, 10)
        byte = F.coalesce(unsigned.cast("bigint"), F.lit(0))
        signed = F.when(byte > 127, byte - 256).otherwise(byte)
        there = F.when(whole + place < length, F.shiftleft(signed, 8 * place)).otherwise(0)
        rest = rest.bitwiseXOR(there)
    mixed = _times(rest.bitwiseAND(_LOW_32), _C1)
    turned = F.shiftleft(mixed, 15).bitwiseOR(F.shiftrightunsigned(mixed, 17))
    return _times(turned.bitwiseAND(_LOW_32), _C2)


def _bytes(column: models.Column) -> Column:
    """Return the bytes that Hive hashes: of an integer the big-endian ones."""
    value = F.col(quoted(column.name))
    if column.type == "string":
        return value.cast("binary")
    return F.unhex(F.substring(F.lpad(F.hex(value.cast("bigint")), 16, "0"), 9, 8))
