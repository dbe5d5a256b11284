"""Values of text cells, as Hive's `LazyInteger`, `LazyDouble` and similar classes read them.

Hive shows NULL for a cell that is not a value of the column's type. Where Hive's grammar is
narrower or wider than the grammar of Spark's casts, Hive's grammar is spelled out here. It applies
to delimited text, and to other SerDes that store values as text (`hive_serde`).
"""

from __future__ import annotations

import re

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    TimestampType,
    VarcharType,
)

from hiveacid.reader.columns import short, try_cast

_INTEGER = r"\A[+-]?(\d+(\.\d*)?|\.\d+)\z"
"""Integer. A fraction is allowed and cut off (`LazyInteger.parse`)."""

_FLOATING = (
    r"(?i)\A[\x00-\x20]*+[+-]?((?-i:NaN|Infinity)|((\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
    r"|0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?\d+)[fd]?)[\x00-\x20]*+\z"
)
"""Number that Java's `Double.parseDouble` accepts."""

_DATE = r"(?s)\A[\x00-\x20]*+(-?\d{1,4}-\d{1,2}-\d{1,2})(?!\d).*\z"
"""Date. Any text after it is ignored (`DateParser`)."""

_DATE_BYTES = 8
"""Minimum length of a date with the text around it (`LazyUtils.isDateMaybe`)."""

_TIMESTAMP = (
    r"\A[\x00-\x20]*+(0*\d{1,6}-\d{1,2}-\d{1,2} \d{1,2}:\d{1,2}:\d{1,2}"
    r"|\d{4}-\d\d-\d\dT\d\d:\d\d(?!\.)(:\d\d)?)(\.\d{1,9})?[\x00-\x20]*+\z"
)
"""Timestamp. With a `T`, the year has four digits and every other part two; seconds may lack."""

_SHORT_YEAR = r"\A([\x00-\x20]*+-?)0*(\d{1,3})-"
"""Year of a date or timestamp that is less than 1000. Spark's casts require four digits."""

_BASE64 = r"\A([A-Za-z0-9+/]{4})*+([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?\z"
"""Base64 that Java's `Base64.getDecoder` accepts. Hive reads any other text as the bytes
themselves."""


def text_value(cell: Column, data_type: DataType, escape: str | None) -> Column:
    """Return the value of a cell that is not the NULL marker; only strings have escapes."""
    if isinstance(data_type, IntegralType):
        whole = F.regexp_replace(cell, r"\..*\z", "")
        digits = F.when(whole.rlike(r"\d"), whole).otherwise(F.lit("0"))
        return F.when(cell.rlike(_INTEGER), try_cast(digits, data_type))
    if isinstance(data_type, FloatType | DoubleType):
        return F.when(cell.rlike(_FLOATING), try_cast(cell, data_type))
    if isinstance(data_type, BooleanType):
        lower = F.lower(cell)
        return F.when(lower == "true", F.lit(True)).when(lower == "false", F.lit(False))
    if isinstance(data_type, DecimalType):
        return try_cast(cell, data_type)
    if isinstance(data_type, DateType):
        date = F.nullif(F.regexp_extract(cell, _DATE, 1), F.lit(""))
        is_date = F.octet_length(cell) >= _DATE_BYTES
        return F.when(is_date, try_cast(_with_long_year(date), data_type))
    if isinstance(data_type, TimestampType):
        return F.when(cell.rlike(_TIMESTAMP), try_cast(_with_long_year(cell), data_type))
    if isinstance(data_type, BinaryType):
        padded = F.concat(cell, F.lit("===").substr(F.lit(1), F.pmod(-F.length(cell), F.lit(4))))
        return F.when(cell.rlike(_BASE64), F.unbase64(padded)).otherwise(cell.cast("binary"))
    text = _unescaped(cell, escape)
    return short(text, data_type) if isinstance(data_type, CharType | VarcharType) else text


def _with_long_year(text: Column) -> Column:
    """Add zeros to a year of less than four digits."""
    return F.regexp_replace(text, _SHORT_YEAR, "$1" + "000" + "$2-")


def _unescaped(cell: Column, escape: str | None) -> Column:
    """Remove the escapes; an escaped `r` or `n` is a carriage return or a line feed.

    An escape at the end of the text stays (`LazyUtils.copyAndEscapeStringDataToText`).
    """
    if escape is None:
        return cell
    mark = re.escape(escape)
    other = "\\\\" if escape == "\\" else ("\\^" if escape == "^" else escape)
    pieces = F.regexp_extract_all(cell, F.lit(f"(?s)(?:{mark}.|[^{other}]++|{mark}\\z)"), F.lit(0))

    def plain(piece: Column) -> Column:
        return (
            F.when(piece == f"{escape}r", F.lit("\r"))
            .when(piece == f"{escape}n", F.lit("\n"))
            .when(piece.startswith(escape) & (F.length(piece) == 2), F.substring(piece, 2, 1))
            .otherwise(piece)
        )

    joined = F.array_join(F.transform(pieces, plain), "")
    return F.when(F.contains(cell, F.lit(escape)), joined).otherwise(cell)
