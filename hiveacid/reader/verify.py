"""Check of one table: its files are as Hive writes them, and the reader shows their rows.

The reader is fast because it assumes that row ids are unique and that a delete event names a row.
The check reads the same files again, slowly, row id by row id, and compares the reader's rows with
the rows that must be left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Observation, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    StringType,
    StructField,
    StructType,
)

from hiveacid.acid.layout import ListedFile
from hiveacid.formatting import quoted
from hiveacid.jvm.filesystem import list_locations
from hiveacid.reader.acid_versions import DELETE, INSERT, UPDATE
from hiveacid.reader.deletes import DeleteFile, is_valid
from hiveacid.reader.locations import locations
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.partition_lookup import partition_number
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.read import plan_read, to_dataframe
from hiveacid.reader.scan import FILE_PATH, acid_scan, scan
from hiveacid.reader.verify_result import (
    DeleteEvents,
    Verification,
    count_problems,
    directory_problems,
    file_problems,
    name_problems,
    numbering_problems,
    row_id_problems,
)
from hiveacid.snapshots.tables import PinnedTable

_EXAMPLES = 5
"""Maximum number of row ids that are named for a kind of problem."""

_KEY = ["partition", "write_id", "bucket", "row"]
_FINER = r"\.\d{6}\d*[1-9]$"


def verify(spark: SparkSession, pinned: PinnedTable, footers: OrcFooters) -> Verification:
    """Read the whole table and check it. Runs a shuffle of all row ids.

    Raises:
        UnreadableTableError: the table cannot be read exactly; the message says why.
    """
    paths = [storage.location for storage in pinned.storages]
    before = list_locations(spark, paths)
    plan = plan_read(spark, pinned, footers)
    # Hive's cleaner may remove files meanwhile that no snapshot needs.
    still_there = {f.path for listing in list_locations(spark, paths) for f in listing.files}
    problems = [*directory_problems(plan), *file_problems(plan, before, still_there)]

    shown = _count_reading_all(to_dataframe(spark, plan))
    orc = [file for file in plan.data if file.columns is not None]
    rows = {
        file: footer.rows
        for file, footer in footers.read(spark, [file.file for file in orc]).items()
    }
    raw = [file.file for file in orc if not file.is_acid]
    if raw:
        frame, by_path = scan(spark, "orc", raw, StructType())
        counted = _by_file(frame.groupBy(FILE_PATH).count(), by_path)
        problems += count_problems(raw, rows, counted)
    problems += numbering_problems(orc, rows)

    hidden, events = 0, DeleteEvents()
    if pinned.table.is_full_acid:
        bases = {
            location.partition: location.state.base.write_id_range[1]
            for location in locations(pinned, before)
            if location.state.base is not None
        }
        row_ids = _RowIds(spark, plan, rows, bases)
        hidden, events = row_ids.check()
        problems += row_ids.problems
        problems += name_problems(before)
        problems += row_id_problems(spark, plan)
    in_files = sum(rows.values()) if len(orc) == len(plan.data) else shown
    left = in_files - hidden - events.hits
    if shown != left:
        problems.append(f"the reader shows {shown} rows where {left} are left")
    listed = sum(len(listing.files) for listing in before)
    return Verification(
        plan,
        listed,
        in_files,
        hidden,
        shown,
        events,
        tuple(problems),
        count_nanoseconds(spark, plan),
    )


def _count_reading_all(frame: DataFrame) -> int:
    """Count the rows of a DataFrame, and decode every column of every row."""
    observation = Observation()
    counted = frame.observe(observation, F.count(F.lit(1)).alias("rows"))
    counted.write.format("noop").mode("overwrite").save()
    return int(observation.get["rows"])


def _by_file(counts: DataFrame, by_path: Mapping[str, ListedFile]) -> dict[ListedFile, int]:
    return {by_path[row[FILE_PATH]]: row["count"] for row in counts.collect()}


class _RowIds:
    """Comparison of row ids in the rows and in the delete events of a full-ACID table."""

    def __init__(
        self,
        spark: SparkSession,
        plan: ReadPlan,
        rows: Mapping[ListedFile, int],
        bases: Mapping[int, int],
    ) -> None:
        """Prepare a check.

        Args:
            spark: the session.
            plan: the plan to check.
            rows: the number of rows in each data file, by its footer.
            bases: the write id of each partition's base, by the number of the partition.
        """
        self._spark = spark
        self._plan = plan
        self._rows = rows
        self._bases = bases
        self.problems: list[str] = []

    def check(self) -> tuple[int, DeleteEvents]:
        """Return the number of hidden rows and the counts of delete events; fill `problems`."""
        data = [file for file in self._plan.data if file.is_acid]
        rows, hidden = self._read(data, INSERT, self._rows)
        events, _ = self._read(
            self._plan.deletes, DELETE, {file.file: file.rows for file in self._plan.deletes}
        )
        sides = [side for side in (rows, events) if side is not None]
        if not sides:
            return hidden, DeleteEvents()
        both = sides[0] if len(sides) == 1 else sides[0].union(sides[1])
        keyed = self._with_raw_rows(
            both.groupBy(*_KEY).agg(
                F.sum(1 - F.col("is_event")).alias("rows"),
                F.sum("is_event").alias("events"),
                F.max(F.col("writer") * F.col("is_event")).alias("deleter"),
            )
        ).cache()
        try:
            return hidden, self._account(keyed)
        finally:
            keyed.unpersist()

    def _read(
        self, files: Sequence[DataFile | DeleteFile], operation: int, rows: Mapping[ListedFile, int]
    ) -> tuple[DataFrame | None, int]:
        """Return the row ids in ACID files that the snapshot may see, and the number of others."""
        if not files:
            return None, 0
        frame, by_path = acid_scan(self._spark, [file.file for file in files], StructType())
        valid = is_valid(F.coalesce("currentTransaction", F.lit(-1)), self._plan.pinned.write_ids)
        counts = (
            frame.groupBy(FILE_PATH)
            .agg(
                F.count(F.lit(1)).alias("count"),
                F.count_if(~valid).alias("hidden"),
                F.count_if(F.coalesce("operation", F.lit(-1)) != operation).alias("others"),
                F.count_if(F.col("operation") == UPDATE).alias("updates"),
            )
            .collect()
        )
        by_file = {by_path[row[FILE_PATH]]: row for row in counts}
        self.problems += count_problems(
            [file.file for file in files], rows, {f: row["count"] for f, row in by_file.items()}
        )
        for file, row in by_file.items():
            # The major compaction of Hive 2 keeps updates as they are.
            of_base = row["updates"] if file.relative.startswith("base_") else 0
            if others := row["others"] - of_base:
                self.problems.append(
                    f"{file.path} has {others} records whose operation is not {operation}"
                )
        keys = frame.where(valid).select(
            partition_number(by_path, files).alias("partition"),
            F.coalesce("originalTransaction", F.lit(-1)).alias("write_id"),
            F.coalesce("bucket", F.lit(-1)).alias("bucket"),
            F.coalesce("rowId", F.lit(-1)).alias("row"),
            F.coalesce("currentTransaction", F.lit(-1)).alias("writer"),
            F.lit(int(operation == DELETE)).alias("is_event"),
        )
        return keys, sum(row["hidden"] for row in counts)

    def _with_raw_rows(self, keyed: DataFrame) -> DataFrame:
        """Add the column `raw`: 1 if the row id is in a raw file, else 0."""
        ranges = [
            (
                f.partition,
                f.row_ids.write_id,
                f.row_ids.bucket,
                f.row_ids.first_row,
                self._rows[f.file],
            )
            for f in self._plan.data
            if f.row_ids is not None
        ]
        if not ranges:
            return keyed.withColumn("raw", F.lit(0))
        schema = "partition int, write_id long, bucket int, first long, count long"
        raw = F.broadcast(self._spark.createDataFrame(ranges, schema)).alias("raw")
        ids = keyed.alias("ids")
        inside = F.col("ids.row") - F.col("raw.first")
        condition = (inside >= 0) & (inside < F.col("raw.count"))
        for name in ("partition", "write_id", "bucket"):
            condition &= F.col(f"ids.{name}") == F.col(f"raw.{name}")
        joined = ids.join(raw, condition, "left")
        return joined.select("ids.*", F.col("raw.first").isNotNull().cast("int").alias("raw"))

    def _account(self, keyed: DataFrame) -> DeleteEvents:
        there = F.col("rows") + F.col("raw")
        totals = keyed.agg(
            F.coalesce(F.sum("events"), F.lit(0)).alias("events"),
            F.coalesce(F.sum(F.when(F.col("events") > 0, there)), F.lit(0)).alias("hits"),
            F.count_if(F.col("events") > 0).alias("named"),
            F.count_if(there > 1).alias("repeated_ids"),
        ).first()
        assert totals is not None
        if totals["repeated_ids"]:
            examples = keyed.where(there > 1).limit(_EXAMPLES).collect()
            self.problems.append(
                f"{totals['repeated_ids']} row ids belong to more than one row: "
                f"{'; '.join(map(self._describe, examples))}"
            )
        explained: Counter[str] = Counter()
        orphans = keyed.where((there == 0) & (F.col("events") > 0))
        for row in (
            orphans.groupBy("partition", "deleter")
            .agg(F.count(F.lit(1)).alias("count"), F.first(F.struct(*_KEY)).alias("example"))
            .collect()
        ):
            base = self._bases.get(row["partition"])
            if base is not None and row["deleter"] <= base:
                explained[f"the base up to write id {base} was made without the row"] += row[
                    "count"
                ]
            else:
                self.problems.append(
                    f"{row['count']} delete events of write id {row['deleter']} name rows that are "
                    f"not there, such as {self._describe(row['example'])}"
                )
        return DeleteEvents(
            total=totals["events"],
            hits=totals["hits"],
            repeated=totals["events"] - totals["named"],
            explained=dict(explained),
        )

    def _describe(self, key: Row) -> str:
        partitions = self._plan.pinned.partitions
        where = (
            f" in partition {'/'.join(partitions[key['partition']].values)}" if partitions else ""
        )
        return f"({key['write_id']}, {key['bucket']}, {key['row']}){where}"


def count_nanoseconds(spark: SparkSession, plan: ReadPlan) -> Mapping[str, int]:
    """Count the values with nanoseconds in the ORC files of a plan, by column with any.

    ORC converts a timestamp to text with all digits. Timestamps in arrays, maps and structs are not
    counted.
    """
    columns = plan.pinned.table.storage.columns
    positions = [i for i, column in enumerate(columns) if column.type == "timestamp"]
    groups: dict[tuple[bool, tuple[str | None, ...]], list[DataFile]] = {}
    for file in plan.data:
        if any(i < len(file.columns or ()) for i in positions):
            groups.setdefault((file.is_acid, file.columns or ()), []).append(file)
    counts: Counter[str] = Counter()
    for (is_acid, names), files in groups.items():
        named = ((i, names[i]) for i in positions if i < len(names))
        present = {i: name for i, name in named if name is not None}
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
