"""Explanations of missing tables of sources, and of missing files of the snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import urlparse

from pyspark.errors import PySparkException

from hiveacid.engine import SnapshotEngine
from hiveacid.errors import VanishedFileError
from hiveacid.metastore.models import Table, TableName
from hiveacid.sql.known_tables import KnownTables

_PART = re.compile("`((?:[^`]|``)*)`")


def missing_among(error: Exception, names: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return those of a statement's names that Spark's error about a missing table is about.

    Spark names one table, or one database, in the parameters of its error. Without parameters the
    result is all names.
    """
    given = error.getMessageParameters() if isinstance(error, PySparkException) else None
    parameters = dict(given or {})
    if "relationName" in parameters:
        missing = _parts(parameters["relationName"])
        return [parts for parts in names if _parts_in_spark(parts) == _parts_in_spark(missing)]
    if "schemaName" in parameters:
        schema = _parts_in_spark(_parts(parameters["schemaName"]))
        return [parts for parts in names if _parts_in_spark(parts)[:-1] == schema]
    return list(names)


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a name in backquotes, as Spark's errors have it."""
    return tuple(part.replace("``", "`") for part in _PART.findall(name))


def _parts_in_spark(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the parts in lower case, without Spark's own catalog."""
    lower = tuple(part.lower() for part in parts)
    return lower[1:] if lower[:1] == ("spark_catalog",) else lower


def explain_missing_tables(
    names: Iterable[tuple[str, ...]], tables: KnownTables, metastore_uri: str
) -> str:
    """Return a line for each source among `names`, which Spark could not find.

    A name that is no source, such as a model's, has a line if the metastore has a table of it.
    """
    missing = {TableName(*parts) for parts in names if len(parts) == 2}
    found = {name: table for name, table in tables.asked_for().items() if name in missing}
    declared = {name for name in found if tables.is_declared(name)}
    return "".join(
        f"[HIVEACID_SOURCE_NOT_IN_SPARK] {name} is {'a' if name in declared else 'no'} source. "
        f"{_whereabouts(table, metastore_uri)}\n"
        for name, table in found.items()
        if name in declared or table is not None
    )


def _whereabouts(table: Table | None, metastore_uri: str) -> str:
    if table is None:
        return (
            f"The metastore {metastore_uri} does not have it either. Check the source's schema and "
            "name; it may just have been dropped."
        )
    if table.is_transactional:
        return (
            f"The metastore {metastore_uri} has it as a transactional table, but Spark's "
            "catalog is another one. Statements that read the table find it; run all others "
            "in Hive."
        )
    return (
        f"The metastore {metastore_uri} has it as a table that is not transactional, which Spark "
        "reads itself, but Spark's catalog is another one. Point Spark at this metastore "
        "(`spark.hadoop.hive.metastore.uris` in server_side_parameters), or create the table in "
        "Spark's catalog."
    )


def vanished_file(message: str, snapshot: SnapshotEngine) -> VanishedFileError:
    """Return the error for a missing file of the snapshot, with who may have removed it.

    Args:
        message: Spark's message, which names the file.
        snapshot: the snapshot that was read.

    Raises:
        TransactionLostError: the transaction is lost, so Hive's cleaner could remove the file.
        SnapshotEndedError: the snapshot has ended, so Hive's cleaner could remove the file.
    """
    snapshot.check_alive()
    transaction = f"transaction {snapshot.transaction_id}"
    tables = tables_to_lose(message, snapshot)
    if tables:
        who = (
            f"Hive's cleaner may have removed the file. A compaction of {', '.join(tables)} has "
            "left a directory without any file (a warning of this run names it), and the cleaner "
            f"removes what the directory's name covers, though {transaction} may read it. The rows "
            "are lost in Hive. Run dbt again to read the rows that are left."
        )
    else:
        who = (
            f"The {transaction}, which holds this run's snapshot, is still open, and Hive's "
            "cleaner keeps what it may read, but not the files of earlier instants (`as_of`). "
            "Unless you read an earlier instant, look for a job that deletes files below the "
            "table's directory. Then run dbt again."
        )
    return VanishedFileError(f"{message} {who}")


def tables_to_lose(message: str, snapshot: SnapshotEngine) -> list[str]:
    """Return the tables with rows that Hive will drop and with a file that the message names."""
    return [
        str(name)
        for name, directories in sorted(snapshot.rows_hive_will_drop.items())
        if any(urlparse(d.rpartition("/")[0]).path + "/" in message for d in directories)
    ]
