"""Compressed files of lines, which Hadoop tells by their names alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.spark.jvm import java

_NOT_HADOOPS_OWN = frozenset({".lzo", ".lzo_deflate"})
"""The names of the codecs that a Hive may have from elsewhere."""


def check_codecs(spark: SparkSession, files: Iterable[ListedFile]) -> None:
    """Refuse compressed files without their codec: Spark would take them for plain lines.

    Raises:
        UnreadableTableError: naming the file.
    """
    compressed = [f for f in files if PurePosixPath(f.path).suffix in _NOT_HADOOPS_OWN]
    if not compressed:
        return
    factory = java(spark.sparkContext, "org.apache.hadoop.io.compress.CompressionCodecFactory")(
        spark._jsparkSession.sessionState().newHadoopConf()
    )
    for file in compressed:
        path = java(spark.sparkContext, "org.apache.hadoop.fs.Path")(file.path)
        if factory.getCodec(path) is None:
            raise UnreadableTableError(
                f"{file.path} is compressed by a codec that Spark does not have. Add its jar to "
                "`spark.jars`, and the codecs of Hive's `io.compression.codecs` to "
                "server_side_parameters (`spark.hadoop.io.compression.codecs`)."
            )
