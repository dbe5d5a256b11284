"""Which version of Hive's ACID format a file has.

Before version 2, which came with Hive 3, updates and deletes stood among the inserts in one delta,
told apart by the column `operation`. Who writes version 2 says so in the file's footer (Hive), or
in a file `_orc_acid_version` beside it (Trino, and Hive as well; `AcidUtils.OrcAcidVersion`).
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.directories import ACID_VERSION_FILE
from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.reader.orc_footers import OrcFooter
from dbt.adapters.hiveacid.spark.errors import JAVA_ERRORS, java_exception
from dbt.adapters.hiveacid.spark.jvm import java

LOWEST_VERSION = 2


def check_acid_versions(
    spark: SparkSession, table: TableName, footers: Mapping[ListedFile, OrcFooter]
) -> None:
    """Refuse ACID files of Hive 2. Asks the file system only about files that say nothing.

    Raises:
        UnreadableTableError: naming the file.
    """
    beside: dict[str, int | None] = {}
    for file, footer in footers.items():
        # An overwrite with no rows leaves a file without rows, which tells no version.
        if not footer.is_acid or not footer.rows:
            continue
        version = footer.acid_version
        if version is None:
            directory = file.path.rpartition("/")[0]
            if directory not in beside:
                beside[directory] = _version_beside(spark, directory)
            version = beside[directory]
        if version is None or version < LOWEST_VERSION:
            found = "no ACID version" if version is None else f"ACID version {version}"
            raise UnreadableTableError(
                f"{table} cannot be read: {file.path} has {found} in its footer or in "
                f"{ACID_VERSION_FILE} beside it, so a Hive before version 3 wrote it, in another "
                "format. Let Hive 3 or later write the table anew: INSERT OVERWRITE TABLE … SELECT "
                "* FROM …, or a major compaction."
            )


def _version_beside(spark: SparkSession, directory: str) -> int | None:
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
            "file: it holds the version of the ACID format, the digit 2."
        ) from error
