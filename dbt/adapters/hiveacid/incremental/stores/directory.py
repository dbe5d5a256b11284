"""The few file operations that a state in a table's directory needs, on any Hadoop file system."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.reader.bulk import bulk_of
from dbt.adapters.hiveacid.reader.file_statuses import DIRECTORY, FileStatuses, Status
from dbt.adapters.hiveacid.reader.hadoop import (
    BATCH,
    THREADS,
    batches,
    while_directories_vanish,
)
from dbt.adapters.hiveacid.spark.jvm import java

_SHOWN_NAMES = "(?s)[^._].*|_.*=.*"
"""As `HadoopFSUtils.shouldFilterOutPathName`: `_day=1` is the directory of a partition."""


class Directory:
    """A directory; names are relative to it."""

    def __init__(self, session: SparkSession, location: str) -> None:
        """`location` is a Hadoop path, unescaped, with or without a scheme."""
        self._session = session
        self._context = session.sparkContext
        self._path = self._java("org.apache.hadoop.fs.Path")(location)
        self._configuration = session._jsparkSession.sessionState().newHadoopConf()
        self._files = self._path.getFileSystem(self._configuration)

    def names(self) -> list[str]:
        """What lies in it; nothing if it does not exist."""
        if not self._files.exists(self._path):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(self._path))

    def data_files(self) -> list[str]:
        """All files below it but those that Spark hides (`_SHOWN_NAMES`).

        Level by level, all directories of a level in a few calls. Nothing if it does not exist.
        """
        return while_directories_vanish(
            lambda: sorted(self._below()) if self._files.exists(self._path) else []
        )

    def _below(self) -> Iterator[str]:
        bulk, statuses = bulk_of(self._session), FileStatuses.of(self._session)

        def listed(directories: Sequence[str]) -> list[Status]:
            return statuses.listed(self._files, bulk.paths(directories), _SHOWN_NAMES)

        level = statuses.qualified(self._files, bulk.paths([self._path.toString()]))
        start = len(level[0].rstrip("/")) + 1
        with ThreadPoolExecutor(THREADS) as pool:
            while level:
                found = [s for part in pool.map(listed, batches(level, BATCH)) for s in part]
                level = [path for path, length, _ in found if length == DIRECTORY]
                yield from (path[start:] for path, length, _ in found if length != DIRECTORY)

    def read(self, name: str) -> str:
        """A file as UTF-8 text. Raises `FileNotFoundError`."""
        try:
            stream = self._files.open(self._child(name))
        except Py4JJavaError as error:
            raise _as_python(error, name) from error
        try:
            return str(self._java("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
        finally:
            stream.close()

    def make(self) -> None:
        """Make the directory, unless it exists."""
        self._files.mkdirs(self._path)

    def create(self, name: str, text: str) -> bool:
        """Create a file with all its text at once; False if there is one of that name already.

        Raises:
            FileNotFoundError: the directory itself does not exist. It is not made: it may be that
                of a table which is being replaced, whose place must stay free.
        """
        draft = self._child(f".{name}.{uuid.uuid4().hex}")
        stream = self._new_file(draft)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
        try:
            return self._rename_to_new(draft, self._child(name))
        finally:
            # Whether the file is there by now must not depend on it.
            with suppress(Py4JJavaError):
                self._files.delete(draft, False)

    def move_in(self, other: Directory, name: str) -> bool:
        """Move a file from another directory to the same name here; False if it is not there.

        Several processes may do so at the same time.
        """
        source, target = other._child(name), self._child(name)
        if not self._files.exists(source):
            return False
        self._files.mkdirs(target.getParent())
        reason = None
        try:
            if self._files.rename(source, target):
                return True
        except Py4JJavaError as error:
            reason = error
        if self._files.exists(source) or not self._files.exists(target):
            raise OSError(
                f"{source.toString()} could not be renamed to {target.toString()}"
            ) from reason
        return False

    def has(self, name: str) -> bool:
        """Whether there is a file or directory of that name."""
        return bool(self._files.exists(self._child(name)))

    def delete(self, name: str) -> None:
        """Delete a file or a directory with all in it, if there is one."""
        self._files.delete(self._child(name), True)

    def _child(self, name: str) -> Any:
        return self._java("org.apache.hadoop.fs.Path")(self._path, name)

    def _java(self, name: str) -> Any:
        return java(self._context, name)

    def _new_file(self, path: Any) -> Any:
        files = self._files
        replication, block_size = files.getDefaultReplication(path), files.getDefaultBlockSize(path)
        try:
            return files.createNonRecursive(path, False, 4096, replication, block_size, None)
        except Py4JJavaError as error:
            raise _as_python(error, self._path.toString()) from error

    def _rename_to_new(self, source: Any, target: Any) -> bool:
        # A local rename replaces what is there, whatever Hadoop's interface promises; a link does
        # not. On HDFS the rename itself is atomic and refuses.
        qualified = self._files.makeQualified(target)
        if qualified.toUri().getScheme() == "file":
            try:
                os.link(
                    self._files.makeQualified(source).toUri().getPath(),
                    qualified.toUri().getPath(),
                )
            except FileExistsError:
                return False
            return True
        context = self._java("org.apache.hadoop.fs.FileContext").getFileContext(
            qualified.toUri(), self._configuration
        )
        options = self._java("java.lang.reflect.Array").newInstance(
            self._java("java.lang.Class").forName("org.apache.hadoop.fs.Options$Rename"), 0
        )
        try:
            context.rename(source, target, options)
        except Py4JJavaError as error:
            if "FileAlreadyExistsException" in error.java_exception.getClass().getName():
                return False
            raise
        return True


def _as_python(error: Py4JJavaError, name: str) -> Exception:
    is_missing = "FileNotFoundException" in error.java_exception.getClass().getName()
    return FileNotFoundError(name) if is_missing else error
