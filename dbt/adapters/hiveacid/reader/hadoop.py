"""Listing locations through Spark's Hadoop `FileSystem`, whatever its scheme."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.directories import (
    ACID_VERSION_FILE,
    METADATA_FILE,
    try_parse_directory,
)
from dbt.adapters.hiveacid.acid.listing import HIDDEN, ListedFile, Listing
from dbt.adapters.hiveacid.exceptions import UnreadableTableError
from dbt.adapters.hiveacid.reader.bulk import Bulk

THREADS = 8
"""Calls to the JVM under way at once while planning; each mostly waits for the file system."""

PATH = "org.apache.hadoop.fs.Path"
FILE_STATUS = "org.apache.hadoop.fs.FileStatus"

_BATCH = 1_000
"""Directories that one call lists at most."""

_WANTED_NAMES = rf"(?s)[^{HIDDEN}].*|{METADATA_FILE}"
"""What is not hidden, and the one hidden file that is read; Hive puts another into each delta."""

_DIRECTORY = -1
"""Stands in the place of a directory's length."""

_MAX_METADATA_BYTES = 1 << 20

_ATTEMPTS = 10
"""Times that a location is listed while directories vanish from it."""

_FILE_SYSTEM = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?")

T = TypeVar("T")


def list_locations(spark: SparkSession, locations: Sequence[str]) -> list[Listing]:
    """List each location whole, in the given order. A location that does not exist is empty.

    Raises:
        UnreadableTableError: the file system refused or failed.
    """
    listings: list[Listing | None] = [None] * len(locations)
    with ThreadPoolExecutor(THREADS) as pool:
        for group in by_file_system(enumerate(locations), lambda item: item[1]):
            together = _Lister(spark, pool).run([location for _, location in group])
            for (i, location), listing in zip(group, together, strict=True):
                # What failed is looked at by itself: it may be missing, or have changed meanwhile.
                failed = isinstance(listing, Py4JJavaError)
                listings[i] = list_location(spark, location) if failed else listing
    return [listing for listing in listings if listing is not None]


def list_location(spark: SparkSession, location: str) -> Listing:
    """List a location whole. See `list_locations`."""
    for attempt in range(1, _ATTEMPTS + 1):
        with ThreadPoolExecutor(1) as pool:
            (listing,) = _Lister(spark, pool).run([location], may_be_missing=True)
        if isinstance(listing, Listing):
            return listing
        # Hive's cleaner may remove a directory that no open transaction needs between the listing
        # of its parent and its own: look again.
        reason = listing.java_exception.toString()
        if "java.io.FileNotFoundException" not in reason or attempt == _ATTEMPTS:
            raise UnreadableTableError(
                f"{location} cannot be listed: {reason}. Check that Spark may read it and has the "
                "file system's settings (`server_side_parameters`, `spark.hadoop.…`)."
            ) from listing
    raise AssertionError("the last attempt returns or raises")


def by_file_system(items: Iterable[T], path: Any) -> list[list[T]]:
    """Group items by the scheme and authority of `path(item)`."""
    groups: dict[str, list[T]] = {}
    for item in items:
        match = _FILE_SYSTEM.match(path(item))
        groups.setdefault(match[0] if match else "", []).append(item)
    return list(groups.values())


def batches(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Slices of at most `size` items, and enough of them to keep all threads at work."""
    size = max(1, min(size, -(-len(items) // THREADS)))
    return [items[start : start + size] for start in range(0, len(items), size)]


@dataclass
class _Location:
    """What has been found below one location so far, or why it could not be listed."""

    files: list[ListedFile] = field(default_factory=list)
    directories: list[str] = field(default_factory=list)
    data_formats: dict[str, str] = field(default_factory=dict)
    compacted: list[_Directory] = field(default_factory=list)
    without_files: set[str] = field(default_factory=set)
    error: Py4JJavaError | None = None

    def compacted_without_data(self) -> list[_Directory]:
        """The directories of compactions in which no file has been found."""
        if not self.compacted:
            return []
        known = {file.relative.partition("/")[0] for file in self.files} | self.data_formats.keys()
        return [directory for directory in self.compacted if directory.relative not in known]

    def listing(self, location: str) -> Listing:
        """All that has been found."""
        return Listing(
            location,
            tuple(self.files),
            tuple(self.directories),
            self.data_formats,
            frozenset(self.without_files),
        )


class _Directory(NamedTuple):
    location: _Location
    relative: str
    path: str


_Status = tuple[str, int, int]
"""The path, the length, or `_DIRECTORY`, and the modification time."""


class _Lister:
    """Lists locations of one file system together, level by level."""

    def __init__(self, spark: SparkSession, pool: Executor) -> None:
        self._configuration = spark._jsc.hadoopConfiguration()
        self._pool = pool
        bulk = self._bulk = Bulk(spark)
        self._path_of = bulk.method(FILE_STATUS, "getPath", PATH)
        self._length = bulk.if_then_else(
            bulk.method(FILE_STATUS, "isDirectory", "boolean"),
            bulk.constant("long", _DIRECTORY),
            bulk.method(FILE_STATUS, "getLen", "long"),
        )
        self._time = bulk.method(FILE_STATUS, "getModificationTime", "long")
        self._wanted = self._filter(_WANTED_NAMES)

    def run(
        self, locations: Sequence[str], may_be_missing: bool = False
    ) -> list[Listing | Py4JJavaError]:
        """The listing of each location, or the error that Java gave for one of its directories.

        With `may_be_missing` a location that does not exist is empty, otherwise an error.
        """
        found = [_Location() for _ in locations]
        try:
            level = self._roots(found, locations, may_be_missing)
        except Py4JJavaError as error:
            return [error for _ in locations]
        while level:
            below: list[_Directory] = []
            for batch, statuses in self._listed(level, self._wanted):
                below.extend(self._sort_in(batch, statuses))
            level = [directory for directory in below if directory.location.error is None]
        self._look_for_version_files(found)
        return [
            it.listing(location) if it.error is None else it.error
            for location, it in zip(locations, found, strict=True)
        ]

    def _look_for_version_files(self, found: Iterable[_Location]) -> None:
        """A compaction that found nothing leaves Hive's hidden file or nothing at all."""
        doubtful = [directory for it in found for directory in it.compacted_without_data()]
        if not doubtful:
            return
        for directory in doubtful:
            directory.location.without_files.add(directory.relative)
        for batch, statuses in self._listed(doubtful, self._filter(ACID_VERSION_FILE)):
            for parent, _, _ in _by_parent(batch, statuses):
                parent.location.without_files.discard(parent.relative)

    def _roots(
        self, found: Sequence[_Location], locations: Sequence[str], may_be_missing: bool
    ) -> list[_Directory]:
        first = self._bulk.java(PATH)(locations[0])
        self._file_system = first.getFileSystem(self._configuration)
        if may_be_missing and not self._file_system.exists(first):
            return []
        # As the file system will name them: with its scheme and authority.
        qualified = self._bulk.method(
            "org.apache.hadoop.fs.FileSystem", "makeQualified", PATH, [PATH]
        ).bindTo(self._file_system)
        paths = self._bulk.strings(self._bulk.paths(locations), qualified)
        return [_Directory(it, "", path) for it, path in zip(found, paths, strict=True)]

    def _listed(
        self, directories: Sequence[_Directory], name_filter: Any
    ) -> Iterator[tuple[Sequence[_Directory], list[_Status]]]:
        """What is in the directories, in batches; those that fail get the error."""
        for batch, statuses in self._in_parallel(
            batches(directories, _BATCH), lambda batch: self._statuses(batch, name_filter)
        ):
            if isinstance(statuses, Py4JJavaError):
                for directory in batch:
                    directory.location.error = statuses
            else:
                yield batch, statuses

    def _in_parallel(
        self, items: Sequence[T], call: Any
    ) -> Iterator[tuple[T, Any | Py4JJavaError]]:
        def attempt(item: T) -> Any | Py4JJavaError:
            try:
                return call(item)
            except Py4JJavaError as error:
                return error

        return zip(items, self._pool.map(attempt, items), strict=True)

    def _filter(self, names: str) -> Any:
        """A Java filter of the paths whose last part matches a pattern."""
        bulk = self._bulk
        matches = bulk.java("java.util.regex.Pattern").compile(names).asMatchPredicate()
        test = bulk.method("java.util.function.Predicate", "test", "boolean", ["Object"])
        return bulk.implement(
            "org.apache.hadoop.fs.PathFilter",
            bulk.then(bulk.method(PATH, "getName", "String"), test.bindTo(matches)),
        )

    def _statuses(self, directories: Sequence[_Directory], name_filter: Any) -> list[_Status]:
        paths = self._bulk.paths([directory.path for directory in directories])
        found = self._file_system.listStatus(paths, name_filter)
        return list(
            zip(
                self._bulk.strings(found, self._path_of),
                self._bulk.integers(found, self._length),
                self._bulk.integers(found, self._time),
                strict=True,
            )
        )

    def _sort_in(
        self, directories: Sequence[_Directory], statuses: Iterable[_Status]
    ) -> Iterator[_Directory]:
        """Enter what was found into the locations, and give the directories that come next."""
        metadata = []
        for parent, name, (path, length, time) in _by_parent(directories, statuses):
            child = f"{parent.relative}/{name}" if parent.relative else name
            if name == METADATA_FILE:
                if parent.relative:
                    metadata.append((parent, path))
            elif length == _DIRECTORY:
                parent.location.directories.append(child)
                below = _Directory(parent.location, child, path)
                acid = None if parent.relative else try_parse_directory(child)
                if acid is not None and acid.visibility_txn:
                    parent.location.compacted.append(below)
                yield below
            else:
                parent.location.files.append(ListedFile(child, path, length, time))
        for (parent, _), data_format in self._in_parallel(
            metadata, lambda item: self._data_format(item[1])
        ):
            if isinstance(data_format, Py4JJavaError):
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
                f"{path} is not the JSON with a dataFormat that Hive writes ({error}). "
                "Restore the file, or run a major compaction in Hive."
            ) from error


def _by_parent(
    directories: Sequence[_Directory], statuses: Iterable[_Status]
) -> Iterator[tuple[_Directory, str, _Status]]:
    """Each status with the directory that it was found in, and its name there."""
    parents: Mapping[str, _Directory] = {
        directory.path.rstrip("/"): directory for directory in directories
    }
    directory, parent = "", None
    for status in statuses:
        above, _, name = status[0].rpartition("/")
        # Java lists one directory after the other.
        if above != directory or parent is None:
            directory, parent = above, parents.get(above)
            if parent is None:
                raise UnreadableTableError(
                    f"{directories[0].path} cannot be listed: its file system lists {status[0]} in "
                    "it."
                )
        yield parent, name, status
