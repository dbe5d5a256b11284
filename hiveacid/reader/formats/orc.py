"""ORC files of insert-only tables as Hive's `OrcSerde` reads them: columns by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.reader.columns import refuse_unions_in_orc
from hiveacid.reader.formats.base import (
    FileFormat,
    Layout,
    ScannedFiles,
    TableRead,
    group,
    refuse_header_lines,
)
from hiveacid.reader.orc_columns import orc_columns, own_fields, raw_column
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import DataFile
from hiveacid.reader.scan import scan
from hiveacid.reader.timestamps import orc_calendar, orc_clock


@dataclass(frozen=True)
class OrcLayout(Layout):
    """Layout of ORC files.

    `names` are the files' own names of the table's columns (`DataFile.columns`). `converted` are
    the positions of columns that the files store in another type.
    """

    names: tuple[str | None, ...]
    converted: tuple[int, ...]


class Orc(FileFormat[OrcLayout]):
    """ORC."""

    name = "orc"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse partitions of a text table with header lines, and a `uniontype`."""
        refuse_header_lines(read.table, self.name)
        refuse_unions_in_orc(read.columns)

    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[OrcLayout, list[DataFile]]:
        """Group files by the names and the types of their columns."""
        return group(
            (OrcLayout(read.columns, file.columns or (), file.converted), file) for file in files
        )

    def scan(self, read: TableRead, layout: OrcLayout, files: Sequence[DataFile]) -> ScannedFiles:
        """Read columns by position."""
        columns = layout.columns
        present = own_fields(layout.names, columns.data)
        schema = StructType([field for field in present if field is not None])
        listed, calendar = [file.file for file in files], orc_calendar(read.gregorian)
        frame, by_path = scan(read.spark, self.name, listed, schema, calendar)
        data = [None if field is None else raw_column(field) for field in present]
        clock = orc_clock(read.spark, columns.data)
        return ScannedFiles(frame, by_path, orc_columns(columns, data, clock, layout.converted))

    def has_rows(
        self, spark: SparkSession, files: Sequence[ListedFile], footers: OrcFooters
    ) -> bool:
        """Return whether the footer of any file has a row count above 0."""
        return any(footer.rows for footer in footers.read(spark, files).values())
