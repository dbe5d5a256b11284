"""What Parquet and Avro files say of themselves, by Java's own readers of their metadata."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError

Answer = TypeVar("Answer")


def ask_file(
    spark: SparkSession, file: ListedFile, format: str, question: Callable[[Any], Answer]
) -> Answer:
    """What `question` finds out of a file's open reader.

    That is a `ParquetFileReader` for the format `parquet`, a `DataFileReader` for `avro`.

    Raises:
        UnreadableTableError: the file is not there, or not of the format.
    """
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(file.path)
    try:
        reader = _READERS[format](jvm, path, spark._jsc.hadoopConfiguration())
        try:
            return question(reader)
        finally:
            reader.close()
    except Py4JJavaError as error:
        raise UnreadableTableError(
            f"{file.path} ({file.length} bytes) cannot be read as {format}: "
            f"{error.java_exception.toString()}. If the file is gone, the run lost its lock or "
            "somebody removed it by hand; if it is damaged, restore it."
        ) from error


def _parquet(jvm: Any, path: Any, configuration: Any) -> Any:
    parquet = jvm.org.apache.parquet.hadoop
    return parquet.ParquetFileReader.open(
        parquet.util.HadoopInputFile.fromPath(path, configuration)
    )


def _avro(jvm: Any, path: Any, configuration: Any) -> Any:
    avro = jvm.org.apache.avro
    return avro.file.DataFileReader(
        avro.mapred.FsInput(path, configuration), avro.generic.GenericDatumReader()
    )


_READERS: dict[str, Callable[[Any, Any, Any], Any]] = {"parquet": _parquet, "avro": _avro}
