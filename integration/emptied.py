"""An insert-only table whose minor compaction takes nothing in (docs/decisions.md)."""

from __future__ import annotations

from pathlib import Path

from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import TableName
from integration.histories.writer import OpenWriter
from integration.hive import HiveClient
from integration.tables import INSERT_ONLY
from integration.waiting import eventually


class Emptied:
    """The table, with the rows 1 and 2 and an aborted write between them."""

    def __init__(self, hive: HiveClient, metastore: MetastoreClient, name: TableName) -> None:
        """Make it. Raises HiveSqlError."""
        self.name = name
        self._hive = hive
        self._metastore = metastore
        hive.execute(f"CREATE TABLE {name} (id int) STORED AS ORC TBLPROPERTIES ({INSERT_ONLY})")
        hive.execute(f"INSERT INTO {name} VALUES (1)")
        aborted = OpenWriter.begin(metastore, name, None, deletes=False)
        aborted.insert([8])
        metastore.abort_txn(aborted.txn_id)
        hive.execute(f"INSERT INTO {name} VALUES (2)")

    def compact(self) -> Path:
        """Compact it while a writer has row 3 not yet committed. The directory that is left."""
        self._open = OpenWriter.begin(self._metastore, self.name, None, deletes=False)
        self._open.insert([3])
        self._hive.compact(str(self.name), "minor")
        (emptied,) = self._open.location.glob("delta_0000001_0000003_v*")
        assert not list(emptied.iterdir()), "Hive takes in what it should"
        return emptied

    def commit(self) -> None:
        """Commit the writer."""
        self._metastore.commit_txn(self._open.txn_id)

    def wait_for_cleaner(self) -> None:
        """Hive's cleaner removes the rows 1 and 2."""
        assert eventually(self._is_cleaned, seconds=60)

    def _is_cleaned(self) -> bool:
        database = self.name.database
        done = [row["state"] for row in self._hive.show_compactions() if row["dbname"] == database]
        return done == ["succeeded"]
