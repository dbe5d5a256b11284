"""Base class of the file formats of insert-only tables.

A new format is one module with one class, and one line in `formats/__init__.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Generic, TypeVar

from pyspark.sql import DataFrame, SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.metastore.models import StorageDescriptor, Table
from hiveacid.reader.columns import TableColumns
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import DataFile
from hiveacid.reader.projection import ColumnExpr
from hiveacid.reader.properties import header_lines, not_read_yet


@dataclass(frozen=True)
class TableRead:
    """One read of an insert-only table.

    `storages` has the storage of each partition, by `DataFile.partition`; for an unpartitioned
    table, the table's own. `columns` are the table's columns. `gregorian` is the pinned table's
    setting, and `is_hive_3` is the pinned table's. `time_zones` are its zones for files that name
    none, by the name of the format.
    """

    spark: SparkSession
    table: Table
    storages: Sequence[StorageDescriptor]
    columns: TableColumns
    gregorian: bool = False
    time_zones: Mapping[str, str | None] = field(default_factory=dict)
    is_hive_3: bool | None = False


@dataclass(frozen=True)
class Layout:
    """Key by which files are grouped: one scan reads the files of one layout.

    `columns` are the columns that the files are read with: in some formats the partition's
    columns, which may be older than the table's.
    """

    columns: TableColumns


AnyLayout = TypeVar("AnyLayout", bound=Layout)


@dataclass(frozen=True)
class ScannedFiles:
    """Rows of some files.

    `frame` has the column `scan.FILE_PATH` and the columns that `columns` need. `by_path` maps each
    value of `FILE_PATH` to a file: if a scan returns one path for several files, to any file of the
    same directory. `columns` are expressions for `Layout.columns`, in the same order.
    """

    frame: DataFrame
    by_path: Mapping[str, ListedFile]
    columns: Sequence[ColumnExpr]


class FileFormat(ABC, Generic[AnyLayout]):
    """One file format of insert-only tables."""

    name: str
    """Name in messages, and Spark's name where Spark has a reader of the format."""

    def check_spark(self, read: TableRead) -> None:
        """Refuse a Spark that lacks what the format needs; called once a read.

        Raises:
            UnreadableTableError: naming what is missing.
        """
        return None

    @abstractmethod
    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse a table or partition whose properties show that its files cannot be read exactly.

        Raises:
            UnreadableTableError: naming the property, or what is missing in Spark.
        """

    @abstractmethod
    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[AnyLayout, list[DataFile]]:
        """Group files by layout: one scan reads the files of a group. May read metadata of files.

        Raises:
            UnreadableTableError: naming a file that cannot be read exactly.
        """

    @abstractmethod
    def scan(self, read: TableRead, layout: AnyLayout, files: Sequence[DataFile]) -> ScannedFiles:
        """Return the lazy rows of files with one layout. Runs no Spark job.

        Raises:
            UnreadableTableError: a column cannot be read exactly.
        """

    def has_rows(
        self, spark: SparkSession, files: Sequence[ListedFile], footers: OrcFooters
    ) -> bool:
        """Return whether any of the files has a row. None of the files has a length of 0.

        Raises:
            UnreadableTableError: a file is not there, or not of this format.
        """
        return bool(files)


def group(layouts: Iterable[tuple[AnyLayout, DataFile]]) -> dict[AnyLayout, list[DataFile]]:
    """Return the files of each layout, in their order."""
    groups: dict[AnyLayout, list[DataFile]] = {}
    for layout, file in layouts:
        groups.setdefault(layout, []).append(file)
    return groups


def columns_of_partitions(
    read: TableRead, as_in_partition: Callable[[TableColumns, StorageDescriptor], TableColumns]
) -> Callable[[int], TableColumns]:
    """Return the function from a partition's number to the columns that its files are read with.

    `as_in_partition` returns the columns of a partition whose columns differ from the table's.
    """

    @cache
    def columns_of(number: int) -> TableColumns:
        storage = read.storages[number]
        if storage.columns == read.table.storage.columns:
            return read.columns
        return as_in_partition(read.columns, storage)

    return columns_of


def refuse_header_lines(table: Table, name: str) -> None:
    """Refuse a text table with header lines that has a partition in another format.

    Hive skips as many rows in each file of the partition as the table has header lines.

    Raises:
        UnreadableTableError: naming the property.
    """
    lines = header_lines(table)
    if lines:
        raise not_read_yet(
            table.name, f"a partition in {name}", "skip.header.line.count", str(lines)
        )
