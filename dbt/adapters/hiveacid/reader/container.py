"""What Parquet and Avro files say of themselves, by Java's own readers of their metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyspark import SparkContext
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.spark.errors import JAVA_ERRORS, java_exception
from dbt.adapters.hiveacid.spark.jvm import java

Answer = TypeVar("Answer")


def ask_file(
    spark: SparkSession, file: ListedFile, format: str, question: Callable[[Any], Answer]
) -> Answer:
    """What `question` finds out of a file's open reader.

    That is a `ParquetFileReader` for the format `parquet`, a `DataFileReader` for `avro`.

    Raises:
        UnreadableTableError: the file is not there, or not of the format.
    """
    path = java(spark.sparkContext, "org.apache.hadoop.fs.Path")(file.path)
    try:
        reader = _READERS[format](spark.sparkContext, path, spark._jsc.hadoopConfiguration())
        try:
            return question(reader)
        finally:
            reader.close()
    except JAVA_ERRORS as error:
        raise UnreadableTableError(
            f"{file.path} ({file.length} bytes) cannot be read as {format}: "
            f"{java_exception(error).toString()}. If the file is gone, the run lost its lock or "
            "somebody removed it by hand; if it is damaged, restore it."
        ) from error


def _parquet(context: SparkContext, path: Any, configuration: Any) -> Any:
    package = "org.apache.parquet.hadoop"
    return java(context, f"{package}.ParquetFileReader").open(
        java(context, f"{package}.util.HadoopInputFile").fromPath(path, configuration)
    )


def _avro(context: SparkContext, path: Any, configuration: Any) -> Any:
    package = "org.apache.avro"
    return java(context, f"{package}.file.DataFileReader")(
        java(context, f"{package}.mapred.FsInput")(path, configuration),
        java(context, f"{package}.generic.GenericDatumReader")(),
    )


_READERS: dict[str, Callable[[SparkContext, Any, Any], Any]] = {"parquet": _parquet, "avro": _avro}
