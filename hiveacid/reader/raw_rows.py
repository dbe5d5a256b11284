"""Rows of raw files, which have no ACID columns; with row ids only where they are needed.

Spark does not expose a row's position in an ORC file. But a partition of a numbered scan is one
split (`raw_files`), and Spark's ORC reader returns the rows of a split in the order of the file,
all of them if no filter is pushed down. So a row's position is the number of rows in the file
before the split, which the footers show, plus the row's position in the partition.

`monotonically_increasing_id` counts the rows in a partition of the scan itself, before anything
moves rows: a retried or speculative task counts the same rows from 0 again, and a user's limit,
union, coalesce or join is above the count. The expression is nondeterministic for Spark, so Spark
pushes no filter below it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.formatting import quoted
from hiveacid.jvm.plans import of_partitions, partitions_of
from hiveacid.reader.columns import TableColumns, partition_values
from hiveacid.reader.deletes import (
    BUCKET,
    PARTITION,
    ROW,
    ROW_ID,
    WRITE_ID,
    any_of,
    fits_in_a_query,
    longs_literal,
)
from hiveacid.reader.orc_columns import orc_columns, own_fields, raw_column
from hiveacid.reader.partition_lookup import partition_number, path_hash
from hiveacid.reader.plan import DataFile, ReadPlan, RowPositions
from hiveacid.reader.projection import ColumnExpr, project
from hiveacid.reader.raw_files import (
    Bitmaps,
    Division,
    Split,
    divide,
    has_any,
    split_settings,
    stripe_bytes,
)
from hiveacid.reader.scan import BLOCK_START, FILE_PATH, scan
from hiveacid.reader.timestamps import orc_calendar, orc_clock

_TASKS = 4
"""A numbered scan has at most this many times the tasks that Spark would start. With many small
files, one task for each file would take longer than reading the files."""

_PLACE = "__hiveacid_place"
_SPLIT = "__hiveacid_split"
_BIT = "__hiveacid_bit"
_IN_PARTITION = (1 << 33) - 1
"""Mask of the bits of `monotonically_increasing_id` that count the rows in a partition."""


@dataclass(frozen=True)
class RawScan:
    """Description of a scan of raw files with the same columns."""

    spark: SparkSession
    plan: ReadPlan
    columns: TableColumns
    files: Sequence[DataFile]

    def rows(self) -> DataFrame:
        """Return all rows without row ids. Spark itself pushes the statement's filters to ORC."""
        return self._plain(*self._scan())

    def numbered(self) -> DataFrame:
        """Return all rows with the columns of a row id. No filter is pushed to ORC."""
        division = Division.by_session(self.spark, self._listed)
        placed = self._placed(*self._divided(division.split_bytes), division.split_bytes)
        row_id = [(name, name) for name in ROW_ID]
        rows = project(placed.with_row_ids(), [*self._shown(F.col(PARTITION)), *row_id])
        return _in_tasks(rows, len(placed.splits), division)

    def live(self, bitmaps: Bitmaps) -> DataFrame | None:
        """Return the rows that no bitmap names. No filter is pushed to ORC.

        Returns:
            None where the masks would be too large for a query.
        """
        division = Division.by_session(self.spark, self._listed)
        placed = self._placed(*self._divided(division.split_bytes), division.split_bytes)
        rows = placed.live(bitmaps)
        if rows is None:
            return None
        shown = project(rows, self._shown(F.col(PARTITION)))
        return _in_tasks(shown, len(placed.splits), division)

    def few_live(self, bitmaps: Bitmaps) -> tuple[DataFrame, DataFrame] | None:
        """Return the rows of the splits without deleted rows, and the live rows of other splits.

        In splits without deleted rows the statement's filters are pushed to ORC. Other splits are
        read with all columns.

        Returns:
            None where the masks would be too large for a query.
        """
        division = Division.by_session(self.spark, self._listed)
        split_bytes = min(division.split_bytes, stripe_bytes(self.files))
        frame, by_path = self._divided(split_bytes)
        placed = self._placed(frame, by_path, split_bytes)
        live = placed.live(bitmaps)
        if live is None:
            return None
        splits, planned = placed.splits, {data.file: data for data in self.files}
        hit = [i for i, it in enumerate(splits) if has_any(planned[it.file], bitmaps, it)]
        paths = {file: path for path, file in by_path.items()}
        by_start: dict[int, list[str]] = {}
        for split in (splits[number] for number in hit):
            by_start.setdefault(split.start, []).append(paths[split.file])
        is_hit = any_of(
            [
                (F.col(BLOCK_START) == start) & F.col(FILE_PATH).isin(of_start)
                for start, of_start in by_start.items()
            ]
        )
        untouched = self._plain(frame.where(~is_hit), by_path)
        live = project(live, self._shown(F.col(PARTITION)))
        partitions = partitions_of(live)
        # The check of `PlacedRows` does not cover the rows of untouched splits.
        if (found := partitions.getNumPartitions()) != len(splits):
            raise UnreadableTableError(
                f"{self.columns.table} cannot be read: Spark divides its original files into "
                f"{found} parts, and the plan has {len(splits)}. Run a major compaction in "
                "Hive, after which no file is divided, and report the case with the version "
                "of Spark.",
                code="HIVEACID_SPLITS_DIFFER_FROM_PLAN",
            )
        live = of_partitions(self.spark, live, partitions, hit)
        return (
            _in_tasks(untouched, len(splits), division),
            _in_tasks(live, len(hit), division),
        )

    @property
    def _listed(self) -> list[ListedFile]:
        return [data.file for data in self.files]

    @cached_property
    def _fields(self) -> list[StructField | None]:
        return own_fields(self.files[0].columns, self.columns.data)

    def _scan(
        self, settings: Mapping[str, str | None] = MappingProxyType({})
    ) -> tuple[DataFrame, dict[str, ListedFile]]:
        schema = StructType([field for field in self._fields if field is not None])
        calendar = orc_calendar(self.plan.pinned.gregorian)
        return scan(self.spark, "orc", self._listed, schema, calendar, settings=settings)

    def _plain(self, frame: DataFrame, by_path: Mapping[str, ListedFile]) -> DataFrame:
        return project(frame, self._shown(partition_number(by_path, self.files)))

    def _divided(self, split_bytes: int) -> tuple[DataFrame, dict[str, ListedFile]]:
        """Scan the files in splits of this size, one in each partition."""
        return self._scan(split_settings(split_bytes))

    def _placed(
        self, frame: DataFrame, by_path: Mapping[str, ListedFile], split_bytes: int
    ) -> PlacedRows:
        splits = divide(self.files, split_bytes)
        return PlacedRows.of(self.spark, frame, by_path, self.files, splits)

    def _shown(self, partition: Column) -> list[ColumnExpr]:
        present = [None if field is None else raw_column(field) for field in self._fields]
        clock = orc_clock(self.spark, self.columns.data)
        data = orc_columns(self.columns, present, clock, self.files[0].converted)
        return [*data, *partition_values(partition, self.plan.pinned.partitions, self.columns)]


def _in_tasks(frame: DataFrame, splits: int, division: Division) -> DataFrame:
    most = _TASKS * division.tasks
    return frame.coalesce(most) if splits > most else frame


@dataclass(frozen=True)
class PlacedRows:
    """Rows of raw files, each with its split and its position in the split.

    `files` are the planned files, all with `row_ids`. `splits` are their splits, by the number of
    Spark's partition.
    """

    spark: SparkSession
    frame: DataFrame
    files: Sequence[DataFile]
    splits: Sequence[Split]

    @classmethod
    def of(
        cls,
        spark: SparkSession,
        frame: DataFrame,
        by_path: Mapping[str, ListedFile],
        files: Sequence[DataFile],
        splits: Sequence[Split],
    ) -> PlacedRows:
        """Number the rows of a scan of the files without filters, one split in each partition.

        The first row of a partition must belong to the planned split, and no partition may have
        more rows than its split. Otherwise the statement fails. Both are checked before any filter
        of the statement can remove the row.
        """
        hashes = {file: path_hash(path) for path, file in by_path.items()}
        number, place = F.spark_partition_id(), F.col(_PLACE)
        is_planned = number < len(splits)
        is_planned &= place < _of_split(spark, [split.rows for split in splits], number)
        starts, paths = [it.start for it in splits], [hashes[it.file] for it in splits]
        is_of_split = F.col(BLOCK_START) == _of_split(spark, starts, number)
        is_of_split &= F.xxhash64(FILE_PATH) == _of_split(spark, paths, number)
        # The path is checked once a partition: its hash would cost more than everything else.
        is_planned &= F.when(place == 0, is_of_split).otherwise(F.lit(True))
        wrong = F.raise_error(
            F.lit(
                "[HIVEACID_SPLITS_DIFFER_FROM_PLAN] Spark divides original files differently "
                "from the plan. Run a major compaction in Hive, and report the case with the "
                "version of Spark."
            )
        )
        counted = F.monotonically_increasing_id().bitwiseAND(F.lit(_IN_PARTITION))
        rows = frame.select("*", counted.alias(_PLACE))
        # Both selects are nondeterministic for Spark: it pushes no filter below the check either.
        checked = F.when(is_planned, place).otherwise(wrong.cast("bigint"))
        others = [F.col(quoted(name)) for name in frame.columns]
        rows = rows.select(*others, checked.alias(_PLACE), number.alias(_SPLIT))
        return cls(spark, rows, files, splits)

    def with_row_ids(self) -> DataFrame:
        """Return the rows with the columns of a row id."""
        planned = {data.file: data for data in self.files}
        ids = self._row_ids
        firsts = [ids[split.file].first_row + split.rows_before for split in self.splits]
        write_ids = [ids[split.file].write_id for split in self.splits]
        buckets = [ids[split.file].bucket for split in self.splits]
        partitions = [planned[split.file].partition for split in self.splits]
        return self.frame.withColumns(
            {
                ROW: self._of_split(firsts) + F.col(_PLACE),
                WRITE_ID: self._of_split(write_ids),
                BUCKET: self._of_split(buckets).cast("int"),
                PARTITION: self._of_split(partitions).cast("int"),
            }
        ).drop(_PLACE, _SPLIT)

    def live(self, bitmaps: Bitmaps) -> DataFrame | None:
        """Return the rows that no bitmap names, with the column `PARTITION`.

        One array concatenates the masks of all splits with deleted rows, so that one look-up finds
        the bit of a row, whatever the number of bitmaps.

        Args:
            bitmaps: by partition, write id and bucket.

        Returns:
            None where the array would be too large.
        """
        planned = {data.file: data for data in self.files}
        masks, first_bits = array("q"), list[int | None]()
        for split in self.splits:
            ids, partition = self._row_ids[split.file], planned[split.file].partition
            bitmap = bitmaps.get((partition, ids.write_id, ids.bucket))
            first = ids.first_row + split.rows_before
            end = first + split.rows
            if bitmap is None or not bitmap.has_any(first, end):
                first_bits.append(None)
                continue
            low, high = first >> 6, (end - 1) >> 6
            if not fits_in_a_query(len(masks) + high - low + 1):
                return None
            first_bits.append(64 * len(masks) + (first & 63))
            masks += bitmap.between(low, high)
        partition_numbers = [planned[split.file].partition for split in self.splits]
        rows = self.frame.withColumn(PARTITION, self._of_split(partition_numbers).cast("int"))
        if masks:
            nowhere = 64 * len(masks)
            firsts = [nowhere if bit is None else bit for bit in first_bits]
            rows = rows.withColumn(_BIT, self._of_split(firsts) + F.col(_PLACE))
            block = F.shiftright(_BIT, 6).cast("int")
            mask = F.get(longs_literal(self.spark, masks), block)
            is_deleted = F.getbit(mask, F.expr(f"cast({_BIT} & 63 AS int)")) == 1
            # A split without deleted rows has no masks.
            rows = rows.where(~F.coalesce(is_deleted, F.lit(False)))
        return rows.drop(_PLACE, _SPLIT, _BIT)

    @property
    def _row_ids(self) -> Mapping[ListedFile, RowPositions]:
        return {data.file: data.row_ids for data in self.files if data.row_ids is not None}

    def _of_split(self, values: Sequence[int]) -> Column:
        return _of_split(self.spark, values, F.col(_SPLIT))


def _of_split(spark: SparkSession, values: Sequence[int], number: Column) -> Column:
    """Return the value of a split by its number."""
    if len(set(values)) == 1:
        return F.lit(values[0]).cast("bigint")
    return F.get(longs_literal(spark, array("q", values)), number)
