"""Footers of ORC files: rows, columns, statistics and the ACID version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import UnreadableTableError, VanishedFileError
from hiveacid.jvm.errors import JAVA_ERRORS, JavaError, java_exception
from hiveacid.jvm.filesystem import THREADS, batches, by_file_system
from hiveacid.jvm.java_types import JavaArray
from hiveacid.jvm.orc_readers import OrcReaders, Stripe
from hiveacid.reader.timestamps import shows_nanoseconds, timestamps_in
from hiveacid.reader.types import struct_fields

ACID_COLUMNS = (
    "operation",
    "originalTransaction",
    "bucket",
    "rowId",
    "currentTransaction",
    "row",
)
"""ACID columns: the schema of files that Hive's ACID writer wrote (`OrcRecordUpdater`).

Query-based compactions write the names in lower case.
"""

_LOWER_ACID_COLUMNS = tuple(name.lower() for name in ACID_COLUMNS)

_BATCH = 250
"""Maximum number of footers that one thread holds in Java's memory."""

_FIRST_USER_COLUMN = {False: 1, True: len(ACID_COLUMNS) + 1}
"""ORC's column id of the first user column, by whether the file has ACID columns."""

_ALL_LONGS = (0, (1 << 63) - 1)
_ALL_BUCKETS = (0, (1 << 31) - 1)


@dataclass(frozen=True)
class RowIdRange:
    """Lowest and highest value of each part of the row ids in a file, by its statistics.

    For a file of delete events, these are the row ids of the deleted rows. A part without
    statistics has the range of all values.
    """

    write_id: tuple[int, int]
    bucket: tuple[int, int]
    row: tuple[int, int]

    @classmethod
    def of(cls, numbers: Sequence[int]) -> RowIdRange:
        """Make a range from six numbers in the order of `RowIdRange.numbers`.

        For a column without statistics ORC returns a lowest value above the highest. A file has no
        statistics if it was written with a row index stride of 0: by Hive's streaming ingest, by
        the minor compaction of older versions, and in tables with such a property
        (`VectorizedOrcAcidRowBatchReader.findMinMaxKeys`).
        """
        write_id, bucket, row = (
            (low, high) if low <= high else every
            for low, high, every in zip(
                numbers[::2], numbers[1::2], (_ALL_LONGS, _ALL_BUCKETS, _ALL_LONGS), strict=True
            )
        )
        return cls(write_id, bucket, row)

    @property
    def is_known(self) -> bool:
        """Whether the file has statistics for all parts."""
        return _ALL_LONGS not in (self.write_id, self.row) and self.bucket != _ALL_BUCKETS

    @property
    def numbers(self) -> tuple[int, ...]:
        """Lowest and highest write id, bucket property and row: six numbers."""
        return *self.write_id, *self.bucket, *self.row

    def intersects(self, other: RowIdRange) -> bool:
        """Return whether both ranges can have a row id in common."""
        pairs = (
            (self.write_id, other.write_id),
            (self.bucket, other.bucket),
            (self.row, other.row),
        )
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)

    def union(self, other: RowIdRange) -> RowIdRange:
        """Return the smallest range that contains both."""

        def both(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
            return min(a[0], b[0]), max(a[1], b[1])

        return RowIdRange(
            both(self.write_id, other.write_id),
            both(self.bucket, other.bucket),
            both(self.row, other.row),
        )


@dataclass(frozen=True)
class OrcFooter:
    """Metadata of one ORC file: row count, schema, statistics and ACID version.

    `columns` are the names of the user columns in file order: the fields of `row` if the file has
    the ACID columns (`is_acid`), else the file's own columns. `types` are their ORC types.
    `row_id_range` is None without ACID columns or without rows. `acid_version` is the version in
    the file's metadata (`AcidUtils.OrcAcidVersion`), None if the file states none. `nanoseconds`
    are the positions of the columns with a timestamp at any depth for which the statistics show
    more than microseconds. `stripes` are empty for files with ACID columns, which do not need them.
    `operations` are the lowest and highest `operation` of a file with ACID columns that states no
    version; None if the file has no statistics.
    """

    rows: int
    columns: tuple[str | None, ...]
    is_acid: bool
    row_id_range: RowIdRange | None = None
    acid_version: int | None = None
    types: tuple[str, ...] = ()
    nanoseconds: tuple[int, ...] = ()
    stripes: tuple[Stripe, ...] = ()
    operations: tuple[int, int] | None = None


@dataclass(frozen=True)
class _Shape:
    """Columns of all files with one schema.

    `timestamps` has, for each timestamp at any depth of a column, the position of the column and
    ORC's column id of the timestamp.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    is_acid: bool
    timestamps: tuple[tuple[int, int], ...]


class KeptFooters(Protocol):
    """Persistent cache of footers (`FooterCache`)."""

    def get(self, files: Sequence[ListedFile]) -> Mapping[ListedFile, OrcFooter]:
        """Return the cached footers of `files`."""

    def put(self, footers: Mapping[ListedFile, OrcFooter]) -> None:
        """Store footers."""


class OrcFooters:
    """Footers of files by path, length and modification time, read once each. Thread-safe."""

    def __init__(self, kept: KeptFooters | None = None) -> None:
        """Use `kept` as a second cache that outlives this object."""
        self._kept = kept
        self._known: dict[ListedFile, OrcFooter] = {}

    def read(self, spark: SparkSession, files: Iterable[ListedFile]) -> dict[ListedFile, OrcFooter]:
        """Return the footer of each file.

        Raises:
            UnreadableTableError: a file is missing, truncated or not an ORC file; it is named.
        """
        wanted = list(files)
        new = [file for file in wanted if file not in self._known]
        if new and self._kept is not None:
            self._known.update(self._kept.get(new))
            new = [file for file in new if file not in self._known]
        with ThreadPoolExecutor(THREADS) as pool:
            for group in by_file_system(new, lambda file: file.path):
                reader = _FooterReader(spark, group[0].path)
                parts = batches(group, _BATCH)
                for part, found in zip(parts, pool.map(reader.read, parts), strict=True):
                    self._known.update(zip(part, found, strict=True))
        footers = {file: self._known[file] for file in wanted}
        if new and self._kept is not None:
            self._kept.put({file: footers[file] for file in new})
        return footers

    def add_operations(self, operations: Mapping[ListedFile, tuple[int, int]]) -> None:
        """Add the operations of files without statistics to footers that were read before.

        See `OrcFooter.operations`.
        """
        for file, found in operations.items():
            self._known[file] = replace(self._known[file], operations=found)


class _FooterReader:
    """Reader of ORC footers on one file system."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        """Prepare to read. `path` is the path of any of the files."""
        self._ask = OrcReaders.of(spark)
        self._open = self._ask.opener(spark, path)

    def read(self, files: Sequence[ListedFile]) -> list[OrcFooter]:
        """Return the footer of each file. Raises UnreadableTableError, naming the file."""
        try:
            return self._read(files)
        except (*JAVA_ERRORS, ValueError) as error:
            if len(files) > 1:
                # Java's error does not name the file.
                return [found for file in files for found in self.read([file])]
            file, reason = files[0], _reason(error)
            if "java.io.FileNotFoundException" in reason:
                raise VanishedFileError(
                    f"{file.path} was listed, and is gone. Take a new snapshot."
                ) from error
            raise UnreadableTableError(
                f"{file.path} ({file.length} bytes) cannot be read as ORC: {reason}. The "
                "file is damaged, or Spark's user may not read it: restore the file, or its "
                "permissions.",
                code="HIVEACID_UNREADABLE_FILE",
            ) from error

    def _read(self, files: Sequence[ListedFile]) -> list[OrcFooter]:
        readers = self._open([file.path for file in files], [file.length for file in files])
        return self._footers(readers)

    def _footers(self, readers: JavaArray) -> list[OrcFooter]:
        ask = self._ask
        # Not `toJson`: it does not escape quotes in names.
        schemas = ask.schemas(readers)
        known = {schema: _shape(schema) for schema in set(schemas)}
        shapes = [known[schema] for schema in schemas]
        rows = ask.rows(readers)
        statistics = ask.statistics(readers)
        versions = ask.acid_versions(readers)
        return [
            OrcFooter(
                count,
                shape.columns,
                shape.is_acid,
                row_ids,
                version,
                shape.types,
                finer,
                stripes,
                operations,
            )
            for shape, count, row_ids, version, finer, stripes, operations in zip(
                shapes,
                rows,
                self._row_id_ranges(statistics, shapes, rows),
                versions,
                self._nanoseconds(statistics, shapes),
                self._stripes(readers, shapes, rows),
                self._operations(statistics, shapes, rows, versions),
                strict=True,
            )
        ]

    def _operations(
        self,
        statistics: JavaArray,
        shapes: Sequence[_Shape],
        rows: Sequence[int],
        versions: Sequence[int | None],
    ) -> list[tuple[int, int] | None]:
        members = [
            i
            for i, shape in enumerate(shapes)
            if shape.is_acid and rows[i] > 0 and versions[i] is None
        ]
        found: list[tuple[int, int] | None] = [None] * len(shapes)
        if members:
            some = self._ask.operations(self._ask.some(statistics, members, len(shapes)))
            for i, operations in zip(members, some, strict=True):
                found[i] = operations
        return found

    def _stripes(
        self, readers: JavaArray, shapes: Sequence[_Shape], rows: Sequence[int]
    ) -> list[tuple[Stripe, ...]]:
        members = [i for i, shape in enumerate(shapes) if not shape.is_acid and rows[i] > 0]
        found: list[tuple[Stripe, ...]] = [()] * len(shapes)
        some = self._ask.stripes(self._ask.some(readers, members, len(shapes)))
        for i, stripes in zip(members, some, strict=True):
            if sum(stripe.rows for stripe in stripes) != rows[i]:
                raise ValueError(
                    f"its stripes have {sum(stripe.rows for stripe in stripes)} rows, and its "
                    f"footer says {rows[i]}"
                )
            found[i] = stripes
        return found

    def _row_id_ranges(
        self, statistics: JavaArray, shapes: Sequence[_Shape], rows: Sequence[int]
    ) -> list[RowIdRange | None]:
        members = [i for i, shape in enumerate(shapes) if shape.is_acid and rows[i] > 0]
        found: list[RowIdRange | None] = [None] * len(shapes)
        numbers = self._ask.row_ids(self._ask.some(statistics, members, len(shapes)))
        for i, of_file in zip(members, numbers, strict=True):
            found[i] = RowIdRange.of(of_file)
        return found

    def _nanoseconds(
        self, statistics: JavaArray, shapes: Sequence[_Shape]
    ) -> list[tuple[int, ...]]:
        found: list[set[int]] = [set() for _ in shapes]
        for shape in {shape for shape in shapes if shape.timestamps}:
            members = [i for i, other in enumerate(shapes) if other == shape]
            alike = self._ask.some(statistics, members, len(shapes))
            for position, number in shape.timestamps:
                texts = self._ask.texts(number, alike)
                for i, text in zip(members, texts, strict=True):
                    if shows_nanoseconds(text):
                        found[i].add(position)
        return [tuple(sorted(positions)) for positions in found]


def _reason(error: JavaError | ValueError) -> str:
    """Return Java's message, without the exception that a method handle call wraps around it."""
    if isinstance(error, ValueError):
        return str(error)
    exception = java_exception(error)
    cause = exception.getCause()
    wrapped = exception.getClass().getSimpleName() == "UndeclaredThrowableException"
    return str((cause if wrapped and cause is not None else exception).toString())


def _shape(schema: str) -> _Shape:
    """Parse the text of ORC's `TypeDescription`."""
    fields = struct_fields(schema)
    is_acid = tuple(name.lower() for name, _ in fields) == _LOWER_ACID_COLUMNS
    if is_acid:
        fields = struct_fields(dict(fields)["row"])
    types = tuple(type_ for _, type_ in fields)
    timestamps = tuple(timestamps_in(types, _FIRST_USER_COLUMN[is_acid]))
    return _Shape(tuple(name for name, _ in fields), types, is_acid, timestamps)
