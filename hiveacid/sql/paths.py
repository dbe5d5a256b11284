"""Paths in statements: files that a statement reads, writes or takes over without a table's name.

A path may lead into the directory of a transactional table. Its rows cannot be read as plain
files, and nothing may be written next to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.acid.layout import try_parse_directory
from hiveacid.jvm.errors import JAVA_ERRORS
from hiveacid.jvm.expressions import text_of_literal
from hiveacid.jvm.filesystem import DIRECTORY, PATH, SPARK_NAMES, FileStatuses
from hiveacid.jvm.py4j import each, java
from hiveacid.sql.statement import Statement

_MAKES_TABLE = frozenset(
    {"CreateTable", "CreateTableAsSelect", "ReplaceTable", "ReplaceTableAsSelect"}
)
_BATCH = 1_000


def paths_of(statement: Statement) -> Iterator[str]:
    """Yield the paths that a statement has in its clauses, not as names of relations."""
    plan, kind = statement.plan, statement.kind
    if kind in _MAKES_TABLE:
        spec = plan.tableSpec()
        yield from _defined(spec.location())
        for option in each(spec.optionExpression().options()):
            path = text_of_literal(option._2())
            if str(option._1()).lower() == "path" and path is not None:
                yield path
    elif kind == "CreateTempViewUsing":
        yield from _path_option(plan.options())
    elif kind == "CreateTableLikeCommand":
        yield from _storage(plan.fileFormat())
    elif kind == "InsertIntoDir":
        yield from _storage(plan.storage())
    elif kind == "SetTableLocation":
        yield str(plan.location())
    elif kind == "LoadData":
        yield str(plan.path())
    elif kind == "AddPartitions":
        for part in each(plan.parts()):
            yield from _defined(part.location())
    elif kind == "SetTableSerDeProperties" and plan.serdeProperties().isDefined():
        yield from _path_option(plan.serdeProperties().get())
    elif kind == "CloneTableStatement":
        yield from _defined(plan.targetLocation())
    elif kind == "ConvertToDeltaCommand":
        yield str(plan.tableIdentifier().table())


def acid_directory(session: SparkSession, path: str) -> str | None:
    """Return the directory of a transactional table that a path leads into; None for any other.

    The path may be that of a file, and may have wildcards. Directories of partitions are looked
    into. What cannot be listed is left to Spark, which has an error of its own.
    """
    try:
        return _Search(session, path).find()
    except JAVA_ERRORS:
        return None


class _Search:
    """Search for the directories of transactional tables around one path."""

    def __init__(self, session: SparkSession, path: str) -> None:
        context = session.sparkContext
        self._make_path = java(context, PATH)
        self._path = self._make_path(path)
        configuration = session._jsparkSession.sessionState().newHadoopConf()
        self._file_system = self._path.getFileSystem(configuration)
        self._statuses = FileStatuses.of(session)
        self._bulk = self._statuses._bulk

    def find(self) -> str | None:
        """Return the first directory that holds bases or deltas."""
        inside = self._named_on_the_way()
        if inside is not None:
            return inside
        found = self._file_system.globStatus(self._path) or ()
        directories = [str(it.getPath().toString()) for it in found if it.isDirectory()]
        return self._below(directories) or self._around(directories or [str(self._path.toString())])

    def _named_on_the_way(self) -> str | None:
        """Return the table's directory if the path itself names a base or a delta."""
        part = self._path
        while part is not None:
            parent = part.getParent()
            if self._is_acid(str(part.toString())):
                return str(parent.toString())
            part = parent
        return None

    def _is_acid(self, directory: str) -> bool:
        """Return whether a directory is a base or a delta, and not a table that is named so.

        The files of Spark's own tables, and the directories of their partitions, are not found in
        Hive's directories.
        """
        if try_parse_directory(directory.rpartition("/")[2]) is None:
            return False
        path = self._make_path(directory)
        found = self._file_system.globStatus(self._make_path(path, "*")) or ()
        names = [str(it.getPath().getName()) for it in found]
        return not any(name.startswith("part-") or "=" in name for name in names)

    def _below(self, directories: list[str]) -> str | None:
        """Look into directories, and into those of partitions below them."""
        while directories:
            below: list[str] = []
            for start in range(0, len(directories), _BATCH):
                for child in self._children(directories[start : start + _BATCH]):
                    parent, _, name = child.rpartition("/")
                    if self._is_acid(child):
                        return parent
                    if "=" in name:
                        below.append(child)
            directories = below
        return None

    def _around(self, paths: list[str]) -> str | None:
        """Look at the directories that hold these paths: the table's, above its partitions."""
        for path in paths:
            parent = self._make_path(path).getParent()
            while parent is not None and "=" in str(parent.getName()):
                parent = parent.getParent()
            if parent is None or not self._file_system.exists(parent):
                continue
            directory = str(parent.toString())
            is_partition = "=" in path.rstrip("/")[len(directory) :]
            children = self._children([directory])
            if any(self._is_acid(child) for child in children):
                return directory
            if is_partition:
                found = self._below([it for it in children if "=" in it.rpartition("/")[2]])
                if found is not None:
                    return directory
        return None

    def _children(self, directories: list[str]) -> list[str]:
        paths = self._bulk.paths(directories)
        listed = self._statuses.listed(self._file_system, paths, SPARK_NAMES)
        return [path for path, length, _ in listed if length == DIRECTORY]


def _path_option(options: Any) -> Iterator[str]:
    for option in each(options.toSeq()):
        if str(option._1()).lower() == "path":
            yield str(option._2())


def _storage(storage: Any) -> Iterator[str]:
    yield from _defined(storage.locationUri())
    yield from _path_option(storage.properties())


def _defined(option: Any) -> Iterator[str]:
    if option.isDefined():
        value = option.get()
        yield value if isinstance(value, str) else str(value.toString())
