"""Which texts of the metastore's are values of a partition column's type. Pure."""

from __future__ import annotations

import datetime as dt
import re

from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    TimestampType,
)

from dbt.adapters.hiveacid.reader.types import INTEGER_BITS

_NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"

_FORMS: dict[type[DataType], str] = {
    BooleanType: "true|false",
    DecimalType: _NUMBER,
    FloatType: rf"{_NUMBER}|NaN|[+-]?Infinity",
    DoubleType: rf"{_NUMBER}|NaN|[+-]?Infinity",
    DateType: r"\d{4}-\d\d?-\d\d?",
    TimestampType: r"\d{4}-\d\d?-\d\d?([ T]\d\d?:\d\d?:\d\d?(\.\d+)?)?",
}


def is_value(text: str, data_type: DataType) -> bool:
    """Whether a text is plainly one of a type's values.

    ALTER TABLE … PARTITION COLUMN takes values that are too large for the new type, and other
    programs than Hive write what they like. Of such texts Hive makes NULL, another number (`300` is
    the tinyint 44) or TRUE, from type to type (`ObjectInspectorConverters`), and Spark fails
    without a name.
    """
    bits = INTEGER_BITS.get(type(data_type))
    if bits is not None:
        is_number = re.fullmatch(r"[+-]?\d+", text, re.ASCII) is not None
        return is_number and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)
    form = _FORMS.get(type(data_type))
    if form is None:
        return True
    if re.fullmatch(form, text, re.ASCII | re.IGNORECASE) is None:
        return False
    return not isinstance(data_type, DateType | TimestampType) or _is_day(text)


def _is_day(text: str) -> bool:
    year, month, day = (int(part) for part in re.split("[ T]", text)[0].split("-"))
    try:
        dt.date(year, month, day)
    except ValueError:
        return False
    return True
