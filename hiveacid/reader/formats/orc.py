"""ORC files of insert-only tables as Hive's `OrcSerde` reads them: columns by position."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession
from pyspark.sql.types import StructField, StructType

from hiveacid.acid.layout import ListedFile
from hiveacid.metastore.models import StorageDescriptor
from hiveacid.reader.columns import orc_columns, raw_column
from hiveacid.reader.formats.base import (
    FileFormat,
    Layout,
    ScannedFiles,
    TableRead,
    group,
    refuse_header_lines,
)
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.plan import DataFile
from hiveacid.reader.scan import scan
from hiveacid.reader.timestamps import orc_clock


@dataclass(frozen=True)
class OrcLayout(Layout):
    """Layout of ORC files.

    `names` are the files' own names of the columns, `converted` the positions of columns that the
    files store in another type (`DataFile`).
    """

    names: tuple[str, ...]
    converted: tuple[int, ...]


class Orc(FileFormat[OrcLayout]):
    """ORC."""

    name = "orc"

    def check(self, read: TableRead, storage: StorageDescriptor) -> None:
        """Refuse partitions in a table of text with header lines."""
        refuse_header_lines(read.table, self.name)

    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[OrcLayout, list[DataFile]]:
        """Group files by the names and the types of their columns."""
        return group(
            (OrcLayout(read.columns, file.columns or (), file.converted), file) for file in files
        )

    def scan(self, read: TableRead, layout: OrcLayout, files: Sequence[DataFile]) -> ScannedFiles:
        """Read the i-th column of the files as the table's i-th column."""
        columns = layout.columns
        present = zip(layout.names, columns.data.fields, strict=False)
        schema = StructType([StructField(name, field.dataType) for name, field in present])
        frame, by_path = scan(read.spark, self.name, [file.file for file in files], schema)
        data = [raw_column(field) for field in schema]
        clock = orc_clock(read.spark, columns.data)
        return ScannedFiles(frame, by_path, orc_columns(columns, data, clock, layout.converted))

    def has_rows(
        self, spark: SparkSession, files: Sequence[ListedFile], footers: OrcFooters
    ) -> bool:
        """Tell by the footers whether any file has a row."""
        return any(footer.rows for footer in footers.read(spark, files).values())
