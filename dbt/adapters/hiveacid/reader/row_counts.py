"""Whether files have rows, by their footers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import StorageDescriptor, TableName
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
    count = {"parquet": _parquet_has_rows, "avro": _avro_has_rows}.get(format)
    return count is None or any(_ask(spark, file, count, format) for file in files)


def _ask(spark: SparkSession, file: ListedFile, count: Any, format: str) -> bool:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(file.path)
    try:
        return bool(count(jvm, path, spark._jsc.hadoopConfiguration()))
    except Py4JJavaError as error:
        raise UnreadableTableError(
            f"{file.path} ({file.length} bytes) cannot be read as {format}: "
            f"{error.java_exception.toString()}. If the file is gone, the run lost its lock or "
            "somebody removed it by hand; if it is damaged, restore it."
        ) from error


def _parquet_has_rows(jvm: Any, path: Any, configuration: Any) -> bool:
    parquet = jvm.org.apache.parquet.hadoop
    reader = parquet.ParquetFileReader.open(
        parquet.util.HadoopInputFile.fromPath(path, configuration)
    )
    try:
        return reader.getRecordCount() > 0
    finally:
        reader.close()


def _avro_has_rows(jvm: Any, path: Any, configuration: Any) -> bool:
    avro = jvm.org.apache.avro
    reader = avro.file.DataFileReader(
        avro.mapred.FsInput(path, configuration), avro.generic.GenericDatumReader()
    )
    try:
        return reader.hasNext()
    finally:
        reader.close()
