"""How many timestamps of a table Spark cuts: it has microseconds, Hive has nanoseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from dbt.adapters.hiveacid.reader.acid_scan import acid_scan
from dbt.adapters.hiveacid.reader.plan import DataFile, ReadPlan
from dbt.adapters.hiveacid.reader.projection import quoted
from dbt.adapters.hiveacid.reader.scan import scan

_FINER = r"\.\d{6}\d*[1-9]$"


def count_nanoseconds(spark: SparkSession, plan: ReadPlan) -> Mapping[str, int]:
    """The values with nanoseconds in the ORC files of a plan, by column; none with 0.

    ORC's library gives a timestamp as text with all its digits. Timestamps inside of arrays, maps
    and structs are not counted.
    """
    columns = plan.pinned.table.storage.columns
    positions = [i for i, column in enumerate(columns) if column.type == "timestamp"]
    groups: dict[tuple[bool, tuple[str, ...]], list[DataFile]] = {}
    for file in plan.data:
        if any(i < len(file.columns or ()) for i in positions):
            groups.setdefault((file.is_acid, file.columns or ()), []).append(file)
    counts: Counter[str] = Counter()
    for (is_acid, names), files in groups.items():
        present = {i: names[i] for i in positions if i < len(names)}
        for i, count in _count(spark, files, is_acid, present).items():
            counts[columns[i].name] += count
    return +counts


def _count(
    spark: SparkSession, files: Iterable[DataFile], is_acid: bool, names: Mapping[int, str]
) -> dict[int, int]:
    schema = StructType([StructField(name, StringType()) for name in names.values()])
    listed = [file.file for file in files]
    frame, _ = acid_scan(spark, listed, schema) if is_acid else scan(spark, "orc", listed, schema)

    def finer(name: str) -> Column:
        column = f"row.{quoted(name)}" if is_acid else quoted(name)
        return F.count_if(F.col(column).rlike(_FINER)).alias(f"c{name}")

    row = frame.agg(*map(finer, names.values())).first()
    assert row is not None
    return dict(zip(names, row, strict=True))
