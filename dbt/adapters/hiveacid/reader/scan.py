"""Plain Spark scans of exactly the planned files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from urllib.parse import unquote

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError, VanishedFileError
from dbt.adapters.hiveacid.reader.bulk import bulk_of
from dbt.adapters.hiveacid.reader.planned_files import FileIndexes, with_files

FILE_PATH = "__hiveacid_file"
BLOCK_START = "__hiveacid_block_start"
BLOCK_LENGTH = "__hiveacid_block_length"

_SOURCES = "org.apache.spark.sql.execution.datasources"
_FORMATS = {
    "orc": f"{_SOURCES}.orc.OrcFileFormat",
    "parquet": f"{_SOURCES}.parquet.ParquetFileFormat",
    "text": f"{_SOURCES}.text.TextFileFormat",
    "avro": "org.apache.spark.sql.avro.AvroFileFormat",
}
"""The readers by their classes: what the short names stand for, settings decide
(`spark.sql.orc.impl`, `spark.sql.sources.useV1SourceList`)."""

_LISTING_THRESHOLD = "spark.sql.sources.parallelPartitionDiscovery.threshold"

_GLOB_CHARACTERS = re.compile(r"([{}\[\]*?\\,])")

_LISTED_BY_SPARK = 32
"""Up to so many files Spark looks up the paths itself: about a millisecond each."""

_INDEXES = FileIndexes()

_FIXED = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "orc.skip.corrupt.data": "false",
    "orc.force.positional.evolution": "false",
}
"""What a session may have otherwise. Rows must not go missing because Spark or ORC pass over files
or parts of them; and the schema of a scan has the names that are in the files, in Spark's order."""


def scan(
    spark: SparkSession,
    format: str,
    files: Sequence[ListedFile],
    schema: StructType | str,
    options: Mapping[str, str] = MappingProxyType({}),
    located: bool = True,
) -> tuple[DataFrame, dict[str, ListedFile]]:
    """Read files with Spark's reader of `format` and a given schema, and where each row is from.

    `format` is `orc`, `parquet`, `text` or `avro`; `options` are further options of that reader.
    Spark makes the columns that say where a row is from even for a query that does not use them;
    without `located` there are none.

    Returns:
        The DataFrame, with the columns `FILE_PATH`, `BLOCK_START` and `BLOCK_LENGTH` (the first
        byte and the bytes of the row's split) added; and the planned files by the values that
        `FILE_PATH` has.

    Raises:
        UnreadableTableError: Spark would read other files than the planned ones.
        VanishedFileError: a planned file is gone.
    """
    looked_up = files if len(files) <= _LISTED_BY_SPARK else files[:1]
    paths = [_GLOB_CHARACTERS.sub(r"\\\1", file.path) for file in looked_up]
    with _listing_in_driver(spark, len(files)):
        try:
            reader = spark.read.format(_FORMATS[format]).schema(schema)
            frame = reader.options(**{**_FIXED, **options}).load(paths)
        except AnalysisException as error:
            if "[PATH_NOT_FOUND]" not in str(error):
                raise
            gone = str(error).partition("not exist: ")[2].partition(". SQLSTATE")[0]
            raise VanishedFileError(f"{gone} was in the plan of the read, and is gone.") from error
        if looked_up is not files:
            index = _INDEXES.of(spark, files)
            frame = with_files(spark, frame, index)
            seen = bulk_of(spark).texts(index.inputFiles())
        else:
            seen = frame.inputFiles()
    by_path = _check(seen, files)
    if not located:
        return frame, by_path
    # Not by name: the table may have a column `_metadata`.
    metadata = _metadata_column(frame)
    return (
        frame.select(
            "*",
            metadata["file_path"].alias(FILE_PATH),
            metadata["file_block_start"].alias(BLOCK_START),
            metadata["file_block_length"].alias(BLOCK_LENGTH),
        ),
        by_path,
    )


def _metadata_column(frame: DataFrame) -> Column:
    if hasattr(DataFrame, "metadataColumn"):
        return frame.metadataColumn("_metadata")
    # PySpark 3.5 lacks the method that its Java side has.
    return Column(frame._jdf.metadataColumn("_metadata"))


@contextmanager
def _listing_in_driver(spark: SparkSession, paths: int) -> Iterator[None]:
    """Let Spark look up the given files itself: from 33 on it would start a cluster job for it."""
    before = spark.conf.get(_LISTING_THRESHOLD)
    spark.conf.set(_LISTING_THRESHOLD, str(paths + 1))
    try:
        yield
    finally:
        spark.conf.set(_LISTING_THRESHOLD, str(before))


def _check(seen: Sequence[str], files: Sequence[ListedFile]) -> dict[str, ListedFile]:
    """Compare what Spark found with the plan: the same files, each once.

    Spark takes every path for a glob and passes over names that it holds for hidden.
    """
    planned = {_plain(file.path): file for file in files}
    found = {unquote(_plain(uri)): _plain(uri) for uri in seen}
    if len(seen) != len(files) or planned.keys() != found.keys():
        missing = sorted(planned.keys() - found.keys())
        surplus = sorted(found.keys() - planned.keys())
        raise UnreadableTableError(
            f"Spark would read {len(seen)} files where {len(files)} are planned; missing: "
            f"{missing[:3]}, surplus: {surplus[:3]}. Spark passes over names that it takes for "
            "hidden; let Hive write the table anew, or report the case."
        )
    return {found[path]: file for path, file in planned.items()}


def _plain(path: str) -> str:
    """`file:///a` and `file:/a` are the same; `_metadata.file_path` has the short form."""
    return path.replace("file:///", "file:/", 1) if path.startswith("file:///") else path
