"""Scans of ORC files with ACID columns by Spark's own ORC reader.

ORC's library knows an ACID file by its six root columns. If a scan asks for fewer of them, the
library takes the *requested* schema for that of the user's row, and the scan fails. Two ways out:

* *Whole schema, pruned columns.* Under `orc.force.positional.evolution` Spark hands ORC the whole
  schema and names the columns to decode in `orc.include.columns`, which is just right. But ORC
  itself must not see that setting: it would take the columns inside `row` by position, and Spark
  has pruned those. So the setting's value is a reference to `orc.include.columns`, which Hadoop's
  `Configuration` resolves at each look: the option says `true` while Spark decides
  (`OrcUtils.requestedColumnIds`), and Spark then replaces it, before ORC looks, by the list of the
  columns (`OrcFileFormat.buildReaderWithPartitionValues`), which is not `true`.
* A *guard*: a filter that refers to all six columns. It decodes all of them for every query. It is
  kept for the Spark versions on which the first way has not been tried.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, IntegerType, LongType, StructField, StructType

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.reader.pushdown import scan_options
from dbt.adapters.hiveacid.reader.scan import scan

_WHOLE_SCHEMA = {
    "orc.force.positional.evolution": "${orc.include.columns}",
    "orc.include.columns": "true",
}

_WHOLE_SCHEMA_VERSIONS = ("4.1.",)
"""The Spark versions on which `_WHOLE_SCHEMA` is known to work."""

_ABSENT = StructField("__hiveacid_none", BooleanType())
"""The field of `row` that no file has, so that reading it costs nothing."""


def acid_scan(
    spark: SparkSession, files: Sequence[ListedFile], row: StructType, located: bool = True
) -> tuple[DataFrame, dict[str, ListedFile]]:
    """Read ACID files: their six columns, with the given fields of `row`, as `scan` does.

    Raises:
        UnreadableTableError: Spark would read other files than the planned ones.
    """
    schema = (
        StructType()
        .add("operation", IntegerType())
        .add("originalTransaction", LongType())
        .add("bucket", IntegerType())
        .add("rowId", LongType())
        .add("currentTransaction", LongType())
        .add("row", StructType([_ABSENT, *row.fields]))
    )
    if spark.version.startswith(_WHOLE_SCHEMA_VERSIONS):
        options = {**_WHOLE_SCHEMA, **scan_options(spark)}
        return scan(spark, "orc", files, schema, options, located)
    frame, by_path = scan(spark, "orc", files, schema, located=located)
    guard = F.coalesce(
        "operation",
        "originalTransaction",
        "bucket",
        "rowId",
        "currentTransaction",
        F.col(f"row.{_ABSENT.name}").cast("bigint"),
    )
    return frame.where(guard.isNotNull()), by_path
