"""The directories of tables, through Spark's catalog and Hadoop's `FileSystem`.

A location is text as in SQL's LOCATION: a Hadoop path, unescaped, with or without a scheme.
"""

from __future__ import annotations

import time
from typing import Any

from dbt_common.exceptions import DbtRuntimeError
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.spark.sql import text_literal
from hiveacid.formatting import quoted
from hiveacid.jvm.errors import unless_missing
from hiveacid.jvm.py4j import java


def table_location(session: SparkSession, database: str, table: str) -> str | None:
    """Where an external table keeps its files.

    None for a managed table, whose files go when it is dropped, and for one that does not exist.
    """
    metadata = _metadata(session, database, table)
    if metadata is None or metadata.tableType().name() != "EXTERNAL":
        return None
    return _locations(session).URIToString(metadata.location())


def location(session: SparkSession, database: str, table: str) -> str:
    """Where a table keeps its files. Raises Spark's error if there is no such table."""
    identifier = _identifier(session, database, table)
    return _locations(session).URIToString(
        _catalog(session).getTableMetadata(identifier).location()
    )


def location_if_any(session: SparkSession, database: str, table: str) -> str | None:
    """Where a table keeps its files; None for a view, and for what does not exist."""
    metadata = _metadata(session, database, table)
    if metadata is None or not _has_location(metadata):
        return None
    return _locations(session).URIToString(metadata.location())


def directory_if_any(session: SparkSession, database: str, table: str) -> str | None:
    """Where a table keeps its files, as `location_if_any`; None if there is nothing."""
    found = location_if_any(session, database, table)
    return found if found is not None and exists(session, found) else None


def table_layout(
    session: SparkSession, database: str, table: str
) -> tuple[str, tuple[str, ...], tuple[str, ...], int]:
    """How a table is stored. Raises Spark's error if there is none.

    Returns:
        The format, the partition columns, the columns of the buckets and how many buckets (0
        without).
    """
    metadata = _catalog(session).getTableMetadata(_identifier(session, database, table))
    stored = metadata.provider().get(), _partition_columns(metadata)
    if metadata.bucketSpec().isEmpty():
        return *stored, (), 0
    buckets = metadata.bucketSpec().get()
    return *stored, _texts(buckets.bucketColumnNames()), buckets.numBuckets()


def catalog_partition_columns(
    session: SparkSession, database: str, table: str
) -> tuple[str, ...] | None:
    """The partition columns of a table whose columns Spark's own catalog keeps.

    None for one of Delta's or Hudi's, which keep them themselves, and for one that is not in this
    catalog.
    """
    metadata = _metadata(session, database, table)
    if metadata is None or metadata.provider().getOrElse(None) in ("delta", "hudi"):
        return None
    return _partition_columns(metadata)


def partition_names(session: SparkSession, database: str, table: str) -> list[str] | None:
    """The partitions of a table that Spark's catalog has, as their directories are named.

    None for a table without partitions, and for one whose partitions the catalog does not keep.
    """
    catalog, identifier = _catalog(session), _identifier(session, database, table)
    metadata = catalog.getTableMetadata(identifier)
    if not _partition_columns(metadata) or not metadata.tracksPartitionsInCatalog():
        return None
    nothing = java(session.sparkContext, "scala.Option").empty()
    # Control characters are escaped in them.
    text = catalog.listPartitionNames(identifier, nothing).mkString("\n")
    return text.split("\n") if text else []


def default_location(session: SparkSession, database: str, table: str) -> str | None:
    """Where Spark would put the files of a new managed table.

    None for a database that Spark's own catalog does not have: that of another catalog.
    """
    identifier = _identifier(session, database, table)
    uri = unless_missing(lambda: _catalog(session).defaultTablePath(identifier))
    return None if uri is None else _locations(session).URIToString(uri)


def lies_in(session: SparkSession, location: str, directory: str) -> bool:
    """Whether a location is a directory or in it, by their paths; neither need exist."""
    inner, outer = (
        file_system.makeQualified(path).toString().rstrip("/") + "/"
        for path, file_system in (_path(session, place) for place in (location, directory))
    )
    return inner.startswith(outer)


def follow_directory(session: SparkSession, database: str, table: str, former: str | None) -> None:
    """Tell Spark where the rows of a table are that has just been renamed.

    `former` is the directory that they were in. Spark takes it that a managed table is now in the
    directory of its new name, and that an external one has stayed. But a metastore that has made
    the table external ("translated") moves its directory, too; and one that has not moves what it
    believes to be the directory, below `metastore.warehouse.dir`, even if Spark has put the rows
    below the location of the database. Spark would from then on read and write where nothing is.

    Raises:
        DbtRuntimeError: the rows are nowhere any more.
    """
    places = _places(session, database, table)
    if places is None or former is None:
        return
    here, believed = places
    if _exists(session, here):
        return
    candidates = (_as_path(session, _locations(session).stringToURI(former)), believed)
    found = next((place for place in candidates if _exists(session, place)), None)
    if found is None:
        raise DbtRuntimeError(
            f"The rows of {database}.{table} are gone: they were in {former}, and now are neither "
            f"there nor in {here} or {believed}. Find out who else moves or removes files there, "
            "and run again."
        )
    location = text_literal(found.toString())
    session.sql(f"alter table {quoted(database, table)} set location {location}")
    if found != believed:
        # The metastore refuses to rename a table to a name whose directory is there.
        _delete_if_empty(session, believed)


def location_apart(session: SparkSession, database: str, table: str) -> str | None:
    """The directory of a managed table that the metastore takes to be in another.

    Dropping the table would leave it. None if they agree, as they mostly do.
    """
    places = _places(session, database, table)
    if places is None or table_location(session, database, table) is not None:
        return None
    here, believed = places
    return None if here == believed else here.toString()


def exists(session: SparkSession, location: str) -> bool:
    """Whether there is a file or a directory."""
    return _exists(session, _path(session, location)[0])


def delete_directory(session: SparkSession, location: str) -> bool:
    """Delete a directory and all in it. False if there was none."""
    path, file_system = _path(session, location)
    return file_system.delete(path, True)


def names_matching(session: SparkSession, location: str) -> set[str]:
    """The names in a location's parent directory that match its last part, a Hadoop glob."""
    path, file_system = _path(session, location)
    return {status.getPath().getName() for status in file_system.globStatus(path) or ()}


def modified_at(session: SparkSession, location: str) -> float:
    """When a directory was last changed, in seconds since the epoch; now, if it does not exist."""
    path, file_system = _path(session, location)
    statuses = file_system.globStatus(path)
    return statuses[0].getModificationTime() / 1000 if statuses else time.time()


def created_at(session: SparkSession, database: str, table: str) -> float:
    """When a table was created, in seconds since the epoch; 0 if it is not there."""
    metadata = _metadata(session, database, table)
    return 0 if metadata is None else metadata.createTime() / 1000


def _exists(session: SparkSession, path: Any) -> bool:
    return _file_system(session, path).exists(path)


def _delete_if_empty(session: SparkSession, path: Any) -> None:
    file_system = _file_system(session, path)
    if file_system.exists(path) and not len(file_system.listStatus(path)):
        file_system.delete(path, False)


def _path(session: SparkSession, location: str) -> tuple[Any, Any]:
    """A location as Hadoop's path, and its file system."""
    path = _as_path(session, _locations(session).stringToURI(location))
    return path, _file_system(session, path)


def _as_path(session: SparkSession, uri: Any) -> Any:
    return java(session.sparkContext, "org.apache.hadoop.fs.Path")(uri)


def _file_system(session: SparkSession, path: Any) -> Any:
    return path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())


def _metadata(session: SparkSession, database: str, table: str) -> Any:
    """What Spark's catalog has of a table; None for one that it does not know."""
    identifier = _identifier(session, database, table)
    return unless_missing(lambda: _catalog(session).getTableMetadata(identifier))


def _partition_columns(metadata: Any) -> tuple[str, ...]:
    return _texts(metadata.partitionColumnNames())


def _texts(names: Any) -> tuple[str, ...]:
    return tuple(names.apply(i) for i in range(names.size()))


def _has_location(metadata: Any) -> bool:
    return metadata.storage().locationUri().isDefined()


def _places(session: SparkSession, database: str, table: str) -> tuple[Any, Any] | None:
    """Where Spark takes a table's rows to be, and where the metastore does, as Hadoop's paths.

    None for a view, for what does not exist, and in a catalog without a metastore.
    """
    metadata = _metadata(session, database, table)
    if metadata is None or not _has_location(metadata):
        return None
    if session.conf.get("spark.sql.catalogImplementation") != "hive":
        return None
    external_catalog = session._jsparkSession.sharedState().externalCatalog().unwrapped()
    raw = external_catalog.getRawTable(database, table)
    return _as_path(session, metadata.location()), _as_path(session, raw.location())


def _locations(session: SparkSession) -> Any:
    return java(session.sparkContext, "org.apache.spark.sql.catalyst.catalog.CatalogUtils")


def _catalog(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().catalog()


def _identifier(session: SparkSession, database: str, table: str) -> Any:
    context = session.sparkContext
    return java(context, "org.apache.spark.sql.catalyst.TableIdentifier")(
        table, java(context, "scala.Option").apply(database)
    )
