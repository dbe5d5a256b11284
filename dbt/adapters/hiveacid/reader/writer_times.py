"""How the writer of a Parquet or Avro file stored its dates and timestamps.

Hive stores a timestamp as the instant at which the *writer's* clock showed it, and the writer's
zone in the file's metadata. It counts days before 1582-10-15 in the Julian calendar, unless the
metadata says otherwise (`DataWritableReadSupport`, `AvroGenericRecordReader`).
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import DateType, StructType, TimestampType

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader.container import ask_file
from dbt.adapters.hiveacid.reader.hadoop import THREADS
from dbt.adapters.hiveacid.reader.timestamps import has


@dataclass(frozen=True)
class WriterTimes:
    """`zone` is the writer's, None if no column needs it; `julian` is how Hive counts its old days.

    `spark_decides` says that Spark's Parquet reader takes old days as Spark wrote them, whatever it
    is asked for.
    """

    zone: str | None
    julian: bool
    spark_decides: bool = False


@dataclass(frozen=True)
class _Metadata:
    """What a file says about its times.

    `wall_clocks` says that it stores timestamps without a zone, `by_spark` that a Spark wrote it
    that counts days in the Gregorian calendar (3.0 and later, by default).
    """

    zone: str | None
    proleptic: str | None
    legacy: str | None
    wall_clocks: bool
    by_spark: bool = False


_KNOWN: dict[ListedFile, _Metadata] = {}
"""Files do not change, so one reading is enough for the life of the process."""


def writer_times(
    spark: SparkSession, format: str, files: Iterable[ListedFile], data: StructType
) -> dict[ListedFile, WriterTimes | None]:
    """How each file of `format` (`parquet` or `avro`) is to be read; None without times in `data`.

    Raises:
        UnreadableTableError: a file cannot be read, or does not say what its timestamps mean.
    """
    wanted = list(files)
    with_timestamps = has(data, TimestampType)
    if not with_timestamps and not has(data, DateType):
        return dict.fromkeys(wanted)
    question = {"parquet": _parquet, "avro": _avro}[format]
    missing = [file for file in wanted if file not in _KNOWN]
    with ThreadPoolExecutor(THREADS) as pool:
        found = pool.map(lambda file: ask_file(spark, file, format, question), missing)
        _KNOWN.update(zip(missing, found, strict=True))
    return {file: _times(file, _KNOWN[file], with_timestamps) for file in wanted}


def _times(file: ListedFile, metadata: _Metadata, with_timestamps: bool) -> WriterTimes:
    julian = (metadata.proleptic or "false").lower() != "true"
    if not with_timestamps:
        return WriterTimes(None, julian, metadata.by_spark)
    reason = None
    if metadata.zone is None:
        reason = "does not name its writer's time zone (writer.time.zone)"
    elif (metadata.legacy or "false").lower() == "true":
        reason = "was written with Hive's legacy conversion of time zones"
    elif metadata.wall_clocks:
        reason = "stores timestamps as INT64 (hive.parquet.write.int64.timestamp)"
    if reason is not None:
        raise UnreadableTableError(
            f"{file.path} {reason}, so that its timestamps cannot be read exactly. Let Hive write "
            "the rows anew: INSERT OVERWRITE TABLE … SELECT * FROM the same table."
        )
    return WriterTimes(metadata.zone, julian, metadata.by_spark)


def _parquet(reader: Any) -> _Metadata:
    metadata = reader.getFooter().getFileMetaData()
    values = metadata.getKeyValueMetaData()
    return _Metadata(
        values.get("writer.time.zone"),
        values.get("writer.date.proleptic"),
        values.get("writer.zone.conversion.legacy"),
        wall_clocks="(TIMESTAMP" in metadata.getSchema().toString(),
        # As `DataSourceUtils.getRebaseSpec`.
        by_spark=(values.get("org.apache.spark.version") or "") >= "3.0.0"
        and values.get("org.apache.spark.legacyDateTime") is None,
    )


def _avro(reader: Any) -> _Metadata:
    return _Metadata(
        reader.getMetaString("writer.time.zone"),
        reader.getMetaString("writer.proleptic"),
        reader.getMetaString("writer.zone.conversion.legacy"),
        wall_clocks=False,
    )
