"""Hadoop's `FileSystem`: listings of many directories at once, and block locations of files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeVar

from pyspark.sql import SparkSession

from hiveacid.acid.layout import (
    HIDDEN,
    METADATA_FILE,
    SEEN_HIDDEN_NAMES,
    ListedFile,
    Listing,
    try_parse_directory,
)
from hiveacid.errors import UnreadableTableError
from hiveacid.jvm.bulk import Bulk, bulk_of
from hiveacid.jvm.errors import JAVA_ERRORS, JavaError, java_exception
from hiveacid.jvm.java_types import JavaArray, JavaObject, MethodHandle

PATH = "org.apache.hadoop.fs.Path"
FILE_STATUS = "org.apache.hadoop.fs.FileStatus"
FILE_SYSTEM = "org.apache.hadoop.fs.FileSystem"
_BLOCK_LOCATIONS = "[org.apache.hadoop.fs.BlockLocation;"
_LOCATED = "org.apache.hadoop.fs.LocatedFileStatus"
DIRECTORY = -1
"""Length of a directory in a `Status`."""

Status = tuple[str, int, int]
"""Path, length in bytes (or `DIRECTORY`), and modification time in milliseconds since the epoch."""

THREADS = 8
"""Number of parallel calls to the JVM while planning; each mostly waits for the file system."""

BATCH = 1_000
"""Maximum number of directories that one call lists."""

HIVE_NAMES = rf"(?s)[^{HIDDEN}].*|{METADATA_FILE}"
"""Pattern of names that Hive does not hide, and of the one hidden file that is read.

Each delta has another hidden file.
"""

SPARK_NAMES = r"(?s)[^._].*|_.*=.*"
"""Pattern of names that Spark does not hide (`HadoopFSUtils.shouldFilterOutPathName`).

`_day=1` is a partition directory.
"""

_MAX_METADATA_BYTES = 1 << 20
_ATTEMPTS = 10
"""Maximum number of attempts to list while directories vanish."""

_FILE_SYSTEM = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")
T = TypeVar("T")
Found = TypeVar("Found")


class FileStatuses:
    """File statuses from the file systems of one JVM. Threads may share the object."""

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk
        self._qualified = bulk.zipped(bulk.method(FILE_SYSTEM, "makeQualified", PATH, [PATH]), PATH)
        self._paths = bulk.strings(bulk.method(FILE_STATUS, "getPath", PATH))
        self._lengths = bulk.integers(
            bulk.if_then_else(
                bulk.method(FILE_STATUS, "isDirectory", "boolean"),
                bulk.constant("long", DIRECTORY),
                bulk.method(FILE_STATUS, "getLen", "long"),
            )
        )
        self._times = bulk.integers(bulk.method(FILE_STATUS, "getModificationTime", "long"))
        self._filters: dict[str, JavaObject] = {}

    @staticmethod
    def of(spark: SparkSession) -> FileStatuses:
        """Return the object for Spark's JVM."""
        return _of(bulk_of(spark))

    def qualified(self, file_system: JavaObject, paths: JavaArray) -> list[str]:
        """Return the paths of a `Path[]`, qualified with the file system's scheme and authority."""
        return self._bulk.texts(self._qualified(len(paths), file_system, paths))

    def listed(self, file_system: JavaObject, paths: JavaArray, names: str) -> list[Status]:
        """Return the statuses in the directories of a `Path[]` whose names match a pattern.

        They are in the order of the directories. Raises JavaError if a directory cannot be listed.
        """
        found = file_system.listStatus(paths, self._filter(names))
        return list(zip(self._paths(found), self._lengths(found), self._times(found), strict=True))

    def _filter(self, names: str) -> JavaObject:
        """Return a `PathFilter` for paths whose last part matches the pattern."""
        if names not in self._filters:
            bulk = self._bulk
            matches = bulk.java("java.util.regex.Pattern").compile(names).asMatchPredicate()
            test = bulk.method("java.util.function.Predicate", "test", "boolean", ["Object"])
            by_name = bulk.then(bulk.method(PATH, "getName", "String"), test.bindTo(matches))
            self._filters[names] = bulk.implement("org.apache.hadoop.fs.PathFilter", by_name)
        return self._filters[names]


@lru_cache(maxsize=1)
def _of(bulk: Bulk) -> FileStatuses:
    return FileStatuses(bulk)


def list_locations(spark: SparkSession, locations: Sequence[str]) -> list[Listing]:
    """List each location recursively, in the given order, without names that Hive hides.

    The listing of a location that does not exist is empty, with `is_missing`.

    Raises:
        UnreadableTableError: the file system refused or failed.
    """
    listings: list[Listing | None] = [None] * len(locations)
    with ThreadPoolExecutor(THREADS) as pool:
        for group in by_file_system(enumerate(locations), lambda item: item[1]):
            together = _Lister(spark, pool).run([location for _, location in group])
            for (i, location), listing in zip(group, together, strict=True):
                # List a failed location again: it may be missing, or have changed meanwhile.
                if not isinstance(listing, Listing):
                    listing = list_location(spark, location)
                listings[i] = listing
    return [listing for listing in listings if listing is not None]


def list_location(spark: SparkSession, location: str, names: str = HIVE_NAMES) -> Listing:
    """List the names that match a pattern in a location, recursively, as `list_locations` does.

    Directories with other names are skipped with their contents.
    """

    def look() -> Listing:
        with ThreadPoolExecutor(THREADS) as pool:
            (listing,) = _Lister(spark, pool, names).run([location], may_be_missing=True)
        if isinstance(listing, Listing):
            return listing
        raise listing

    try:
        return while_directories_vanish(look)
    except JAVA_ERRORS as error:
        raise UnreadableTableError(
            f"{location} cannot be listed: {java_exception(error).toString()}. Check that Spark "
            "may read it and has the file system's settings (`server_side_parameters`, "
            "`spark.hadoop.…`).",
            code="HIVEACID_LISTING_FAILED",
        ) from error


def while_directories_vanish(look: Callable[[], T]) -> T:
    """Return the result of `look` at directories; repeat it if a directory has vanished meanwhile.

    Between the listing of a directory's parent and of the directory, Hive's cleaner may remove the
    directory (if no open transaction needs it), or a user may drop the partition.

    Raises:
        JavaError: as `look` does.
    """
    for _ in range(_ATTEMPTS - 1):
        try:
            return look()
        except JAVA_ERRORS as error:
            if "java.io.FileNotFoundException" not in java_exception(error).toString():
                raise
    return look()


def by_file_system(items: Iterable[T], path: Callable[[T], str]) -> list[list[T]]:
    """Group items by the scheme and authority of `path(item)`."""
    groups: dict[str, list[T]] = {}
    for item in items:
        match = _FILE_SYSTEM.match(path(item))
        groups.setdefault(match[0] if match else "", []).append(item)
    return list(groups.values())


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Return slices of at most `size` items, and enough slices to keep all threads busy."""
    size = max(1, min(size, -(-len(items) // THREADS)))
    return [items[start : start + size] for start in range(0, len(items), size)]


@dataclass
class _Location:
    """Partial listing of one location, or the error for which it could not be listed."""

    files: list[ListedFile] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    data_formats: dict[str, str] = field(default_factory=dict)
    acid: list[_Directory] = field(default_factory=list)
    without_files: set[str] = field(default_factory=set)
    is_missing: bool = False
    error: JavaError | None = None

    def acid_without_data(self) -> list[_Directory]:
        """Return the bases and deltas in which no file was found."""
        if not self.acid:
            return []
        found = (*(file.relative for file in self.files), *self.data_formats)
        known = {relative.partition("/")[0] for relative in found}
        return [directory for directory in self.acid if directory.relative not in known]

    def listing(self, location: str, scheme: str) -> Listing:
        """Return the listing of the location, on a file system of a scheme."""
        return Listing(
            location,
            tuple(self.files),
            tuple(self.directories),
            self.data_formats,
            frozenset(self.without_files),
            self.is_missing,
            scheme,
        )


class _Directory(NamedTuple):
    location: _Location
    relative: str
    path: str


class _Lister:
    """Listing of the locations on one file system together, level by level."""

    def __init__(self, spark: SparkSession, pool: Executor, names: str = HIVE_NAMES) -> None:
        self._configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._pool = pool
        self._names = names
        self._bulk = bulk_of(spark)
        self._statuses = FileStatuses.of(spark)

    def run(
        self, locations: Sequence[str], may_be_missing: bool = False
    ) -> list[Listing | JavaError]:
        """Return the listing of each location, or Java's error for one of its directories.

        With `may_be_missing`, the listing of a location that does not exist is empty; without, it
        is an error.
        """
        found = [_Location() for _ in locations]
        try:
            level = self._roots(found, locations, may_be_missing)
        except JAVA_ERRORS as error:
            return [error for _ in locations]
        while level:
            below: list[_Directory] = []
            for batch, statuses in self._listed(level, self._names):
                below.extend(self._sort_in(batch, statuses))
            level = [directory for directory in below if directory.location.error is None]
        self._look_for_hidden_files(found)
        scheme = str(self._file_system.getUri().getScheme())
        return [
            it.listing(location, scheme) if it.error is None else it.error
            for location, it in zip(locations, found, strict=True)
        ]

    def _look_for_hidden_files(self, found: Iterable[_Location]) -> None:
        """Look for the hidden files that Hive 4 sees, in bases and deltas without another file."""
        doubtful = [directory for it in found for directory in it.acid_without_data()]
        if not doubtful:
            return
        for directory in doubtful:
            directory.location.without_files.add(directory.relative)
        for batch, statuses in self._listed(doubtful, SEEN_HIDDEN_NAMES):
            for parent, _, (_, length, _) in _by_parent(batch, statuses):
                if length != DIRECTORY:
                    parent.location.without_files.discard(parent.relative)

    def _roots(
        self, found: Sequence[_Location], locations: Sequence[str], may_be_missing: bool
    ) -> list[_Directory]:
        paths = self._bulk.paths(locations)
        self._file_system = paths[0].getFileSystem(self._configuration)
        if may_be_missing and not self._file_system.exists(paths[0]):
            found[0].is_missing = True
            return []
        # The file system returns paths with its scheme and authority.
        qualified = self._statuses.qualified(self._file_system, paths)
        return [_Directory(it, "", path) for it, path in zip(found, qualified, strict=True)]

    def _listed(
        self, directories: Sequence[_Directory], names: str
    ) -> Iterator[tuple[Sequence[_Directory], list[Status]]]:
        """Yield the statuses in the directories, in batches. Errors go to the failed locations."""
        for batch, statuses in self._in_parallel(
            batches(directories, BATCH), lambda batch: self._list(batch, names)
        ):
            if isinstance(statuses, JAVA_ERRORS):
                for directory in batch:
                    directory.location.error = statuses
            else:
                yield batch, statuses

    def _in_parallel(
        self, items: Sequence[T], call: Callable[[T], Found]
    ) -> Iterator[tuple[T, Found | JavaError]]:
        def attempt(item: T) -> Found | JavaError:
            try:
                return call(item)
            except JAVA_ERRORS as error:
                return error

        return zip(items, self._pool.map(attempt, items), strict=True)

    def _list(self, directories: Sequence[_Directory], names: str) -> list[Status]:
        paths = self._bulk.paths([directory.path for directory in directories])
        return self._statuses.listed(self._file_system, paths, names)

    def _sort_in(
        self, directories: Sequence[_Directory], statuses: Iterable[Status]
    ) -> Iterator[_Directory]:
        """Add the statuses to their locations, and yield the directories of the next level."""
        metadata = []
        for parent, name, (path, length, time) in _by_parent(directories, statuses):
            child = f"{parent.relative}/{name}" if parent.relative else name
            if name == METADATA_FILE:
                if parent.relative:
                    metadata.append((parent, path))
            elif length == DIRECTORY:
                parent.location.directories.append(child)
                below = _Directory(parent.location, child, path)
                if not parent.relative and try_parse_directory(child) is not None:
                    parent.location.acid.append(below)
                yield below
            else:
                parent.location.files.append(ListedFile(child, path, length, time))
        for (parent, _), data_format in self._in_parallel(
            metadata, lambda item: self._data_format(item[1])
        ):
            if isinstance(data_format, JAVA_ERRORS):
                parent.location.error = data_format
            else:
                parent.location.data_formats[parent.relative] = data_format

    def _data_format(self, path: str) -> str:
        stream = self._file_system.open(self._bulk.java(PATH)(path))
        try:
            content = self._bulk.java("java.io.ByteArrayOutputStream")()
            self._bulk.java("org.apache.hadoop.io.IOUtils").copyBytes(
                stream, content, _MAX_METADATA_BYTES, False
            )
        finally:
            stream.close()
        try:
            return str(json.loads(content.toString("UTF-8"))["dataFormat"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableTableError(
                f"{path} cannot be read: it is not JSON with a dataFormat, as Hive writes it "
                f"({error}). Restore the file, or run a major compaction in Hive.",
                code="HIVEACID_INVALID_METADATA_FILE",
            ) from error


def _by_parent(
    directories: Sequence[_Directory], statuses: Iterable[Status]
) -> Iterator[tuple[_Directory, str, Status]]:
    """Yield each status with its parent directory and its name there."""
    parents: Mapping[str, _Directory] = {
        directory.path.rstrip("/"): directory for directory in directories
    }
    directory, parent = "", None
    for status in statuses:
        above, _, name = status[0].rpartition("/")
        # The statuses are in the order of the directories.
        if above != directory or parent is None:
            directory, parent = above, parents.get(above)
            if parent is None:
                raise UnreadableTableError(
                    f"{directories[0].path} cannot be listed: its file system returned "
                    f"{status[0]}, which is not in it. Check the settings of the file system "
                    "(`spark.hadoop.…`), and report the case.",
                    code="HIVEACID_LISTING_FAILED",
                )
        yield parent, name, status


def with_blocks(bulk: Bulk) -> MethodHandle:
    """Return a function that adds the block locations of a file to its status.

    The arguments of the function are a file system and a status. Spark does the same for its own
    statuses. HDFS needs one request for each file; object stores and the local file system none.
    """
    blocks = bulk.method(
        FILE_SYSTEM, "getFileBlockLocations", _BLOCK_LOCATIONS, [FILE_STATUS, "long", "long"]
    )
    from_start = bulk.with_constants(blocks, 2, bulk.java("java.lang.Long")(0))
    length = bulk.method(FILE_STATUS, "getLen", "long")
    blocks_of = bulk.permuted(bulk.on(from_start, 2, length), 0, 1, 1)
    located = bulk.on(bulk.constructor(_LOCATED, [FILE_STATUS, _BLOCK_LOCATIONS]), 1, blocks_of)
    return bulk.permuted(located, 1, 0, 1)
