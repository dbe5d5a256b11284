"""Iceberg tables through Iceberg's Java API, loaded by the catalogs of a Spark session.

SQL has no statement for several changes in one commit that fails if the table has changed
meanwhile (`TableOperations.commit`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NewType

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from hiveacid.jvm.java_types import JavaObject
from hiveacid.jvm.py4j import java

MAIN = "main"
"""A table's default branch (`SnapshotRef.MAIN_BRANCH`)."""

_ATTEMPTS = 5
"""Maximum number of attempts to commit when other writers commit at the same time."""

TableMetadata = NewType("TableMetadata", JavaObject)
"""`org.apache.iceberg.TableMetadata`: a table's snapshots, schemas, properties and branches."""

MetadataBuilder = NewType("MetadataBuilder", JavaObject)
"""`TableMetadata.Builder`: changes for one commit."""


@dataclass(frozen=True)
class IcebergVersion:
    """Version of a table: rows, columns and layout (`TableMetadata`).

    `snapshot_id` is None for a table that never had a row.
    """

    snapshot_id: int | None
    schema_id: int
    spec_id: int
    sort_order_id: int
    properties: Mapping[str, str]


class IcebergTable:
    """An Iceberg table, by its name in SQL."""

    def __init__(self, session: SparkSession, name: str) -> None:
        # Spark reads a catalog's settings from the active session of the thread. Only a statement
        # makes a session active. After that the session has the catalog loaded.
        session.table(name)
        context = session.sparkContext
        self._sets = java(context, "java.util.HashSet")
        self.java = java(context, "org.apache.iceberg.spark.Spark3Util").loadIcebergTable(
            session._jsparkSession, name
        )
        self._operations = self.java.operations()

    def metadata(self) -> TableMetadata:
        """Return the current `TableMetadata`; Spark's catalogs may have cached an older one."""
        return self._operations.refresh()

    def version(self) -> IcebergVersion:
        """Return the current version."""
        metadata = self.metadata()
        return IcebergVersion(
            head(metadata),
            metadata.currentSchemaId(),
            metadata.defaultSpecId(),
            metadata.defaultSortOrderId(),
            dict(metadata.properties()),
        )

    def restore(self, version: IcebergVersion) -> None:
        """Restore a version in one commit. Later snapshots stay in the history."""

        def change(metadata: TableMetadata, builder: MetadataBuilder) -> None:
            builder.setCurrentSchema(version.schema_id)
            builder.setDefaultPartitionSpec(version.spec_id)
            builder.setDefaultSortOrder(version.sort_order_id)
            new = set(metadata.properties()) - set(version.properties)
            builder.removeProperties(self._sets(list(new)))
            builder.setProperties(dict(version.properties))
            if version.snapshot_id is None:
                builder.removeRef(MAIN)
            else:
                builder.setBranchSnapshot(version.snapshot_id, MAIN)

        self.commit(change)

    def commit(self, change: Callable[[TableMetadata, MetadataBuilder], None]) -> None:
        """Change the table in one commit.

        `change` gets the table's metadata and a builder to change it (`TableMetadata.Builder`). It
        is called again if another commit was first.
        """
        for attempt in range(1, _ATTEMPTS + 1):
            metadata = self.metadata()
            builder = metadata.buildFrom(metadata)
            change(metadata, builder)
            try:
                self._operations.commit(metadata, builder.build())
                return
            except Py4JJavaError as error:
                kind = error.java_exception.getClass().getSimpleName()
                if kind != "CommitFailedException" or attempt == _ATTEMPTS:
                    raise


def head(metadata: TableMetadata, branch: str = MAIN) -> int | None:
    """Return the id of a branch's newest snapshot; None if there is no such branch."""
    ref = metadata.ref(branch)
    return None if ref is None else int(ref.snapshotId())
