"""Whether files have rows, by their footers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.metastore.models import StorageDescriptor, TableName
from dbt.adapters.hiveacid.reader.container import ask_file
from dbt.adapters.hiveacid.reader.insert_only import file_format
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooters


def has_rows(
    spark: SparkSession,
    table: TableName,
    storage: StorageDescriptor,
    files: Sequence[ListedFile],
    footers: OrcFooters,
) -> bool:
    """Whether any of some files of one location, all with a length, has a row.

    Hive leaves Parquet and Avro files without rows where it inserts nothing.

    Raises:
        UnreadableTableError: a file is not there, or not of the table's format.
    """
    format = file_format(table, storage)
    if format == "orc":
        return any(footer.rows for footer in footers.read(spark, files).values())
    question = {"parquet": _parquet, "avro": _avro}.get(format)
    return question is None or any(ask_file(spark, file, format, question) for file in files)


def _parquet(reader: Any) -> bool:
    return bool(reader.getRecordCount() > 0)


def _avro(reader: Any) -> bool:
    return bool(reader.hasNext())
