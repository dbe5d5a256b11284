"""Rows of raw files, which have no ACID columns: with row ids only where somebody needs them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from types import MappingProxyType

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.plans import of_partitions, partitions_of
from hiveacid.reader.columns import (
    TableColumns,
    orc_columns,
    own_fields,
    partition_values,
    raw_column,
)
from hiveacid.reader.deletes import PARTITION, ROW_ID, Bitmap, DeleteFile, any_of
from hiveacid.reader.orc_footers import RowIdRange
from hiveacid.reader.partition_lookup import partition_number
from hiveacid.reader.plan import DataFile, ReadPlan
from hiveacid.reader.projection import ColumnExpr, project
from hiveacid.reader.row_positions import PlacedRows
from hiveacid.reader.scan import BLOCK_START, FILE_PATH, scan
from hiveacid.reader.splits import (
    Division,
    Split,
    divide,
    split_settings,
    stripe_bytes,
    stripes_of,
)
from hiveacid.reader.timestamps import orc_calendar, orc_clock

_TASKS = 4
"""Tasks of a numbered scan, at most this many times as many as Spark would start. A task of its own
for each of many small files would take longer than to read them."""

_FEW_ROWS = 20
"""One row of a file in so many may be read with all columns, so that filters reach the others."""


Bitmaps = Mapping[tuple[int, int, int], Bitmap]
"""Bitmaps by partition, write id and bucket."""


class Hit(Enum):
    """How deleted rows hit a file: not at all, only in few of its stripes, or anywhere."""

    NONE = 0
    FEW_STRIPES = 1
    ANY = 2


@dataclass(frozen=True)
class RawScan:
    """A scan of raw files with the same columns, not yet made."""

    spark: SparkSession
    plan: ReadPlan
    columns: TableColumns
    files: Sequence[DataFile]

    def rows(self) -> DataFrame:
        """Return all rows without row ids. Spark itself hands the statement's filters to ORC."""
        return self._plain(*self._scan())

    def numbered(self) -> DataFrame:
        """Return all rows with the columns of a row id. No filter goes below the numbers."""
        division = Division.by_session(self.spark, self._listed)
        placed = self._placed(*self._divided(division.split_bytes), division.split_bytes)
        row_id = [(name, name) for name in ROW_ID]
        rows = project(placed.with_row_ids(), [*self._shown(F.col(PARTITION)), *row_id])
        return _in_tasks(rows, len(placed.splits), division)

    def live(self, bitmaps: Bitmaps) -> DataFrame | None:
        """Return the rows that no bitmap names. No filter goes below the numbers of the rows.

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
        """Return the rows of all splits without deleted rows, and the live rows of the others.

        Filters of a statement reach ORC for the first. Of the others all columns are read.

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
        hit = [i for i, it in enumerate(splits) if _has_any(planned[it.file], bitmaps, it)]
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
        # Rows of untouched splits are not checked one by one.
        if (found := partitions.getNumPartitions()) != len(splits):
            raise UnreadableTableError(
                f"{self.columns.table} cannot be read: Spark divides its original files into "
                f"{found} parts, not into the {len(splits)} that are planned. Report it, with the "
                "version of Spark; a major compaction in Hive takes away the need to divide them."
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
        """Scan the files in splits of a size, each a partition of its own."""
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


def hit_files(data: Iterable[DataFile], deletes: Iterable[DeleteFile]) -> list[DataFile]:
    """Return the raw files with rows that delete files can name, by the files' statistics."""
    named: dict[int, dict[tuple[int, int], RowIdRange]] = {}
    for delete in deletes:
        if (ids := delete.row_id_range) is not None:
            of_partition = named.setdefault(delete.partition, {})
            before = of_partition.get(ids.bucket)
            of_partition[ids.bucket] = ids if before is None else before.union(ids)
    return [
        file
        for file in data
        if file.row_ids is not None
        and (ids := file.row_id_range) is not None
        and any(ids.intersects(other) for other in named.get(file.partition, {}).values())
    ]


def by_key(bitmaps: Iterable[Bitmap]) -> Bitmaps:
    """Return bitmaps by what they are of."""
    return {(bitmap.partition, bitmap.write_id, bitmap.bucket): bitmap for bitmap in bitmaps}


def hit_of(file: DataFile, bitmaps: Bitmaps | None) -> Hit:
    """Return how the deleted rows of bitmaps hit a raw file. Without bitmaps they are anywhere."""
    if bitmaps is None:
        return Hit.ANY
    stripes = stripes_of(file)
    hit = sum(stripe.rows for stripe in stripes if _has_any(file, bitmaps, stripe))
    if not hit:
        return Hit.NONE
    return Hit.FEW_STRIPES if _FEW_ROWS * hit <= sum(it.rows for it in stripes) else Hit.ANY


def _has_any(file: DataFile, bitmaps: Bitmaps, split: Split) -> bool:
    """Tell whether bitmaps name any row of a part of a raw file."""
    ids = file.row_ids
    assert ids is not None
    bitmap = bitmaps.get((file.partition, ids.write_id, ids.bucket))
    first = ids.first_row + split.rows_before
    return bitmap is not None and bitmap.has_any(first, first + split.rows)
