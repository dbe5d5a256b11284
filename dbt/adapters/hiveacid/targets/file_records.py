"""Records of a target's state in its directory, and digests of its files."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.spark.table_locations import HadoopPath
from hiveacid.formatting import first_few
from hiveacid.jvm.filesystem import SPARK_NAMES, list_location
from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java

CLAIM = "claimed_by"
_RECORD = re.compile(r"(\d{12})\.json")


@dataclass(frozen=True)
class NewestRecord:
    """Newest record of a table, and newest record that is not a claim.

    Attributes:
        records: the directory of the records.
        generation: the number of the newest record; 0 if there is none.
        counting: the number of the newest record that is not a claim; 0 if there is none.
        text: the text of that record; empty if there is none.
    """

    records: Directory
    generation: int
    counting: int
    text: str


def generations(names: Iterable[str]) -> list[int]:
    """Return the numbers of the records among a directory's files, in ascending order."""
    matches = map(_RECORD.fullmatch, names)
    return sorted(int(match.group(1)) for match in matches if match is not None)


def claim_of(text: str) -> str | None:
    """Return the invocation whose claim a record is; None if the record is not a claim."""
    return json.loads(text).get(CLAIM) if CLAIM in text else None


def record_name(generation: int) -> str:
    """Return the name of a record's file."""
    return f"{generation:012d}.json"


def done_name(generation: int) -> str:
    """Return the name of the file that marks a record's append as finished."""
    return f"{generation:012d}.done"


_DIGEST_BYTES = 6
_DIGEST_LETTERS = 8
_NAMED_PARTITIONS = 3
"""Maximum number of partitions that an error names."""


@dataclass(frozen=True)
class WrittenFiles:
    """The files that the runs of a model have written into its target.

    `by_directory` maps each directory to the digests of its files' names. The empty name is the
    table's own directory; the other directories, below it, are partitions.
    """

    by_directory: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, names: Iterable[str]) -> WrittenFiles:
        """Return the files of the given names, which are relative to the table's directory."""
        found: dict[str, set[str]] = {}
        for name in names:
            directory, _, file = name.rpartition("/")
            found.setdefault(directory, set()).add(_digest(file))
        return cls({directory: frozenset(digests) for directory, digests in found.items()})

    @classmethod
    def from_json(cls, data: Mapping[str, str]) -> WrittenFiles:
        """Parse the result of `to_json`."""
        return cls({directory: frozenset(_split(text)) for directory, text in data.items()})

    def to_json(self) -> dict[str, str]:
        """Return a dictionary for `json.dumps`."""
        return {
            directory: "".join(sorted(digests)) for directory, digests in self.by_directory.items()
        }

    def with_more(self, names: Iterable[str]) -> WrittenFiles:
        """Return these files together with the files of the given names."""
        more, known = WrittenFiles.of(names).by_directory, self.by_directory
        nothing: frozenset[str] = frozenset()
        return WrittenFiles(
            {name: known.get(name, nothing) | more.get(name, nothing) for name in {**known, **more}}
        )

    def gone(self, names: Iterable[str], partitions: Collection[str] | None) -> str | None:
        """Return what has been lost, as a clause after "because"; None if all files are there.

        Args:
            names: the names of the files below the table's directory.
            partitions: the partitions in the catalog; None if they are not in the catalog. They are
                compared because the files of an external table stay when a partition is dropped.
        """
        there = WrittenFiles.of(names).by_directory
        if partitions is not None:
            known = set(map(_without_case, partitions))
            there = {name: files for name, files in there.items() if _without_case(name) in known}
        gone = {
            directory: len(digests - there.get(directory, frozenset()))
            for directory, digests in self.by_directory.items()
        }
        lost = sum(gone.values())
        if not lost:
            return None
        whole = sum(map(len, self.by_directory.values()))
        where = sorted(name for name, count in gone.items() if name and count)
        named = f" ({first_few(where, _NAMED_PARTITIONS)})" if where else ""
        return f"{lost} of the {whole} files that its runs have written are gone from it{named}"


def _digest(name: str) -> str:
    digest = hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES)
    return base64.urlsafe_b64encode(digest.digest()).decode()


def _split(text: str) -> Iterable[str]:
    return (text[i : i + _DIGEST_LETTERS] for i in range(0, len(text), _DIGEST_LETTERS))


def _without_case(partition: str) -> str:
    """Return a partition's name with its column names in lower case, as in the metastore."""
    if not partition:
        return partition
    parts = (part.partition("=") for part in partition.split("/"))
    return "/".join(f"{column.lower()}={value}" for column, _, value in parts)


class Directory:
    """A directory of a target or of its records. File names are relative to the directory."""

    def __init__(self, session: SparkSession, location: str) -> None:
        """`location` is a Hadoop path, unescaped, with or without a scheme."""
        self._session = session
        self._context = session.sparkContext
        self._path = self._java("org.apache.hadoop.fs.Path")(location)
        self._configuration = session._jsparkSession.sessionState().newHadoopConf()
        self._files = self._path.getFileSystem(self._configuration)

    def names(self) -> list[str]:
        """Return the names of the directory's files and subdirectories; none if it is missing."""
        if not self._files.exists(self._path):
            return []
        return sorted(status.getPath().getName() for status in self._files.listStatus(self._path))

    def data_files(self) -> list[str]:
        """Return all files below the directory, except files that Spark hides.

        Empty if the directory does not exist.

        Raises:
            UnreadableTableError: the file system refused or failed.
        """
        listing = list_location(self._session, self._path.toString(), SPARK_NAMES)
        return sorted(file.relative for file in listing.files)

    def read(self, name: str) -> str:
        """Read a file as UTF-8 text. Raises `FileNotFoundError`."""
        try:
            stream = self._files.open(self._child(name))
        except Py4JJavaError as error:
            raise _as_python(error, name) from error
        try:
            return str(self._java("org.apache.commons.io.IOUtils").toString(stream, "UTF-8"))
        finally:
            stream.close()

    def make(self) -> None:
        """Create the directory, unless it exists."""
        self._files.mkdirs(self._path)

    def create(self, name: str, text: str) -> bool:
        """Create a file atomically with its text; return False if the name is taken already.

        Raises:
            FileNotFoundError: the directory does not exist. It is not created, since its table may
                be about to be replaced, and then its path must stay free.
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
            # A failure to delete the draft must not change the result.
            with suppress(Py4JJavaError):
                self._files.delete(draft, False)

    def move_in(self, other: Directory, name: str) -> bool:
        """Move a file from another directory to this one; return False if it is not there.

        Several processes may move the same file at the same time.
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
        """Return whether there is a file or directory of this name."""
        return bool(self._files.exists(self._child(name)))

    def delete(self, name: str) -> None:
        """Delete a file, or a directory with its contents, if it exists."""
        self._files.delete(self._child(name), True)

    def _child(self, name: str) -> HadoopPath:
        return self._java("org.apache.hadoop.fs.Path")(self._path, name)

    def _java(self, name: str) -> Any:
        return java(self._context, name)

    def _new_file(self, path: HadoopPath) -> JavaObject:
        files = self._files
        replication, block_size = files.getDefaultReplication(path), files.getDefaultBlockSize(path)
        try:
            return files.createNonRecursive(path, False, 4096, replication, block_size, None)
        except Py4JJavaError as error:
            raise _as_python(error, self._path.toString()) from error

    def _rename_to_new(self, source: HadoopPath, target: HadoopPath) -> bool:
        # A local rename replaces the target, against the contract of Hadoop's `FileContext`; a link
        # does not. On HDFS the rename is atomic and refuses an existing target.
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
