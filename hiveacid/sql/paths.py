"""Directories of transactional tables that a statement names by their paths.

A path hides a table from all checks of names: Spark would read the table's files raw, create a
table over them, or write among them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pyspark.sql import SparkSession

from hiveacid.acid.layout import try_parse_directory
from hiveacid.errors import RawAcidReferenceError
from hiveacid.jvm.java_types import LogicalPlan
from hiveacid.jvm.py4j import each, java

_WRITTEN_BY_HIVE = "{base,delta,delete_delta}_[0-9]*"
_DEEPEST = 4
"""Levels of directories, such as partitions, between a path and what Hive writes below it."""

_LOOKED_AT = 1_000
"""Files and directories that are looked at for a path with wildcards, at most."""

_PATH = "path"


@dataclass(frozen=True)
class NamedPath:
    """A path in a statement; `is_read` if all files below it are read."""

    path: str
    is_read: bool


def is_path(parts: tuple[str, ...]) -> bool:
    """Return whether a relation is a path, such as `` orc.`/some/where` ``."""
    return len(parts) == 2 and "/" in parts[1]


def paths_in(plan: LogicalPlan) -> Iterator[NamedPath]:
    """Yield the paths that a command names, by its plan before analysis."""
    kind = plan.nodeName()
    if kind == "WithCTE":
        yield from paths_in(plan.plan())
        return
    if kind == "Union":
        # Hive's `from … insert … insert …` is one. A union of queries may be thousands deep.
        if plan.children().head().nodeName().startswith("InsertInto"):
            for child in each(plan.children()):
                yield from paths_in(child)
        return
    paths: list[Any] = []
    if kind == "CreateTableLike":
        # What CREATE TABLE … LIKE is since Spark 4.2; before, it is a CreateTableLikeCommand.
        paths.append(_get(plan.location()))
    elif kind == "CreateTableLikeCommand":
        paths.append(_get(plan.fileFormat().locationUri()))
    elif kind.startswith(("CreateTable", "ReplaceTable")):
        spec = plan.tableSpec()
        paths += [_get(spec.location()), *_expressions(spec.optionExpression().options())]
    elif kind == "CreateTempViewUsing":
        yield from (NamedPath(path, True) for path in _texts(plan.options()))
    elif kind == "CreateNamespace":
        # The database's tables would be made there.
        paths.append(_get(plan.properties().get("location")))
    elif kind in ("SetTableLocation", "SetNamespaceLocation"):
        paths.append(plan.location())
    elif kind == "AddPartitions":
        paths += [_get(part.location()) for part in each(plan.parts())]
    elif kind == "InsertIntoDir":
        storage = plan.storage()
        paths += [_get(storage.locationUri()), *_texts(storage.properties())]
    elif kind == "LoadData":
        paths.append(plan.path())
    yield from (NamedPath(str(path), False) for path in paths if path is not None)


def refuse_acid_directory(session: SparkSession, named: NamedPath) -> None:
    """Refuse a path at, above or below which a transactional table has its rows.

    All directories below a path that is read are searched; for other paths only the first
    partition is.

    Raises:
        RawAcidReferenceError: naming the path, and a directory that Hive has written.
    """
    found = _written_by_hive(session, named)
    if found is not None:
        raise RawAcidReferenceError(
            f"The statement uses the path {named.path}, where a transactional Hive table has "
            f"its rows ({found}). Spark would read the files wrong, or change them without "
            "Hive's locks. So the statement was not run. Name the table in place of its path.",
            code="HIVEACID_PATH_OF_TRANSACTIONAL_TABLE",
        )


def _written_by_hive(session: SparkSession, named: NamedPath) -> str | None:
    context = session.sparkContext
    path = java(context, "org.apache.hadoop.fs.Path")
    root = path(named.path)
    files = root.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())
    # The path may have wildcards, and may not exist.
    there = [status.getPath() for status in islice(files.globStatus(root) or (), _LOOKED_AT)]
    for found in map(str, [root, *there]):
        if any(try_parse_directory(name) is not None for name in found.split("/")):
            return found
    for _ in range(_DEEPEST):
        for status in files.globStatus(path(root, _WRITTEN_BY_HIVE)) or ():
            if try_parse_directory(status.getPath().getName()) is not None:
                return str(status.getPath())
        if named.is_read:
            root = path(root, "*")
        else:
            partition = next(iter(files.globStatus(path(root, "*=*")) or ()), None)
            if partition is None:
                return None
            root = partition.getPath()
    return None


def _get(option: Any) -> Any:
    found = option.get() if option.isDefined() else None
    return None if found is None else found if isinstance(found, str) else str(found.toString())


def _texts(options: Any) -> Iterator[str]:
    """Yield the values of the option `path`, in whatever case, of a Scala map."""
    for pair in each(options.toSeq()):
        if pair._1().lower() == _PATH:
            yield str(pair._2())


def _expressions(options: Any) -> Iterator[str]:
    for pair in each(options):
        if pair._1().lower() == _PATH:
            yield str(pair._2().toString())
