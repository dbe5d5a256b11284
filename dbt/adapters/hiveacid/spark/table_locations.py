"""Directories of tables, through Spark's catalog and Hadoop's `FileSystem`.

A location is a string as in SQL's LOCATION: a Hadoop path, unescaped, with or without a scheme.
"""

from __future__ import annotations

import time
from typing import NewType

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.errors import AdapterError
from hiveacid.formatting import quoted, text_literal
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.java_types import CatalogTable, JavaObject
from hiveacid.jvm.py4j import java
from hiveacid.sql.catalog import external_catalog, identifier, session_catalog, table_metadata

HadoopPath = NewType("HadoopPath", JavaObject)
"""`org.apache.hadoop.fs.Path`."""

HadoopFiles = NewType("HadoopFiles", JavaObject)
"""`org.apache.hadoop.fs.FileSystem`."""


def table_location(session: SparkSession, database: str, table: str) -> str | None:
    """Return the location of an external table.

    None for a managed table, whose files are deleted with the table, and if there is no such table.
    """
    metadata = table_metadata(session, database, table)
    if metadata is None or not _is_external(metadata):
        return None
    return _converter(session).URIToString(metadata.location())


def location(session: SparkSession, database: str, table: str) -> str:
    """Return the location of a table. Raises Spark's error if there is no such table."""
    name = identifier(session, database, table)
    return _converter(session).URIToString(
        session_catalog(session).getTableMetadata(name).location()
    )


def location_if_any(session: SparkSession, database: str, table: str) -> str | None:
    """Return the location of a table; None for a view, and if there is no such table."""
    return _location_of(session, table_metadata(session, database, table))


def directory_if_any(session: SparkSession, metadata: CatalogTable | None) -> str | None:
    """Return the location of a table, given its `CatalogTable`.

    None for a view, if there is no table (`metadata` is None), and if the directory does not exist.
    """
    found = _location_of(session, metadata)
    return found if found is not None and exists(session, found) else None


def default_location(session: SparkSession, database: str, table: str) -> str | None:
    """Return the directory in which Spark would create a new managed table.

    None for a database that is not in Spark's own catalog.
    """
    name = identifier(session, database, table)
    uri = unless_missing(lambda: session_catalog(session).defaultTablePath(name))
    return None if uri is None else _converter(session).URIToString(uri)


def lies_in(session: SparkSession, location: str, directory: str) -> bool:
    """Return whether a location is a directory or below it, by path; neither need exist."""
    inner, outer = (
        file_system.makeQualified(path).toString().rstrip("/") + "/"
        for path, file_system in (_path(session, text) for text in (location, directory))
    )
    return inner.startswith(outer)


def follow_directory(
    session: SparkSession, database: str, table: str, previous: str | None
) -> None:
    """Set a renamed table's location in Spark's catalog to the directory with its rows.

    Spark assumes that the directory of a managed table has been renamed, and that an external
    table's directory has stayed. A metastore may behave differently:
    - if it has made the table external ("translated"), it moves the directory of an external table,
    - if it has not, it moves the directory that it has recorded for the table, below
      `metastore.warehouse.dir`, even if Spark has put the rows below the database's location.

    In both cases Spark would go on to read and write an empty directory.

    Args:
        session: a session of the Spark.
        database: the table's database.
        table: the table's new name.
        previous: the directory in which the rows were; None if there was none.

    Raises:
        AdapterError: the rows cannot be found.
    """
    if previous is None:
        return
    locations = _two_locations(session, table_metadata(session, database, table))
    if locations is None:
        return
    in_spark, in_metastore = locations
    if _exists(session, in_spark):
        return
    candidates = (_as_path(session, _converter(session).stringToURI(previous)), in_metastore)
    found = next((path for path in candidates if _exists(session, path)), None)
    if found is None:
        raise AdapterError(
            f"The rows of {database}.{table} are gone: they were in {previous}, and now are "
            f"in none of {previous}, {in_spark} and {in_metastore}. Find out who else moves "
            "or removes files there, and run dbt again.",
            code="HIVEACID_TARGET_ROWS_GONE",
        )
    place = text_literal(found.toString())
    session.sql(f"alter table {quoted(database, table)} set location {place}")
    if found != in_metastore:
        # The metastore refuses to rename a table to a name whose directory exists.
        _delete_if_empty(session, in_metastore)


def location_apart(session: SparkSession, metadata: CatalogTable | None) -> str | None:
    """Return the directory of a managed table for which the metastore has another location.

    Dropping the table would not delete this directory. None if Spark and the metastore agree, as
    they mostly do, and if there is no table: `metadata` is the table's `CatalogTable` or None.
    """
    if metadata is None or _is_external(metadata):
        return None
    locations = _two_locations(session, metadata)
    if locations is None:
        return None
    in_spark, in_metastore = locations
    return None if in_spark == in_metastore else in_spark.toString()


def exists(session: SparkSession, location: str) -> bool:
    """Return whether a location exists, as a file or directory."""
    return _exists(session, _path(session, location)[0])


def delete_directory(session: SparkSession, location: str) -> bool:
    """Delete a directory with everything in it; return whether there was one."""
    path, file_system = _path(session, location)
    return file_system.delete(path, True)


def names_matching(session: SparkSession, location: str) -> set[str]:
    """Return the names of the files and directories that match a location with a Hadoop glob."""
    path, file_system = _path(session, location)
    return {status.getPath().getName() for status in file_system.globStatus(path) or ()}


def modified_at(session: SparkSession, location: str) -> float:
    """Return a directory's modification time in seconds since the epoch; now if there is none."""
    path, file_system = _path(session, location)
    statuses = file_system.globStatus(path)
    return statuses[0].getModificationTime() / 1000 if statuses else time.time()


def _exists(session: SparkSession, path: HadoopPath) -> bool:
    return _file_system(session, path).exists(path)


def _delete_if_empty(session: SparkSession, path: HadoopPath) -> None:
    file_system = _file_system(session, path)
    if file_system.exists(path) and not len(file_system.listStatus(path)):
        file_system.delete(path, False)


def _path(session: SparkSession, location: str) -> tuple[HadoopPath, HadoopFiles]:
    """Return a location as Hadoop's path, and its file system."""
    path = _as_path(session, _converter(session).stringToURI(location))
    return path, _file_system(session, path)


def _as_path(session: SparkSession, uri: JavaObject) -> HadoopPath:
    return java(session.sparkContext, "org.apache.hadoop.fs.Path")(uri)


def _file_system(session: SparkSession, path: HadoopPath) -> HadoopFiles:
    return path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())


def _is_external(metadata: CatalogTable) -> bool:
    return metadata.tableType().name() == "EXTERNAL"


def _has_location(metadata: CatalogTable) -> bool:
    return metadata.storage().locationUri().isDefined()


def _location_of(session: SparkSession, metadata: CatalogTable | None) -> str | None:
    if metadata is None or not _has_location(metadata):
        return None
    return _converter(session).URIToString(metadata.location())


def _two_locations(
    session: SparkSession, metadata: CatalogTable | None
) -> tuple[HadoopPath, HadoopPath] | None:
    """Return a table's location by Spark and its location by the metastore.

    None for a view, if there is no table (`metadata` is None), and in a catalog without a
    metastore.
    """
    if metadata is None or not _has_location(metadata):
        return None
    if session.conf.get("spark.sql.catalogImplementation") != "hive":
        return None
    name = metadata.identifier()
    raw = external_catalog(session).unwrapped().getRawTable(name.database().get(), name.table())
    return _as_path(session, metadata.location()), _as_path(session, raw.location())


def _converter(session: SparkSession) -> JavaObject:
    return java(session.sparkContext, "org.apache.spark.sql.catalyst.catalog.CatalogUtils")
