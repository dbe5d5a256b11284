"""An insert-only table whose minor compaction takes nothing in (docs/hive-quirks.md)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from integration.support.histories.actions import World
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveServer
from integration.support.metastore import is_cleaned
from integration.support.tables import INSERT_ONLY

_ABORTED, _OPEN, _ELSEWHERE = range(3)
"""The writers."""


class Emptied:
    """The table, with the rows 1 and 2 and an aborted write between them."""

    @classmethod
    @contextmanager
    def make(
        cls,
        hive: HiveServer,
        client: HiveClient,
        name: TableName,
        scratch: Path,
        properties: str = INSERT_ONLY,
    ) -> Iterator[Emptied]:
        """Make it; it goes in the end. Raises HiveSqlError."""
        connect = partial(MetastoreClient, hive.metastore_uri, timeout=30)
        with connect() as metastore:
            world = World(client, metastore, connect, name, scratch)
            try:
                yield cls(world, properties)
            finally:
                world.end()

    def __init__(self, world: World, properties: str) -> None:
        self._world, hive, name = world, world.client, world.table
        hive.execute(f"CREATE TABLE {name} (id int) STORED AS ORC TBLPROPERTIES ({properties})")
        hive.execute(f"INSERT INTO {name} VALUES (1)")
        self._begin(_ABORTED).insert([8])
        world.end_write(_ABORTED, commit=False)
        hive.execute(f"INSERT INTO {name} VALUES (2)")

    def compact(self) -> Path:
        """Compact it as `compact_below_open_write`, and expect the directory to be empty."""
        (emptied,) = self.compact_below_open_write()
        assert not list(emptied.iterdir()), "Hive takes in what it should"
        return emptied

    def compact_below_open_write(self) -> list[Path]:
        """Compact it while a writer has row 3 not yet committed. The directories that are left."""
        writer = self._begin(_OPEN)
        writer.insert([3])
        self._world.client.compact(str(self._world.table), "minor")
        return sorted(writer.location.glob("*_v*"))

    def commit(self, *, cleaner_waits: bool = False) -> None:
        """Commit the writer. The cleaner may be made to wait until `let_cleaner_go`.

        It waits for transactions that began before that, not for later ones.
        """
        if cleaner_waits:
            self._begin(_ELSEWHERE)
        self._world.end_write(_OPEN, commit=True)

    def let_cleaner_go(self) -> None:
        """End the transaction that the cleaner waits for."""
        self._world.end_write(_ELSEWHERE, commit=False)

    def is_cleaned(self) -> bool:
        """Whether Hive's cleaner removes the rows 1 and 2 within a minute."""
        return is_cleaned(self._world.client, self._world.table.database)

    def _begin(self, key: int) -> OpenWriter:
        return self._world.begin_write(key, None, deletes=False)
