"""What ORC files say about themselves, read once with Spark's own ORC library and remembered."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError, VanishedFileError
from dbt.adapters.hiveacid.reader.hadoop import THREADS
from dbt.adapters.hiveacid.reader.types import struct_fields

ACID_COLUMNS = (
    "operation",
    "originalTransaction",
    "bucket",
    "rowId",
    "currentTransaction",
    "row",
)
"""The columns of a file that Hive's ACID writer wrote (`OrcRecordUpdater`)."""

_ACID_VERSION_KEY = "hive.acid.version"


@dataclass(frozen=True)
class OrcFooter:
    """The shape of one ORC file.

    `columns` are the names of the user's columns in file order: those inside `row` if the file has
    the ACID columns (`is_acid`), else the file's own. `types` are the types that ORC gives them.
    `min_original_write_id` is the lowest value of `originalTransaction`, by the file's statistics;
    None without ACID columns. `acid_version` is what the ACID writer says of its format
    (`AcidUtils.OrcAcidVersion`), None if it says nothing.
    """

    rows: int
    columns: tuple[str, ...]
    is_acid: bool
    min_original_write_id: int | None = None
    acid_version: int | None = None
    types: tuple[str, ...] = ()


class OrcFooters:
    """Footers of files that do not change, by path, length and modification time. Thread-safe."""

    def __init__(self) -> None:
        self._known: dict[ListedFile, OrcFooter] = {}

    def read(self, spark: SparkSession, files: Iterable[ListedFile]) -> dict[ListedFile, OrcFooter]:
        """The footer of each file.

        Raises:
            UnreadableTableError: a file is missing, truncated or no ORC file; it is named.
        """
        wanted = list(files)
        missing = [file for file in wanted if file not in self._known]
        with ThreadPoolExecutor(THREADS) as pool:
            for file, footer in zip(
                missing, pool.map(lambda file: _read(spark, file), missing), strict=True
            ):
                self._known[file] = footer
        return {file: self._known[file] for file in wanted}


def _read(spark: SparkSession, file: ListedFile) -> OrcFooter:
    assert spark._jvm is not None
    orc_file = spark._jvm.org.apache.orc.OrcFile
    path = spark._jvm.org.apache.hadoop.fs.Path(file.path)
    try:
        reader = orc_file.createReader(
            path, orc_file.readerOptions(spark._jsc.hadoopConfiguration())
        )
        try:
            return _footer(reader)
        finally:
            reader.close()
    except Py4JJavaError as error:
        reason = error.java_exception.toString()
        if "java.io.FileNotFoundException" in reason:
            raise VanishedFileError(f"{file.path} was listed, and is gone.") from error
        raise UnreadableTableError(
            f"{file.path} ({file.length} bytes) cannot be read as ORC: {reason}. It is damaged, or "
            "Spark's user may not read it: restore it, or its permissions."
        ) from error


def _footer(reader: Any) -> OrcFooter:
    # Not `toJson`: it does not escape quotes in names.
    fields = struct_fields(reader.getSchema().toString())
    rows = reader.getNumberOfRows()
    if tuple(name for name, _ in fields) != ACID_COLUMNS:
        names, types = _columns(fields)
        return OrcFooter(rows, names, is_acid=False, types=types)
    names, types = _columns(struct_fields(dict(fields)["row"]))
    # The root is statistics column 0, `operation` 1, `originalTransaction` 2.
    minimum = reader.getStatistics()[2].getMinimum() if rows else None
    return OrcFooter(rows, names, True, minimum, _acid_version(reader), types)


def _columns(fields: list[tuple[str, str]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(name for name, _ in fields), tuple(hive_type for _, hive_type in fields)


def _acid_version(reader: Any) -> int | None:
    """The version is one digit in ASCII."""
    if not reader.hasMetadataValue(_ACID_VERSION_KEY):
        return None
    digit = reader.getMetadataValue(_ACID_VERSION_KEY).get(0)
    return digit - ord("0")
