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

_WIDTHS = {"smallint": 2, "int": 4, "date": 4, "bigint": 8, "float": 4, "double": 8}
"""Bytes of the types with a fixed number of bytes."""

_PLAIN = frozenset({"boolean", "tinyint"})
"""Types whose values are their own hashes."""


_COMPARED = frozenset({"int", "string"})
"""Types whose buckets have been compared with Hive's. The others are as in Hive's code."""


def is_hashed(hive_type: str) -> bool:
    """Return whether a table that is bucketed by a type may be written."""
    return _name(hive_type) in _COMPARED


def with_bucket(rows: DataFrame, columns: Sequence[models.Column], count: int) -> DataFrame:
    """Return rows with the number of Hive's bucket of each.

    Args:
        rows: the rows, with timestamps that the session's clock shows as Hive shall show them.
        columns: the columns in CLUSTERED BY.
        count: the number of buckets.
    """
    zone = str(rows.sparkSession.conf.get("spark.sql.session.timeZone"))
    result = rows.withColumn(_HASH, F.lit(0).cast("bigint"))
    for column in columns:
        value = F.col(quoted(column.name))
        result = _with_hash(result, value, _name(column.type), zone)
    number = F.col(_HASH).bitwiseAND(0x7FFFFFFF) % count
    return result.withColumn(BUCKET_NUMBER, number.cast("int")).drop(_HASH)


def _name(hive_type: str) -> str:
    return hive_type.lower().partition("(")[0]


def _with_hash(rows: DataFrame, value: Column, hive_type: str, zone: str) -> DataFrame:
    """Combine the hashes of the columns before with that of one column."""
    if hive_type in _PLAIN:
        return _combined(rows, value.cast("bigint"))
    # One step for each: Spark evaluates a column that is used several times once.
    length = F.length(_BYTES)
    whole = length - length % 4
    blocks = F.hash(F.lit(_FOR_HIVES_SEED), F.col(_BYTES).substr(F.lit(1), whole))
    return _combined(
        rows.withColumn(_BYTES, _bytes(value, hive_type, zone))
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


def _bytes(value: Column, hive_type: str, zone: str) -> Column:
    """Return the bytes that Hive hashes."""
    if hive_type in ("string", "varchar"):
        return value.cast("binary")
    if hive_type == "char":
        return F.rtrim(value).cast("binary")
    if hive_type == "decimal":
        return F.unhex(_decimal_hex(value))
    if hive_type == "timestamp":
        return F.unhex(_timestamp_hex(value, zone))
    number = value
    if hive_type == "date":
        number = F.unix_date(value)
    elif hive_type == "float":
        number = _float_bits(_float_bits(value, "Float", "Int").cast("float"), "Float", "Int")
    elif hive_type == "double":
        number = _float_bits(_float_bits(value, "Double", "Long").cast("double"), "Double", "Long")
    return F.unhex(_hex(number, _WIDTHS[hive_type]))


def _hex(number: Column, width: int) -> Column:
    """Return the big-endian bytes of an integer."""
    return F.substring(F.lpad(F.hex(number.cast("bigint")), 16, "0"), 17 - 2 * width, 2 * width)


def _float_bits(value: Column, kind: str, integer: str) -> Column:
    """Return the bits of a floating-point number; Hive hashes those of the bits as a number."""
    bits = F.java_method(F.lit(f"java.lang.{kind}"), F.lit(f"{kind.lower()}To{integer}Bits"), value)
    return F.when(value.isNotNull(), bits.cast("bigint"))


def _decimal_hex(value: Column) -> Column:
    """Return the unscaled value without zeros at the end of the fraction, in the fewest bytes."""
    text = F.regexp_replace(value.cast("string"), "E.*", "")
    digits = F.regexp_replace(F.regexp_replace(text, r"(\.\d*?)0+$", "$1"), r"\.", "")
    number = digits.cast("decimal(38,0)")
    # Not `-number`, which Spark rounds to 34 digits.
    rest = F.when(number < 0, F.lit(-1) - number).otherwise(number).cast("decimal(38,0)")
    words = []
    for _ in range(4):
        word = (rest % F.lit(1 << 32).cast("decimal(38,0)")).cast("bigint")
        words.append(_hex(word, 4))
        rest = ((rest - word) / F.lit(1 << 32).cast("decimal(10,0)")).cast("decimal(38,0)")
    shortest = F.regexp_replace(F.concat(*reversed(words)), "^(00)+(?=[0-7].)", "")
    inverted = F.translate(shortest, "0123456789ABCDEF", "FEDCBA9876543210")
    return F.when(number < 0, inverted).otherwise(shortest)


def _timestamp_hex(value: Column, zone: str) -> Column:
    """Return a timestamp as `TimestampWritableV2` stores it: seconds, and what is not zero."""
    wall = F.from_utc_timestamp(value, zone)
    seconds = F.unix_seconds(wall)
    micros = F.unix_micros(wall) - seconds * 1_000_000
    nanos = F.reverse(F.lpad((micros * 1000).cast("string"), 9, "0")).cast("bigint")
    is_long = (seconds < 0) | (seconds > 0x7FFFFFFF)
    flag = F.when(is_long | (nanos != 0), F.lit(0x80000000)).otherwise(F.lit(0))
    first = seconds.bitwiseAND(0x7FFFFFFF).bitwiseOR(flag)
    return F.concat(
        _hex(first, 4),
        F.when(is_long, _variable_hex(-nanos - 1))
        .when(nanos != 0, _variable_hex(nanos))
        .otherwise(""),
        F.when(is_long, _variable_hex(F.shiftright(seconds, 31))).otherwise(""),
    )


def _variable_hex(number: Column) -> Column:
    """Return an integer as Hadoop's `WritableUtils.writeVLong` writes it."""
    positive = F.when(number < 0, F.bitwise_not(number)).otherwise(number)
    digits = F.hex(positive)
    even = F.when(F.length(digits) % 2 == 1, F.concat(F.lit("0"), digits)).otherwise(digits)
    base = F.when(number < 0, F.lit(-120)).otherwise(F.lit(-112))
    length = _hex(base - F.length(even) / 2, 1)
    return F.when(number.between(-112, 127), _hex(number, 1)).otherwise(F.concat(length, even))
