"""Copies of the flushed parts of open files, removed with the snapshot."""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from pyspark.sql import SparkSession

from hiveacid.acid.layout import ListedFile
from hiveacid.errors import SnapshotEndedError, UnreadableTableError
from hiveacid.formatting import human_bytes
from hiveacid.jvm.errors import JAVA_ERRORS, java_exception
from hiveacid.jvm.filesystem import PATH
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java

logger = logging.getLogger("hiveacid")

DEFAULT_LIMIT = 512.0
"""Default maximum size of one snapshot's copies together, in megabytes."""

IO = "org.apache.commons.io.IOUtils"
Found = TypeVar("Found")


class Scratch:
    """Copies of one snapshot, in a directory that is removed with them. Thread-safe.

    The directory is created with the first copy.
    """

    def __init__(self, directory: str | None = None, limit: float = DEFAULT_LIMIT) -> None:
        """Create nothing yet.

        Args:
            directory: Hadoop path of the parent directory; None is `/tmp` on the file system of the
                files.
            limit: maximum size of all copies together, in megabytes.
        """
        self._parent = directory or "/tmp"
        self._limit = round(limit * 1_000_000)
        # A signal handler may remove the copies while its own thread makes one.
        self._lock = threading.RLock()
        self._ended = False
        self._copied = 0
        self._found: dict[str, Any] = {}
        self._made: dict[str, tuple[JavaObject, JavaObject]] = {}

    def once(self, file: ListedFile, look: Callable[[], Found]) -> Found:
        """Return the result of `look` at an open file, which is called once in a snapshot.

        Raises:
            UnreadableTableError: a file cannot be read or copied.
            SnapshotEndedError: the copies were removed.
        """
        with self._lock:
            if self._ended:
                raise SnapshotEndedError(
                    f"{file.path} cannot be read: it was still being written, and its copy "
                    "was removed when the snapshot ended. Take a new snapshot."
                )
            if file.path not in self._found:
                try:
                    self._found[file.path] = look()
                except JAVA_ERRORS as error:
                    raise UnreadableTableError(
                        f"The flushed part of {file.path}, which is still being written, "
                        f"cannot be copied: {java_exception(error).toString()}. Check that "
                        "Spark may read the file and write to the scratch directory "
                        "(`scratch_directory`).",
                        code="HIVEACID_COPY_OF_OPEN_FILE_FAILED",
                    ) from error
            found: Found = self._found[file.path]
            return found

    def copy(self, spark: SparkSession, file: ListedFile, length: int) -> str:
        """Copy the flushed part of an open file to a new file, and return the new file's path.

        Args:
            spark: the session whose file systems are used.
            file: the open file.
            length: the flushed length in bytes.

        Raises:
            UnreadableTableError: the copies would be too large, or the file is shorter.
        """
        with self._lock:
            if self._copied + length > self._limit:
                raise UnreadableTableError(
                    f"{file.path} is still being written, and a copy of its flushed "
                    f"{human_bytes(length)} would exceed the limit of "
                    f"{human_bytes(self._limit)} for all copies of this snapshot. Raise "
                    "`open_files_limit`, or wait until the writer has closed the file.",
                    code="HIVEACID_OPEN_FILES_LIMIT",
                )
            copy = self._copy(spark, java(spark.sparkContext, PATH)(file.path), length)
            self._copied += length
            return copy

    def remove(self) -> None:
        """Remove the copies, and refuse further ones.

        A failure goes to the log: the copies are in a directory for temporary files.
        """
        with self._lock:
            self._ended = True
            made, self._made = list(self._made.values()), {}
            self._found.clear()
            self._copied = 0
        for file_system, directory in made:
            try:
                file_system.delete(directory, True)
                file_system.cancelDeleteOnExit(directory)
            except Exception as error:  # the JVM may have ended before
                logger.debug(f"Copies of files that are being written were not removed: {error}")

    def _copy(self, spark: SparkSession, path: JavaObject, length: int) -> str:
        file_system = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        target_system, directory = self._directory(spark, file_system)
        # Two open files may have the same name, and a failed copy is tried again.
        own_directory = java(spark.sparkContext, PATH)(directory, uuid.uuid4().hex)
        target = java(spark.sparkContext, PATH)(own_directory, path.getName())
        try:
            source = file_system.open(path)
            try:
                copy = target_system.create(target, False)
                try:
                    copied = java(spark.sparkContext, IO).copyLarge(source, copy, 0, length)
                finally:
                    copy.close()
            finally:
                source.close()
            if copied != length:
                raise UnreadableTableError(
                    f"{path.toString()} has {copied} bytes, but its writer has flushed "
                    f"{length}. Take a new snapshot. If the error remains, the file was "
                    "truncated: see the writer's log.",
                    code="HIVEACID_FILE_SHORTER_THAN_FLUSHED",
                )
        except BaseException:
            with suppress(Exception):
                target_system.delete(own_directory, True)
            raise
        return str(target.toString())

    def _directory(
        self, spark: SparkSession, file_system: JavaObject
    ) -> tuple[JavaObject, JavaObject]:
        """Return the directory for copies of files on `file_system`, and its own file system."""
        key = str(file_system.getUri().toString())
        if key not in self._made:
            path = java(spark.sparkContext, PATH)
            user = java(
                spark.sparkContext, "org.apache.hadoop.security.UserGroupInformation"
            ).getCurrentUser()
            name = f"hiveacid-{user.getShortUserName()}-{uuid.uuid4().hex}"
            directory = path(f"{self._parent}/{name}")
            own_system = file_system
            if directory.toUri().getScheme() is not None:
                own_system = directory.getFileSystem(
                    spark._jsparkSession.sessionState().newHadoopConf()
                )
            directory = own_system.makeQualified(directory)
            permission = java(spark.sparkContext, "org.apache.hadoop.fs.permission.FsPermission")
            own_system.mkdirs(directory, permission("700"))
            own_system.deleteOnExit(directory)
            self._made[key] = own_system, directory
        return self._made[key]
