"""Formats whose files describe their own columns and times: Parquet and Avro."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hiveacid.reader.columns import TableColumns
from hiveacid.reader.file_headers import file_headers
from hiveacid.reader.formats.base import FileFormat, Layout, TableRead, group
from hiveacid.reader.plan import DataFile
from hiveacid.reader.stored_types import StoredTypes, stored_types
from hiveacid.reader.timestamps import WriterTimes, writer_times


@dataclass(frozen=True)
class DescribedLayout(Layout):
    """Layout of files that describe themselves.

    `times` says what the files' dates and timestamps mean, None if the table has none. `stored` are
    the columns that the files store in another type.
    """

    times: WriterTimes | None
    stored: StoredTypes


class DescribedFormat(FileFormat[DescribedLayout]):
    """Format whose files describe themselves."""

    def columns_of(self, read: TableRead) -> Callable[[int], TableColumns]:
        """Return the function from a partition's number to the columns of its files."""
        return lambda number: read.columns

    def layouts(
        self, read: TableRead, files: Sequence[DataFile]
    ) -> dict[DescribedLayout, list[DataFile]]:
        """Group files by what they say of columns and times."""
        headers = file_headers(read.spark, self.name, [file.file for file in files])
        times = writer_times(
            read.spark, self.name, headers, read.columns.data, gregorian=read.gregorian
        )
        columns_of, is_case_sensitive = self.columns_of(read), read.is_case_sensitive

        def layout(file: DataFile) -> DescribedLayout:
            columns, found = columns_of(file.partition), headers[file.file].columns
            stored = stored_types(columns, self.name, file.file, found, is_case_sensitive)
            return DescribedLayout(columns, times[file.file], stored)

        return group((layout(file), file) for file in files)
