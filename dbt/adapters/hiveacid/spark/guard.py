"""Guard that keeps Spark from dropping and renaming transactional tables."""

from __future__ import annotations

from pyspark.sql import SparkSession

from hiveacid.errors import AcidTargetError
from hiveacid.jvm.java_types import CatalogTable
from hiveacid.sql.catalog import is_transactional, table_metadata
from hiveacid.sql.refusals import about_target


def refuse_acid_target(session: SparkSession, database: str, table: str) -> CatalogTable | None:
    """Refuse to drop or rename a table that is transactional.

    A model with the name of a transactional table would replace the table, and its rows would be
    lost. Spark takes none of Hive's locks.

    Returns:
        The table's `CatalogTable`; None if there is no such table.

    Raises:
        AcidTargetError: the table is transactional.
    """
    found = table_metadata(session, database, table)
    if found is not None and is_transactional(found):
        raise AcidTargetError(
            about_target(database, table), code="HIVEACID_DROPS_TRANSACTIONAL_TABLE"
        )
    return found


def is_plain_table(session: SparkSession, database: str, table: str) -> bool:
    """Return whether Spark's own catalog has a view, or a table that is not transactional."""
    found = table_metadata(session, database, table)
    return found is not None and not is_transactional(found)
