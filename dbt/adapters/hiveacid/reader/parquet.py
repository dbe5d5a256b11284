"""Parquet files as Hive's `ParquetHiveSerDe` reads them: columns by name."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from dbt.adapters.hiveacid.reader.columns import TableColumns, quoted, within_length
from dbt.adapters.hiveacid.reader.timestamps import WallClock
from dbt.adapters.hiveacid.reader.writer_times import WriterTimes


def parquet_columns(
    spark: SparkSession, columns: TableColumns, times: WriterTimes | None
) -> tuple[Mapping[str, str], list[Column]]:
    """Options and columns for Parquet; `times` is None if the table has no dates or timestamps.

    Spark's own conversion of old timestamps depends on the zone of the Java process, so it is left
    to `WallClock`; that of dates does not, and keeps filters on them pushed down.
    """
    options = {}
    clock = None
    if times is not None:
        options = {
            "int96RebaseMode": "CORRECTED",
            "datetimeRebaseMode": "LEGACY" if times.julian else "CORRECTED",
        }
        if times.zone is not None:
            clock = WallClock.of(spark, times.zone, times.julian)
    data = []
    for field, hive_type in zip(columns.data.fields, columns.data_types, strict=True):
        column = within_length(F.col(quoted(field.name)), hive_type)
        if clock is not None:
            column = clock.show(column, field.dataType)
        data.append(column.alias(field.name))
    return options, data
