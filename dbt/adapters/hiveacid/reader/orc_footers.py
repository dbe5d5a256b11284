"""What ORC files say about themselves, read once with Spark's own ORC library and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.exceptions import UnreadableTableError, VanishedFileError
from dbt.adapters.hiveacid.reader.bulk import Bulk
from dbt.adapters.hiveacid.reader.hadoop import PATH, THREADS, batches, by_file_system
from dbt.adapters.hiveacid.reader.orc_timestamps import shows_nanoseconds, timestamps_in
from dbt.adapters.hiveacid.reader.types import struct_fields

ACID_COLUMNS = (
    "operation",
    "originalTransaction",
    "bucket",
    "rowId",
    "currentTransaction",
    "row",
)
"""The columns of a file that Hive's ACID writer wrote (`OrcRecordUpdater`)."""

_ACID_VERSION_KEY = "hive.acid.version"

_BATCH = 250
"""Files that are open at once in one thread."""

_OPTIONS = "org.apache.orc.OrcFile$ReaderOptions"
_BUFFER = "java.nio.ByteBuffer"
_CONFIGURATION = "org.apache.hadoop.conf.Configuration"
_FILE_SYSTEM = "org.apache.hadoop.fs.FileSystem"
_READER = "org.apache.orc.Reader"
_STATISTICS = "org.apache.orc.ColumnStatistics"
_INTEGERS = "org.apache.orc.IntegerColumnStatistics"
_SCHEMA = "org.apache.orc.TypeDescription"

_ORIGINAL_WRITE_ID, _BUCKET, _ROW = 2, 3, 4
"""The numbers of the statistics of the row id's parts: 0 is the root, 1 is `operation`."""

T = TypeVar("T")

_FIRST_USER_COLUMN = {False: 1, True: len(ACID_COLUMNS) + 1}
"""The number of the statistics of the first user's column, by whether there are ACID columns."""


@dataclass(frozen=True)
class OrcFooter:
    """The shape of one ORC file.

    `columns` are the names of the user's columns in file order: those inside `row` if the file has
    the ACID columns (`is_acid`), else the file's own. `types` are the types that ORC gives them.
    `min_original_write_id` is the lowest value of `originalTransaction`, by the file's statistics;
    None without ACID columns. `acid_version` is what the ACID writer says of its format
    (`AcidUtils.OrcAcidVersion`), None if it says nothing. `nanoseconds` are the positions of the
    columns for whose timestamps, also inside, the file's statistics show more than microseconds.
    """

    rows: int
    columns: tuple[str, ...]
    is_acid: bool
    min_original_write_id: int | None = None
    acid_version: int | None = None
    types: tuple[str, ...] = ()
    nanoseconds: tuple[int, ...] = ()


@dataclass(frozen=True)
class RowIdRange:
    """The lowest and the highest value of each part of the row ids in a file, by its statistics.

    Those of a file of delete events are the ids of the deleted rows.
    """

    write_id: tuple[int, int]
    bucket: tuple[int, int]
    row: tuple[int, int]

    def intersects(self, other: RowIdRange) -> bool:
        """Whether both can have a row id in common."""
        pairs = (
            (self.write_id, other.write_id),
            (self.bucket, other.bucket),
            (self.row, other.row),
        )
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)

    def union(self, other: RowIdRange) -> RowIdRange:
        """The ranges around both."""

        def both(a: tuple[int, int], b: tuple[int, int]) -> tuple[int, int]:
            return min(a[0], b[0]), max(a[1], b[1])

        return RowIdRange(
            both(self.write_id, other.write_id),
            both(self.bucket, other.bucket),
            both(self.row, other.row),
        )


@dataclass(frozen=True)
class _Shape:
    """What all files with one schema have in common.

    `timestamps` has, for each timestamp in a column or inside of it, the position of the column
    and the number of the timestamp's statistics.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    is_acid: bool
    timestamps: tuple[tuple[int, int], ...]


class KeptFooters(Protocol):
    """Where footers are kept from run to run (`FooterCache`)."""

    def get(self, files: Sequence[ListedFile]) -> Mapping[ListedFile, OrcFooter]:
        """The footers that are known."""

    def put(self, footers: Mapping[ListedFile, OrcFooter]) -> None:
        """Keep footers."""


class OrcFooters:
    """Footers of files that do not change, by path, length and modification time. Thread-safe."""

    def __init__(self, kept: KeptFooters | None = None) -> None:
        """`kept` remembers footers longer than this object lives."""
        self._kept = kept
        self._known: dict[ListedFile, OrcFooter] = {}
        self._ranges: dict[ListedFile, RowIdRange] = {}

    def read(self, spark: SparkSession, files: Iterable[ListedFile]) -> dict[ListedFile, OrcFooter]:
        """The footer of each file.

        Raises:
            UnreadableTableError: a file is missing, truncated or no ORC file; it is named.
        """
        wanted = list(files)
        new = [file for file in wanted if file not in self._known]
        if new and self._kept is not None:
            self._known.update(self._kept.get(new))
            new = [file for file in new if file not in self._known]
        footers = self._look_up(spark, wanted, self._known, _FooterReader.read)
        if new and self._kept is not None:
            self._kept.put({file: footers[file] for file in new})
        return footers

    def row_id_ranges(
        self, spark: SparkSession, files: Iterable[ListedFile]
    ) -> dict[ListedFile, RowIdRange]:
        """The row ids in each of some files that have ACID columns and rows.

        Raises:
            UnreadableTableError: a file is missing, truncated or no ORC file; it is named.
        """
        return self._look_up(spark, files, self._ranges, _FooterReader.row_id_ranges)

    def _look_up(
        self,
        spark: SparkSession,
        files: Iterable[ListedFile],
        known: dict[ListedFile, T],
        read: Callable[[_FooterReader, Sequence[ListedFile]], list[T]],
    ) -> dict[ListedFile, T]:
        wanted = list(files)
        missing = [file for file in wanted if file not in known]
        with ThreadPoolExecutor(THREADS) as pool:
            for group in by_file_system(missing, lambda file: file.path):
                reader = partial(read, _FooterReader(spark, group[0].path))
                parts = batches(group, _BATCH)
                for part, found in zip(parts, pool.map(reader, parts), strict=True):
                    known.update(zip(part, found, strict=True))
        return {file: known[file] for file in wanted}


class _FooterReader:
    """Reads footers of files on one file system."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        """`path` is that of any of the files."""
        self._bulk = Bulk(spark)
        self._configuration = spark._jsc.hadoopConfiguration()
        self._file_system = self._bulk.java(PATH)(path).getFileSystem(self._configuration)
        self._open = self._bulk.static(
            "org.apache.orc.OrcFile", "createReader", _READER, [PATH, _OPTIONS]
        )
        # New options for each file: ORC's library keeps the file's footer in them. The length is
        # known from the listing, so that nobody asks the file system again.
        new_options = self._bulk.with_constants(
            self._bulk.constructor(_OPTIONS, [_CONFIGURATION]), 0, self._configuration
        )
        on_file_system = self._bulk.with_constants(
            self._bulk.method(_OPTIONS, "filesystem", _OPTIONS, [_FILE_SYSTEM]),
            1,
            self._file_system,
        )
        self._options = self._bulk.on(
            self._bulk.then(new_options, on_file_system),
            self._bulk.method(_OPTIONS, "maxLength", _OPTIONS, ["long"]),
        )
        self._close = self._bulk.method("java.io.Closeable", "close", "void")
        self._rows = self._bulk.method(_READER, "getNumberOfRows", "long")
        self._schema = self._bulk.method(_READER, "getSchema", _SCHEMA)
        self._says_version = self._bulk.with_constants(
            self._bulk.method(_READER, "hasMetadataValue", "boolean", ["String"]),
            1,
            _ACID_VERSION_KEY,
        )
        self._version = self._bulk.then(
            self._bulk.with_constants(
                self._bulk.method(_READER, "getMetadataValue", _BUFFER, ["String"]),
                1,
                _ACID_VERSION_KEY,
            ),
            self._bulk.with_constants(self._bulk.method(_BUFFER, "get", "byte", ["int"]), 1, 0),
        )
        self._minimum = self._statistic(_ORIGINAL_WRITE_ID, "getMinimum")

    def _statistics(self, number: int) -> Any:
        """The function from a reader to the statistics of one column."""
        return self._bulk.then(
            self._bulk.method(_READER, "getStatistics", f"[{_STATISTICS};"),
            self._bulk.element(_STATISTICS, number),
        )

    def _statistic(self, column: int, name: str) -> Any:
        """The function from a reader to a statistic of a column of integers.

        From statistics of a column that does not hold integers this raises, as it should.
        """
        return self._bulk.then(self._statistics(column), self._bulk.method(_INTEGERS, name, "long"))

    def read(self, files: Sequence[ListedFile]) -> list[OrcFooter]:
        """The footer of each file. Raises UnreadableTableError, naming the file."""
        return self._of_each(files, self._footers)

    def row_id_ranges(self, files: Sequence[ListedFile]) -> list[RowIdRange]:
        """The row ids in each file. Raises UnreadableTableError, naming the file."""
        return self._of_each(files, self._row_id_ranges)

    def _of_each(self, files: Sequence[ListedFile], read: Callable[[Any], list[T]]) -> list[T]:
        try:
            return self._read(files, read)
        except Py4JJavaError as error:
            if len(files) > 1:
                # Java does not say which file it was.
                return [found for file in files for found in self._of_each([file], read)]
            file, reason = files[0], _reason(error)
            if "java.io.FileNotFoundException" in reason:
                raise VanishedFileError(f"{file.path} was listed, and is gone.") from error
            raise UnreadableTableError(
                f"{file.path} ({file.length} bytes) cannot be read as ORC: {reason}. It is "
                "damaged, or Spark's user may not read it: restore it, or its permissions."
            ) from error

    def _read(self, files: Sequence[ListedFile], read: Callable[[Any], list[T]]) -> list[T]:
        bulk = self._bulk
        paths = bulk.paths([file.path for file in files])
        lengths = bulk.longs([file.length for file in files])
        open_ = bulk.of_one(
            self._open,
            bulk.element_of(paths, PATH),
            bulk.then(bulk.element_of(lengths, "long"), self._options),
        )
        readers = bulk.count_up(len(files), open_)
        try:
            return read(readers)
        finally:
            bulk.for_each(readers, self._close)

    def _row_id_ranges(self, readers: Any) -> list[RowIdRange]:
        columns = [
            zip(
                self._bulk.integers(readers, self._statistic(column, "getMinimum")),
                self._bulk.integers(readers, self._statistic(column, "getMaximum")),
                strict=True,
            )
            for column in (_ORIGINAL_WRITE_ID, _BUCKET, _ROW)
        ]
        return [RowIdRange(*ranges) for ranges in zip(*columns, strict=True)]

    def _footers(self, readers: Any) -> list[OrcFooter]:
        shapes = self._shapes(readers)
        rows = self._bulk.integers(readers, self._rows)
        minima = self._minima(readers, shapes, rows)
        versions = self._acid_versions(readers)
        nanoseconds = self._nanoseconds(readers, shapes)
        return [
            OrcFooter(count, shape.columns, shape.is_acid, minimum, version, shape.types, finer)
            for shape, count, minimum, version, finer in zip(
                shapes, rows, minima, versions, nanoseconds, strict=True
            )
        ]

    def _shapes(self, readers: Any) -> list[_Shape]:
        # Not `toJson`: it does not escape quotes in names.
        schemas = self._bulk.strings(readers, self._schema)
        known = {schema: _shape(schema) for schema in set(schemas)}
        return [known[schema] for schema in schemas]

    def _minima(
        self, readers: Any, shapes: Sequence[_Shape], rows: Sequence[int]
    ) -> list[int | None]:
        wanted = [shape.is_acid and count > 0 for shape, count in zip(shapes, rows, strict=True)]
        if all(wanted):
            return list(self._bulk.integers(readers, self._minimum))
        return [
            readers[i].getStatistics()[_ORIGINAL_WRITE_ID].getMinimum() if has_some else None
            for i, has_some in enumerate(wanted)
        ]

    def _nanoseconds(self, readers: Any, shapes: Sequence[_Shape]) -> list[tuple[int, ...]]:
        found: list[set[int]] = [set() for _ in shapes]
        for shape in set(shapes):
            members = [i for i, other in enumerate(shapes) if other == shape]
            alike = readers
            if shape.timestamps and len(members) < len(shapes):
                alike = self._bulk.objects([readers[i] for i in members])
            for position, number in shape.timestamps:
                texts = self._bulk.strings(alike, self._statistics(number))
                for i, text in zip(members, texts, strict=True):
                    if shows_nanoseconds(text):
                        found[i].add(position)
        return [tuple(sorted(positions)) for positions in found]

    def _acid_versions(self, readers: Any) -> list[int | None]:
        """The version is one digit in ASCII."""
        said = self._bulk.booleans(readers, self._says_version)
        if all(said):
            return [digit - ord("0") for digit in self._bulk.integers(readers, self._version)]
        return [
            readers[i].getMetadataValue(_ACID_VERSION_KEY).get(0) - ord("0") if says else None
            for i, says in enumerate(said)
        ]


def _reason(error: Py4JJavaError) -> str:
    """What Java says, without the wrapping that a call by method handle adds."""
    exception = error.java_exception
    cause = exception.getCause()
    wrapped = exception.getClass().getSimpleName() == "UndeclaredThrowableException"
    return str((cause if wrapped and cause is not None else exception).toString())


def _shape(schema: str) -> _Shape:
    """From the text of ORC's `TypeDescription`."""
    fields = struct_fields(schema)
    is_acid = tuple(name for name, _ in fields) == ACID_COLUMNS
    if is_acid:
        fields = struct_fields(dict(fields)["row"])
    types = tuple(type_ for _, type_ in fields)
    timestamps = tuple(timestamps_in(types, _FIRST_USER_COLUMN[is_acid]))
    return _Shape(tuple(name for name, _ in fields), types, is_acid, timestamps)
