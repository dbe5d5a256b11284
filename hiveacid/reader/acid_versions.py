"""Check of the ACID version: whether a delta can hold updates or deletes among its inserts.

Version 2 came with Hive 3. Before it, one delta held inserts, updates and deletes, distinguished by
the column `operation`. A writer of version 2 states the version in the file's footer (Hive), or in
a file `_orc_acid_version` next to the file (Trino, and also Hive; `AcidUtils.OrcAcidVersion`). Hive
ignores the version when it reads, and some of its compactions state none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from hiveacid.acid.layout import ACID_VERSION_FILE, ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.errors import JAVA_ERRORS, java_exception
from hiveacid.jvm.py4j import java
from hiveacid.metastore.models import TableName
from hiveacid.reader.locations import Location
from hiveacid.reader.orc_footers import OrcFooter, OrcFooters
from hiveacid.reader.scan import FILE_PATH, acid_scan

LOWEST_VERSION = 2
"""Lowest version in which each delta holds either inserts or delete events, and nothing else."""

INSERT, UPDATE, DELETE = 0, 1, 2
"""Values of the column `operation` (`OrcRecordUpdater`). Version 2 has no updates."""

_ONLY_INSERTS = (INSERT, INSERT)


def check_versions(
    spark: SparkSession,
    table: TableName,
    locations: Sequence[Location],
    known: Mapping[ListedFile, OrcFooter],
    footers: OrcFooters,
) -> None:
    """Refuse deltas that hold updates or deletes among the inserts, as Hive 2 wrote them.

    Bases, and deltas with inserts only, are the same in all versions. (The updates in a base of
    version 1 are the updated rows.) So the file system is asked only about deltas whose files state
    no version, and whose footers show other operations or have no statistics. A file without
    statistics is read to find its operations.

    Args:
        known: the footers of all files.
        footers: stores the operations of files without statistics.

    Raises:
        UnreadableTableError: naming the file.
    """
    doubtful = [
        file
        for location in locations
        for directory in location.state.deltas
        for file in directory.files
        if _is_doubtful(known[file])
    ]
    if not doubtful:
        return
    versions = _versions(spark, {_directory(file) for file in doubtful})
    older = [file for file in doubtful if (versions[_directory(file)] or 0) < LOWEST_VERSION]
    unknown = [file for file in older if known[file].operations is None]
    found = _operations(spark, unknown)
    footers.add_operations(found)
    for file in older:
        if (known[file].operations or found.get(file)) != _ONLY_INSERTS:
            raise UnreadableTableError(
                f"{table} cannot be read: {file.path} has updates or deletes in the format of "
                "Hive 2. Later versions of Hive show updated rows twice and deleted rows "
                "again, also after their own compactions. Run a major compaction in the Hive "
                "that wrote the file.",
                code="HIVEACID_DELETES_OF_HIVE_2",
            )


def _directory(file: ListedFile) -> str:
    return file.path.rpartition("/")[0]


def _is_doubtful(footer: OrcFooter) -> bool:
    # An overwrite with no rows leaves a file without rows, which states no version.
    return (
        footer.is_acid
        and footer.rows > 0
        and (footer.acid_version or 0) < LOWEST_VERSION
        and footer.operations != _ONLY_INSERTS
    )


def _operations(
    spark: SparkSession, files: Sequence[ListedFile]
) -> Mapping[ListedFile, tuple[int, int]]:
    """Read files without statistics, and return the lowest and highest operation in each."""
    if not files:
        return {}
    frame, by_path = acid_scan(spark, files, StructType())
    operation = F.coalesce("operation", F.lit(DELETE))
    found = frame.groupBy(FILE_PATH).agg(
        F.min(operation).alias("low"), F.max(operation).alias("high")
    )
    return {by_path[row[FILE_PATH]]: (row["low"], row["high"]) for row in found.collect()}


def _versions(spark: SparkSession, directories: set[str]) -> Mapping[str, int | None]:
    return {directory: _version_in(spark, directory) for directory in sorted(directories)}


def _version_in(spark: SparkSession, directory: str) -> int | None:
    """Return the version in the directory's `_orc_acid_version`; None without this file."""
    path = java(spark.sparkContext, "org.apache.hadoop.fs.Path")(directory, ACID_VERSION_FILE)
    try:
        file_system = path.getFileSystem(spark._jsc.hadoopConfiguration())
        if not file_system.exists(path):
            return None
        stream = file_system.open(path)
        try:
            return int(stream.read()) - ord("0")
        finally:
            stream.close()
    except JAVA_ERRORS as error:
        raise UnreadableTableError(
            f"{path.toString()} cannot be read: {java_exception(error).toString()}. Restore the "
            "file: it holds the version of the ACID format, the digit 2.",
            code="HIVEACID_INVALID_ACID_VERSION",
        ) from error
