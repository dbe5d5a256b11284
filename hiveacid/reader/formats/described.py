"""Formats whose files have a schema and time metadata: Parquet and Avro."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructField, StructType

from hiveacid.reader.columns import TableColumns
from hiveacid.reader.file_headers import FileHeader, file_headers
from hiveacid.reader.formats.base import FileFormat, Layout, TableRead, group
from hiveacid.reader.plan import DataFile
from hiveacid.reader.stored_types import StoredTypes, stored_types
from hiveacid.reader.writer_time_zones import WriterTimes, writer_times


@dataclass(frozen=True)
class DescribedLayout(Layout):
    """Layout of files that have a schema.

    `times` is the meaning of the files' dates and timestamps; None for a table without them.
    `stored` are the columns that the files store in another type. `names` are the files' own names
    of the columns if columns are found by position, with None for a column that the files lack.
    Where columns are found by name, `names` is None. `byte_stream_split`: the files have Parquet's
    encoding of this name.
    """

    times: WriterTimes | None
    stored: StoredTypes
    names: tuple[str | None, ...] | None = None
    byte_stream_split: bool = False


class DescribedFormat(FileFormat[DescribedLayout]):
    """Format whose files have a schema."""

    def columns_of(self, read: TableRead) -> Callable[[int], TableColumns]:
        """Return the function from a partition's number to the columns of its files."""
        return lambda number: read.columns

    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[DescribedLayout, list[DataFile]]:
        """Group files by their schema and time metadata."""
        headers = file_headers(read.spark, self.name, [file.file for file in files])
        columns_of = self.columns_of(read)

        def layout(file: DataFile) -> DescribedLayout:
            columns, header = columns_of(file.partition), headers[file.file]
            names = self.names_of(read, file, columns, header)
            found = header.columns if names is None else _renamed(columns, header, names)
            times = writer_times(
                read.spark,
                self.name,
                header,
                columns.data,
                names or columns.data.names,
                gregorian=read.gregorian,
                time_zone=read.time_zones.get(self.name),
                is_hive_3=read.is_hive_3,
            )
            stored = stored_types(columns, self.name, file.file, found)
            return DescribedLayout(columns, times, stored, names, header.byte_stream_split)

        return group((layout(file), file) for file in files)

    def names_of(
        self, read: TableRead, file: DataFile, columns: TableColumns, header: FileHeader
    ) -> tuple[str | None, ...] | None:
        """Return the file's own names of the columns if they are found by position; else None."""
        return None


def _renamed(columns: TableColumns, header: FileHeader, names: Sequence[str | None]) -> StructType:
    """Return the columns of a file under the table's names."""
    of_file = {field.name: field.dataType for field in header.columns}
    return StructType(
        [
            StructField(field.name, of_file[name])
            for field, name in zip(columns.data, names, strict=True)
            if name is not None and name in of_file
        ]
    )
