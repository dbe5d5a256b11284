"""Directories and small files on the table's file system, through Spark's JVM."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from pyspark.sql import SparkSession

from hiveacid.errors import PublicationError
from hiveacid.jvm.bulk import bulk_of
from hiveacid.jvm.errors import JAVA_ERRORS, java_exception
from hiveacid.jvm.filesystem import PATH, FileStatuses
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java

_IO_UTILS = "org.apache.hadoop.io.IOUtils"
T = TypeVar("T")


class Files:
    """File system calls that change something. Each raises `PublicationError` if it fails."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._context = spark.sparkContext
        self._configuration = spark._jsparkSession.sessionState().newHadoopConf()

    def make_directory(self, path: str) -> None:
        """Make a directory and its parents, unless it exists."""
        self._check(lambda: self._of(path).mkdirs(self._path(path)), f"make {path}")

    def rename(self, old: str, new: str) -> None:
        """Rename a file or directory. If `new` is a directory, Hadoop moves `old` into it."""
        self._check(
            lambda: self._of(old).rename(self._path(old), self._path(new)), f"rename {old} to {new}"
        )

    def check_absent(self, path: str) -> None:
        """Refuse to go on if there is such a file or directory."""
        if self.exists(path):
            raise PublicationError(
                f"{path} exists, although its write id was allocated just now. Find out who wrote "
                "it. Nothing was committed."
            )

    def delete(self, path: str) -> None:
        """Delete a file or directory, if it exists."""
        self._run(lambda: self._of(path).delete(self._path(path), True), f"delete {path}")

    def exists(self, path: str) -> bool:
        """Return whether there is such a file or directory."""
        found = self._run(lambda: self._of(path).exists(self._path(path)), f"find {path}")
        return bool(found)

    def names(self, path: str, pattern: str) -> list[str]:
        """Return the names in a directory that match a pattern; none if it does not exist."""

        def call() -> list[str]:
            paths = bulk_of(self._spark).paths([path])
            return [
                found.rpartition("/")[2]
                for found, _, _ in FileStatuses.of(self._spark).listed(
                    self._of(path), paths, pattern
                )
            ]

        found = self._unless_missing(call, path, f"list {path}")
        return [] if found is None else found

    def read(self, path: str) -> bytes | None:
        """Return the content of a small file; None if there is none."""

        def call() -> bytes:
            stream = self._of(path).open(self._path(path))
            try:
                return bytes(java(self._context, _IO_UTILS).readFullyToByteArray(stream))
            finally:
                stream.close()

        return self._unless_missing(call, path, f"read {path}")

    def write(self, path: str, content: bytes) -> None:
        """Write a small file."""

        def call() -> None:
            stream = self._of(path).create(self._path(path), False)
            try:
                stream.write(bytearray(content))
            finally:
                stream.close()

        self._run(call, f"write {path}")

    def copy_with_metadata(self, old: str, new: str, metadata: Mapping[str, str]) -> None:
        """Copy an ORC file with user metadata, which Spark cannot write.

        A file without rows brings them in: Hadoop's merge of ORC files keeps those of each.
        """
        self._check(lambda: self._copy_with_metadata(old, new, metadata), f"write {new}")

    def _copy_with_metadata(self, old: str, new: str, metadata: Mapping[str, str]) -> bool:
        orc = java(self._context, "org.apache.orc.OrcFile")
        reader = orc.createReader(self._path(old), orc.readerOptions(self._configuration))
        options = orc.writerOptions(self._configuration).setSchema(reader.getSchema())
        options = options.compress(reader.getCompressionKind())
        empty = f"{old}.metadata"
        writer = orc.createWriter(
            self._path(empty), options.rowIndexStride(reader.getRowIndexStride())
        )
        for key, value in metadata.items():
            content = java(self._context, "java.nio.ByteBuffer").wrap(bytearray(value.encode()))
            writer.addUserMetadata(key, content)
        writer.close()
        sources = java(self._context, "java.util.ArrayList")()
        sources.add(self._path(empty))
        sources.add(self._path(old))
        options = orc.writerOptions(self._configuration)
        return len(orc.mergeFiles(self._path(new), options, sources)) == 2

    def rows_of(self, path: str) -> int:
        """Return the number of rows in an ORC file."""
        orc = java(self._context, "org.apache.orc.OrcFile")
        options = orc.readerOptions(self._configuration)
        found = self._run(
            lambda: orc.createReader(self._path(path), options).getNumberOfRows(), f"read {path}"
        )
        assert isinstance(found, int)
        return found

    def _path(self, path: str) -> JavaObject:
        return java(self._context, PATH)(path)

    def _of(self, path: str) -> JavaObject:
        return self._path(path).getFileSystem(self._configuration)

    def _unless_missing(self, call: Callable[[], T], path: str, what: str) -> T | None:
        """Run a call; return None if it fails because the path does not exist (any more)."""
        try:
            return self._run(call, what)
        except PublicationError:
            if self.exists(path):
                raise
            return None

    def _check(self, call: Callable[[], object], what: str) -> None:
        if not self._run(call, what):
            raise PublicationError(f"The file system refused to {what}. Nothing was committed.")

    def _run(self, call: Callable[[], T], what: str) -> T:
        try:
            return call()
        except JAVA_ERRORS as error:
            raise PublicationError(
                f"Could not {what}: {java_exception(error).toString()}. Check that Spark may "
                "write there. Nothing was committed."
            ) from error
