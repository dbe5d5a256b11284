"""Copies of the beginnings of files that are being written, for as long as a snapshot lives."""

from __future__ import annotations

import logging
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass

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
"""Megabytes that the copies of one snapshot may have together, unless a setting says otherwise."""

_IO = "org.apache.commons.io.IOUtils"
_LONG = 8


@dataclass(frozen=True)
class Flushed:
    """What counts of a file that is being written.

    `file` is to be read in its place; None if the writer has flushed no rows yet. `length` is the
    number of bytes that count; None if the writer has closed the file meanwhile.
    """

    file: ListedFile | None
    length: int | None


class Scratch:
    """Copies of one snapshot, in a directory of their own that is removed with them. Thread-safe.

    Nothing is made before the first copy.
    """

    def __init__(self, directory: str | None = None, limit: float = DEFAULT_LIMIT) -> None:
        """Make nothing yet.

        Args:
            directory: a path of Hadoop's for the directory of the copies to be in; None is `/tmp`
                on the file system of the files.
            limit: megabytes.
        """
        self._parent = directory or "/tmp"
        self._limit = round(limit * 1_000_000)
        # A signal handler may remove the copies while its own thread makes one.
        self._lock = threading.RLock()
        self._ended = False
        self._copied = 0
        self._flushed: dict[str, Flushed] = {}
        self._made: dict[str, tuple[JavaObject, JavaObject]] = {}

    def flushed(self, spark: SparkSession, file: ListedFile, side_file: ListedFile) -> Flushed:
        """Return what counts of a file next to a side file; copy it once.

        The side file holds the lengths that its writer has flushed, the last one at its end, as
        `OrcAcidUtils.getLastFlushLength` reads it. The bytes up to there end with a footer.

        Raises:
            UnreadableTableError: the side file holds no length, the copies would be too large, or
                a file cannot be read or copied.
            SnapshotEndedError: the copies were removed.
        """
        with self._lock:
            if self._ended:
                raise SnapshotEndedError(
                    f"{file.path} is being written, and is read from a snapshot that has ended: "
                    "its copies were removed. Take a new snapshot."
                )
            if file.path not in self._flushed:
                try:
                    self._flushed[file.path] = self._look(spark, file, side_file)
                except JAVA_ERRORS as error:
                    raise UnreadableTableError(
                        f"{file.path} is being written, and what counts of it cannot be copied: "
                        f"{java_exception(error).toString()}. Check that Spark may read it and "
                        "write to the scratch directory (`scratch_directory`)."
                    ) from error
            return self._flushed[file.path]

    def remove(self) -> None:
        """Remove the copies, and make no more of them.

        What fails goes to the log: the copies lie in a directory for such files.
        """
        with self._lock:
            self._ended = True
            made, self._made = list(self._made.values()), {}
            self._flushed.clear()
            self._copied = 0
        for file_system, directory in made:
            try:
                file_system.delete(directory, True)
                file_system.cancelDeleteOnExit(directory)
            except Exception as error:  # the JVM may have ended before
                logger.debug(f"Copies of files that are being written are left: {error}")

    def _look(self, spark: SparkSession, file: ListedFile, side_file: ListedFile) -> Flushed:
        path, side_path = (java(spark.sparkContext, PATH)(each.path) for each in (file, side_file))
        file_system = path.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
        try:
            length = _last_length(spark, file_system, side_path)
        except JAVA_ERRORS:
            if file_system.exists(side_path):
                raise
            # Its writer has closed the file since it was listed.
            status = file_system.getFileStatus(path)
            length, time = status.getLen(), status.getModificationTime()
            return Flushed(ListedFile(file.relative, file.path, length, time), None)
        if length is None:
            raise UnreadableTableError(
                f"{side_file.path} holds no length: {file.path} is being written, and nothing says "
                "how much of it counts. Hive cannot read the table either. Wait until the writer "
                "has flushed."
            )
        if length == 0:
            return Flushed(None, 0)
        if self._copied + length > self._limit:
            raise UnreadableTableError(
                f"{file.path} is being written, and Spark can read no part of a file: "
                f"{human_bytes(length)} of it count, and must be copied. With them, the copies of "
                f"this snapshot would have more than {human_bytes(self._limit)}. Allow more "
                "(`open_files_limit`), or wait until the writer has closed the file."
            )
        copy = self._copy(spark, file_system, path, length)
        self._copied += length
        return Flushed(ListedFile(file.relative, copy, length), length)

    def _copy(
        self, spark: SparkSession, file_system: JavaObject, path: JavaObject, length: int
    ) -> str:
        target_system, directory = self._directory(spark, file_system)
        # The copies of a snapshot may have the same name, and what failed is tried again.
        own_directory = java(spark.sparkContext, PATH)(directory, uuid.uuid4().hex)
        target = java(spark.sparkContext, PATH)(own_directory, path.getName())
        try:
            source = file_system.open(path)
            try:
                copy = target_system.create(target, False)
                try:
                    copied = java(spark.sparkContext, _IO).copyLarge(source, copy, 0, length)
                finally:
                    copy.close()
            finally:
                source.close()
            if copied != length:
                raise UnreadableTableError(
                    f"{path.toString()} has {copied} bytes, and its writer says that {length} "
                    "count. If this stays so, the file was cut: see the log of the writer."
                )
        except BaseException:
            with suppress(Exception):
                target_system.delete(own_directory, True)
            raise
        return str(target.toString())

    def _directory(
        self, spark: SparkSession, file_system: JavaObject
    ) -> tuple[JavaObject, JavaObject]:
        """Return the directory for copies of files on a file system, with its own file system."""
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


def _last_length(spark: SparkSession, file_system: JavaObject, side_path: JavaObject) -> int | None:
    """Return the last whole number in a side file; None without any."""
    content = java(spark.sparkContext, "java.io.ByteArrayOutputStream")()
    stream = file_system.open(side_path)
    try:
        java(spark.sparkContext, _IO).copyLarge(stream, content)
    finally:
        stream.close()
    numbers = bytes(content.toByteArray())
    whole = len(numbers) // _LONG * _LONG
    return int.from_bytes(numbers[whole - _LONG : whole], "big") if whole else None
