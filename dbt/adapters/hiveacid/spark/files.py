"""The directories of tables, through Spark's catalog and Hadoop's `FileSystem`.

A location is text as in SQL's LOCATION: a Hadoop path, unescaped, with or without a scheme.
"""

from __future__ import annotations

import time
from typing import Any

from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.spark.errors import unless_missing


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


def table_layout(session: SparkSession, database: str, table: str) -> tuple[str, tuple[str, ...]]:
    """The format and the partition columns of a table. Raises Spark's error if there is none."""
    metadata = _catalog(session).getTableMetadata(_identifier(session, database, table))
    columns = metadata.partitionColumnNames()
    return metadata.provider().get(), tuple(columns.apply(i) for i in range(columns.size()))


def default_location(session: SparkSession, database: str, table: str) -> str | None:
    """Where Spark would put the files of a new managed table.

    None for a database that Spark's own catalog does not have: that of another catalog.
    """
    identifier = _identifier(session, database, table)
    uri = unless_missing(lambda: _catalog(session).defaultTablePath(identifier))
    return None if uri is None else _locations(session).URIToString(uri)


def follow_directory(session: SparkSession, database: str, table: str) -> None:
    """Tell Spark where the files of a table are that has just been renamed.

    A Hive 4 metastore makes every managed table that is not transactional external ("translated"),
    and still moves its directory with its name. Spark keeps a location of its own for the table,
    lets that of an external table be, and would from then on read and write where nothing is. Does
    nothing for any other table.
    """
    metadata = _metadata(session, database, table)
    if metadata is None or not _is_translated(metadata):
        return
    external_catalog = session._jsparkSession.sharedState().externalCatalog().unwrapped()
    moved_to = external_catalog.getRawTable(database, table).location()
    if _exists(session, metadata.location()) or not _exists(session, moved_to):
        return
    location = _locations(session).URIToString(moved_to).replace("\\", "\\\\").replace("'", "\\'")
    session.sql(f"alter table `{database}`.`{table}` set location '{location}'")


def delete_directory(session: SparkSession, location: str) -> bool:
    """Delete a directory and all in it. False if there was none."""
    path, file_system = _path(session, _locations(session).stringToURI(location))
    return file_system.delete(path, True)


def names_matching(session: SparkSession, location: str) -> list[str]:
    """The names in a location's parent directory that match its last part, a Hadoop glob."""
    path, file_system = _path(session, _locations(session).stringToURI(location))
    return [status.getPath().getName() for status in file_system.globStatus(path) or ()]


def modified_at(session: SparkSession, location: str) -> float:
    """When a directory was last changed, in seconds since the epoch; now, if it does not exist."""
    path, file_system = _path(session, _locations(session).stringToURI(location))
    statuses = file_system.globStatus(path)
    return statuses[0].getModificationTime() / 1000 if statuses else time.time()


def created_at(session: SparkSession, database: str, table: str) -> float:
    """When a table was created, in seconds since the epoch; 0 if it is not there."""
    metadata = _metadata(session, database, table)
    return 0 if metadata is None else metadata.createTime() / 1000


def _exists(session: SparkSession, uri: Any) -> bool:
    path, file_system = _path(session, uri)
    return file_system.exists(path)


def _path(session: SparkSession, uri: Any) -> tuple[Any, Any]:
    """A URI as Hadoop's path, and its file system."""
    jvm: Any = session._jvm
    path = jvm.org.apache.hadoop.fs.Path(uri)
    return path, path.getFileSystem(session._jsparkSession.sessionState().newHadoopConf())


def _metadata(session: SparkSession, database: str, table: str) -> Any:
    """What Spark's catalog has of a table; None for one that it does not know."""
    identifier = _identifier(session, database, table)
    return unless_missing(lambda: _catalog(session).getTableMetadata(identifier))


def _is_translated(metadata: Any) -> bool:
    value = metadata.properties().get("TRANSLATED_TO_EXTERNAL")
    return value.isDefined() and value.get().upper() == "TRUE"


def _locations(session: SparkSession) -> Any:
    jvm: Any = session._jvm
    return jvm.org.apache.spark.sql.catalyst.catalog.CatalogUtils


def _catalog(session: SparkSession) -> Any:
    return session._jsparkSession.sessionState().catalog()


def _identifier(session: SparkSession, database: str, table: str) -> Any:
    jvm: Any = session._jvm
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(
        table, jvm.scala.Option.apply(database)
    )
