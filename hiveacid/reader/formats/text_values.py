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
    IntegerType,
    IntegralType,
    TimestampType,
    VarcharType,
)

from hiveacid.reader.columns import short, try_cast
from hiveacid.reader.scan import FILE_PATH

_INTEGER = r"\A[+-]?(\d+(\.\d*)?|\.\d+)\z"
"""Integer. A fraction is allowed and cut off (`LazyInteger.parse`)."""

_FLOATING = (
    r"(?i)\A[\x00-\x20]*+[+-]?((?-i:NaN|Infinity)|((\d+\.?\d*|\.\d+)(e[+-]?\d+)?"
    r"|0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?\d+)[fd]?)[\x00-\x20]*+\z"
)
"""Number that Java's `Double.parseDouble` accepts."""

_BLANKS = r"[\x00-\x20]*+"
"""Blanks around a value, as Java's `String.trim` removes them."""

_DATE = rf"(?s)\A{_BLANKS}(-?\d{{1,4}}-\d{{1,2}}-\d{{1,2}})(?!\d).*\z"
"""Date. Any text after it is ignored (`Date.valueOf`)."""

_MOVED_DATE = (
    rf"(?s)\A{_BLANKS}(-?\d{{1,10}}-(?:-?\d{{1,2}})-(?:-?\d{{1,2}}))"
    rf"({_BLANKS}| .*)\z"
)
"""Date in Hive 3, with any month and day. A text after it begins with a blank."""

_DATE_BYTES = 8
"""Minimum length of a date with the text around it (`LazyUtils.isDateMaybe`)."""

_ISO = r"(?:\+\d{5,10}|-?\d{4}|-\d{5,10})-\d\d-\d\d[Tt]\d\d:\d\d(?::\d\d(?:\.\d{0,9})?)?"
"""Timestamp with a `T`: the year has four digits or a sign, and every other part two."""

_TIMESTAMP = (
    rf"\A{_BLANKS}(-?\d{{1,10}}-\d{{1,2}}-\d{{1,2}} \d{{1,2}}:\d{{1,2}}:\d{{1,2}}(\.\d{{1,9}})?"
    rf"|{_ISO}){_BLANKS}\z"
)
"""Timestamp (`Timestamp.valueOf`)."""

_MOVED_TIMESTAMP = (
    rf"\A{_BLANKS}(?:(-?\d{{1,10}}-(?:-?\d{{1,2}})-(?:-?\d{{1,2}})) (-?\d{{1,2}}):(-?\d{{1,2}})"
    rf":(-?\d{{1,2}})(\.\d{{1,9}})?|{_ISO}){_BLANKS}\z"
)
"""Timestamp in Hive 3. Without a `T`, its month, day and time may be out of range."""

_SHORT_YEAR = rf"\A({_BLANKS}-?)0*(\d{{1,3}})-"
"""Year of a date or timestamp that is less than 1000. Spark's casts require four digits."""

_ZEROS = rf"\A({_BLANKS}-?)0+(\d{{4,}})-"
"""Year with more zeros than Spark's casts read."""

_FAR_YEAR = rf"\A({_BLANKS})[+-]?0*[1-9]\d+(\d{{4}})-"
"""Year of a timestamp that Spark may not have. It is a leap year if its last four digits are."""

_YEARS = 1_000_000
"""Years that Spark's dates have, and more than its timestamps have."""

_DAY = 86_400
"""Seconds of a day."""

_BASE64 = r"\A([A-Za-z0-9+/]{4})*+([A-Za-z0-9+/]{2}(==)?|[A-Za-z0-9+/]{3}=?)?\z"
"""Base64 that Java's `Base64.getDecoder` accepts. Hive reads any other text as the bytes
themselves."""


def text_value(
    cell: Column, data_type: DataType, escape: str | None, is_hive_3: bool | None
) -> Column:
    """Return the value of a cell that is not the NULL marker; only strings have escapes.

    `is_hive_3` is the pinned table's.
    """
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
    if isinstance(data_type, DateType | TimestampType):
        return _time(cell, data_type, is_hive_3)
    if isinstance(data_type, BinaryType):
        padded = F.concat(cell, F.lit("===").substr(F.lit(1), F.pmod(-F.length(cell), F.lit(4))))
        return F.when(cell.rlike(_BASE64), F.unbase64(padded)).otherwise(cell.cast("binary"))
    text = _unescaped(cell, escape)
    return short(text, data_type) if isinstance(data_type, CharType | VarcharType) else text


def _time(cell: Column, data_type: DateType | TimestampType, is_hive_3: bool | None) -> Column:
    """Return a date or timestamp; an error if it is unknown which of two Hive shows."""
    read = _date if isinstance(data_type, DateType) else _timestamp
    if is_hive_3 is not None:
        return read(cell, is_hive_3)
    exact, moved = read(cell, False), read(cell, True)
    message = F.concat(
        F.lit("[HIVEACID_AMBIGUOUS_DATE] "),
        F.col(FILE_PATH),
        F.lit(" has the text "),
        cell,
        F.lit(f" in a column of type {data_type.simpleString()}. Hive 4 shows "),
        F.coalesce(exact.cast("string"), F.lit("NULL")),
        F.lit(", Hive 3.1 "),
        F.coalesce(moved.cast("string"), F.lit("NULL")),
        F.lit(", and the metastore's release may do either. Correct the text."),
    )
    return F.when(exact.eqNullSafe(moved), exact).otherwise(F.raise_error(message))


def _date(cell: Column, is_hive_3: bool) -> Column:
    pattern = _MOVED_DATE if is_hive_3 else _DATE
    text = F.nullif(F.regexp_extract(cell, pattern, 1), F.lit(""))
    # The second cast costs more, and few texts need it.
    rare = _moved_date(text) if is_hive_3 else try_cast(_as_spark_writes(text), DateType())
    date = F.coalesce(try_cast(text, DateType()), rare)
    return F.when(F.octet_length(cell) >= _DATE_BYTES, date)


def _timestamp(cell: Column, is_hive_3: bool) -> Column:
    message = F.concat(
        F.lit("[HIVEACID_TIMESTAMP_OUT_OF_RANGE] "),
        F.col(FILE_PATH),
        F.lit(" has the text "),
        cell,
        F.lit(
            " in a column of type timestamp. Hive shows it, and Spark's timestamps end in 294247. "
            "Correct the text."
        ),
    )
    near = _rare_timestamp(F.regexp_replace(cell, _FAR_YEAR, "$1$2-"), is_hive_3)
    refused = F.when(cell.rlike(_FAR_YEAR) & near.isNotNull(), F.raise_error(message))
    is_timestamp = cell.rlike(_MOVED_TIMESTAMP if is_hive_3 else _TIMESTAMP)
    read = try_cast(cell, TimestampType()), _rare_timestamp(cell, is_hive_3)
    return F.when(is_timestamp, F.coalesce(*read, refused))


def _rare_timestamp(cell: Column, is_hive_3: bool) -> Column:
    """Return the timestamp of a text, also of one that Spark does not write; NULL without one."""
    written = try_cast(_as_spark_writes(cell), TimestampType())
    return F.coalesce(written, _moved_timestamp(cell)) if is_hive_3 else written


def _as_spark_writes(text: Column) -> Column:
    """Give a year four digits or more without zeros; write `T`; remove an empty fraction."""
    year = F.regexp_replace(text, _SHORT_YEAR, "$1" + "000" + "$2-")
    plain = F.translate(F.regexp_replace(year, _ZEROS, "$1$2-"), "t", "T")
    return F.regexp_replace(plain, rf"\.({_BLANKS})\z", "$1")


def _moved_date(text: Column) -> Column:
    """Return a date whose month and day count on from the beginning of the year."""
    year, month, day = (
        try_cast(F.regexp_extract(text, r"\A(-?\d+)-(-?\d+)-(-?\d+)\z", i), IntegerType())
        for i in (1, 2, 3)
    )
    first = F.when(F.abs(year) < _YEARS, F.make_date(year, F.lit(1), F.lit(1)))
    return F.date_add(F.add_months(first, month - 1), day - 1)


def _moved_timestamp(cell: Column) -> Column:
    """Return a timestamp whose parts, but for the year, count on from the one before."""
    hours, minutes, seconds = (
        try_cast(F.regexp_extract(cell, _MOVED_TIMESTAMP, i), IntegerType()) for i in (2, 3, 4)
    )
    clock = (hours * 60 + minutes) * 60 + seconds
    date = _moved_date(F.regexp_extract(cell, _MOVED_TIMESTAMP, 1))
    date = F.date_add(date, F.floor(clock / _DAY).cast("int"))
    rest = F.pmod(clock, F.lit(_DAY))
    parts = [F.floor(rest / unit).cast("int") % 60 for unit in (3600, 60, 1)]
    time = F.format_string("%02d:%02d:%02d", *parts)
    fraction = F.regexp_extract(cell, _MOVED_TIMESTAMP, 5)
    return try_cast(F.concat(date.cast("string"), F.lit(" "), time, fraction), TimestampType())


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
