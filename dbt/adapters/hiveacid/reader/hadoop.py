"""Listing a location through Spark's Hadoop `FileSystem`, whatever its scheme."""

from __future__ import annotations

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.acid.directories import METADATA_FILE
from dbt.adapters.hiveacid.acid.listing import ListedFile, Listing, is_hidden
from dbt.adapters.hiveacid.exceptions import UnreadableTableError

THREADS = 8
"""Calls to the JVM under way at once while planning; each mostly waits for the file system."""

_MAX_METADATA_BYTES = 1 << 20

_ATTEMPTS = 10
"""Times that a location is listed while directories vanish from it."""


def list_locations(spark: SparkSession, locations: Iterable[str]) -> list[Listing]:
    """List each location whole, in the given order. A location that does not exist is empty.

    Raises:
        UnreadableTableError: the file system refused or failed.
    """
    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(lambda location: list_location(spark, location), locations))


def list_location(spark: SparkSession, location: str) -> Listing:
    """List a location whole. See `list_locations`."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            return _Lister(spark, location).run()
        except Py4JJavaError as error:
            # Hive's cleaner may remove a directory that no open transaction needs between the
            # listing of its parent and its own: look again.
            vanished = "java.io.FileNotFoundException" in error.java_exception.toString()
            if vanished and attempt < _ATTEMPTS:
                continue
            raise UnreadableTableError(
                f"{location} cannot be listed: {error.java_exception.toString()}. Check that Spark "
                "may read it and has the file system's settings (`server_side_parameters`, "
                "`spark.hadoop.…`)."
            ) from error
    raise AssertionError("the last attempt returns or raises")


class _Lister:
    def __init__(self, spark: SparkSession, location: str) -> None:
        self._location = location
        assert spark._jvm is not None
        self._root = spark._jvm.org.apache.hadoop.fs.Path(location)
        self._io = spark._jvm.org.apache.hadoop.io.IOUtils
        self._bytes = spark._jvm.java.io.ByteArrayOutputStream
        self._file_system = self._root.getFileSystem(spark._jsc.hadoopConfiguration())
        self._files: list[ListedFile] = []
        self._directories: list[str] = []
        self._data_formats: dict[str, str] = {}

    def run(self) -> Listing:
        if self._file_system.exists(self._root):
            self._walk(self._root, "")
        return Listing(
            self._location, tuple(self._files), tuple(self._directories), self._data_formats
        )

    def _walk(self, directory: Any, relative: str) -> None:
        for status in self._file_system.listStatus(directory):
            path = status.getPath()
            name = path.getName()
            child = f"{relative}/{name}" if relative else name
            if name == METADATA_FILE and relative:
                self._data_formats[relative] = self._data_format(path)
            elif is_hidden(name):
                continue
            elif status.isDirectory():
                self._directories.append(child)
                self._walk(path, child)
            else:
                self._files.append(
                    ListedFile(
                        child, path.toString(), status.getLen(), status.getModificationTime()
                    )
                )

    def _data_format(self, path: Any) -> str:
        stream = self._file_system.open(path)
        try:
            content = self._bytes()
            self._io.copyBytes(stream, content, _MAX_METADATA_BYTES, False)
        finally:
            stream.close()
        try:
            return str(json.loads(content.toString("UTF-8"))["dataFormat"])
        except (ValueError, KeyError, TypeError) as error:
            raise UnreadableTableError(
                f"{path.toString()} is not the JSON with a dataFormat that Hive writes ({error}). "
                "Restore the file, or run a major compaction in Hive."
            ) from error
