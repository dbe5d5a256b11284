"""Timestamps as a session shows them, by the clock of `spark.sql.session.timeZone`.

PySpark makes Python's datetimes of them by the clock of the Python process.
"""

from __future__ import annotations

from datetime import datetime, timezone

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col
from pyspark.sql.types import DataType, TimestampNTZType, TimestampType

from dbt.adapters.hiveacid.spark.nested_types import with_leaves


def as_shown(frame: DataFrame) -> DataFrame:
    """The same rows, whose timestamps give datetimes by the session's clock when collected."""
    fields = frame.schema.fields
    types = [with_leaves(field.dataType, _without_zone) for field in fields]
    if all(type_ == field.dataType for type_, field in zip(types, fields, strict=True)):
        return frame
    # By place: a query may have several columns of one name.
    places = [f"c{i}" for i in range(len(fields))]
    shown = [col(place).cast(type_) for place, type_ in zip(places, types, strict=True)]
    return frame.toDF(*places).select(*shown).toDF(*frame.columns)


def in_utc(session: SparkSession, shown: datetime) -> datetime:
    """The moment at which the session's clock shows this time."""
    (row,) = session.sql(f"select unix_micros(timestamp_ltz'{shown.isoformat(' ')}')").collect()
    seconds, micros = divmod(row[0], 1_000_000)
    return datetime.fromtimestamp(seconds, timezone.utc).replace(microsecond=micros)


def _without_zone(type_: DataType) -> DataType:
    return TimestampNTZType() if isinstance(type_, TimestampType) else type_
