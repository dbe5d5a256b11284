"""What ORC files say about themselves, read once with Spark's own ORC library and remembered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

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
"""Files whose footers are in Java's memory at once in one thread."""

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

_FIRST_USER_COLUMN = {False: 1, True: len(ACID_COLUMNS) + 1}
"""The number of the statistics of the first user's column, by whether there are ACID columns."""


@dataclass(frozen=True)
class RowIdRange:
    """The lowest and the highest value of each part of the row ids in a file, by its statistics.

    Those of a file of delete events are the ids of the deleted rows.
    """

    write_id: tuple[int, int]
    bucket: tuple[int, int]
    row: tuple[int, int]

    @classmethod
    def of(cls, numbers: Sequence[int]) -> RowIdRange:
        """From what `numbers` gives."""
        return cls(*zip(numbers[::2], numbers[1::2], strict=True))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The lowest and the highest write id, bucket property and row: six numbers."""
        return *self.write_id, *self.bucket, *self.row

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
class OrcFooter:
    """The shape of one ORC file.

    `columns` are the names of the user's columns in file order: those inside `row` if the file has
    the ACID columns (`is_acid`), else the file's own. `types` are the types that ORC gives them.
    `row_id_range` is None without ACID columns or without rows. `acid_version` is what the ACID
    writer says of its format (`AcidUtils.OrcAcidVersion`), None if it says nothing. `nanoseconds`
    are the positions of the columns for whose timestamps, also inside, the file's statistics show
    more than microseconds.
    """

    rows: int
    columns: tuple[str, ...]
    is_acid: bool
    row_id_range: RowIdRange | None = None
    acid_version: int | None = None
    types: tuple[str, ...] = ()
    nanoseconds: tuple[int, ...] = ()


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


class _FooterReader:
    """Reads footers of files on one file system."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        """`path` is that of any of the files."""
        self._bulk = Bulk(spark)
        self._configuration = spark._jsc.hadoopConfiguration()
        self._file_system = self._bulk.java(PATH)(path).getFileSystem(self._configuration)
        # All that is asked below is in memory then: an open file has buffers (64 KB by Spark's
        # default), and there are limits of how many are open.
        self._open = self._bulk.then(
            self._bulk.static("org.apache.orc.OrcFile", "createReader", _READER, [PATH, _OPTIONS]),
            self._bulk.after(self._bulk.method(_READER, "close", "void")),
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
        # Made anew by each call, so each file is asked once.
        self._statistics = self._bulk.method(_READER, "getStatistics", f"[{_STATISTICS};")
        # From statistics of a column that does not hold integers these raise, as they should.
        self._row_ids = [
            self._bulk.then(
                self._bulk.element(_STATISTICS, column), self._bulk.method(_INTEGERS, name, "long")
            )
            for column in (_ORIGINAL_WRITE_ID, _BUCKET, _ROW)
            for name in ("getMinimum", "getMaximum")
        ]

    def read(self, files: Sequence[ListedFile]) -> list[OrcFooter]:
        """The footer of each file. Raises UnreadableTableError, naming the file."""
        try:
            return self._read(files)
        except Py4JJavaError as error:
            if len(files) > 1:
                # Java does not say which file it was.
                return [found for file in files for found in self.read([file])]
            file, reason = files[0], _reason(error)
            if "java.io.FileNotFoundException" in reason:
                raise VanishedFileError(f"{file.path} was listed, and is gone.") from error
            raise UnreadableTableError(
                f"{file.path} ({file.length} bytes) cannot be read as ORC: {reason}. It is "
                "damaged, or Spark's user may not read it: restore it, or its permissions."
            ) from error

    def _read(self, files: Sequence[ListedFile]) -> list[OrcFooter]:
        bulk = self._bulk
        paths = bulk.paths([file.path for file in files])
        lengths = bulk.longs([file.length for file in files])
        open_ = bulk.of_one(
            self._open,
            bulk.element_of(paths, PATH),
            bulk.then(bulk.element_of(lengths, "long"), self._options),
        )
        return self._footers(bulk.count_up(len(files), open_))

    def _footers(self, readers: Any) -> list[OrcFooter]:
        shapes = self._shapes(readers)
        rows = self._bulk.integers(readers, self._rows)
        statistics = self._bulk.map(readers, self._statistics)
        ranges = self._row_id_ranges(statistics, shapes, rows)
        versions = self._acid_versions(readers)
        nanoseconds = self._nanoseconds(statistics, shapes)
        return [
            OrcFooter(count, shape.columns, shape.is_acid, row_ids, version, shape.types, finer)
            for shape, count, row_ids, version, finer in zip(
                shapes, rows, ranges, versions, nanoseconds, strict=True
            )
        ]

    def _shapes(self, readers: Any) -> list[_Shape]:
        # Not `toJson`: it does not escape quotes in names.
        schemas = self._bulk.strings(readers, self._schema)
        known = {schema: _shape(schema) for schema in set(schemas)}
        return [known[schema] for schema in schemas]

    def _row_id_ranges(
        self, statistics: Any, shapes: Sequence[_Shape], rows: Sequence[int]
    ) -> list[RowIdRange | None]:
        members = [i for i, shape in enumerate(shapes) if shape.is_acid and rows[i] > 0]
        with_ids = self._some(statistics, members, len(shapes))
        columns = [self._bulk.integers(with_ids, function) for function in self._row_ids]
        found: list[RowIdRange | None] = [None] * len(shapes)
        for i, numbers in zip(members, zip(*columns, strict=True), strict=True):
            found[i] = RowIdRange.of(numbers)
        return found

    def _nanoseconds(self, statistics: Any, shapes: Sequence[_Shape]) -> list[tuple[int, ...]]:
        found: list[set[int]] = [set() for _ in shapes]
        for shape in {shape for shape in shapes if shape.timestamps}:
            members = [i for i, other in enumerate(shapes) if other == shape]
            alike = self._some(statistics, members, len(shapes))
            for position, number in shape.timestamps:
                texts = self._bulk.strings(alike, self._bulk.element(_STATISTICS, number))
                for i, text in zip(members, texts, strict=True):
                    if shows_nanoseconds(text):
                        found[i].add(position)
        return [tuple(sorted(positions)) for positions in found]

    def _some(self, array: Any, members: Sequence[int], length: int) -> Any:
        """The elements with these numbers of an array of that length."""
        whole = len(members) == length
        return array if whole else self._bulk.objects([array[i] for i in members])

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
