"""What a step of a history does: mostly SQL, and writers that hold their transaction open."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from hiveacid.errors import MetastoreError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.transaction import Heartbeat
from integration.support.histories.writer import OpenWriter
from integration.support.hive import HiveClient, HiveSqlError


class NotNow(Exception):
    """Hive saw no need for the operation: it was not done, and that is no failure."""


_HEARTBEAT_SECONDS = 10.0


@dataclass
class World:
    """Where a history is executed: a table of a real Hive, and writers under way.

    `connect` opens another connection to the metastore. Each writer has a heartbeat, as a step on a
    busy machine may take longer than the metastore waits for one.
    """

    client: HiveClient
    metastore: MetastoreClient
    connect: Callable[[], MetastoreClient]
    table: TableName
    scratch: Path
    writers: dict[int, tuple[OpenWriter, Heartbeat]] = field(default_factory=dict)

    def fill(self, text: str) -> str:
        """A statement with the names of this world."""
        return (
            text.replace("{table}", str(self.table))
            .replace("{database}", self.table.database)
            .replace("{scratch}", f"file:{self.scratch}")
        )

    def partitions(self) -> list[tuple[str, ...]]:
        """The values of each partition that there is now, as the metastore keeps them."""
        return sorted(p.values for p in self.metastore.get_partitions(self.table))

    def begin_write(self, key: int, partition: tuple[str, ...] | None, deletes: bool) -> OpenWriter:
        """A new writer; `key` is for `end_write`."""
        writer = OpenWriter.begin(self.metastore, self.table, partition, deletes)
        self.writers[key] = writer, self.heartbeat_of(writer.txn_id)
        return writer

    def heartbeat_of(self, txn_id: int) -> Heartbeat:
        """Keep a transaction alive until the heartbeat is stopped."""
        timeout = self.metastore.server_info().transaction_timeout
        # That it was lost, its commit says.
        heartbeat = Heartbeat(
            self.connect, txn_id, _HEARTBEAT_SECONDS, timeout, on_lost=lambda reason: None
        )
        heartbeat.start()
        return heartbeat

    def end_write(self, key: int, commit: bool) -> None:
        """Commit or abort a writer. Raises MetastoreError."""
        writer, heartbeat = self.writers.pop(key)
        heartbeat.stop()
        end = self.metastore.commit_txn if commit else self.metastore.abort_txn
        end(writer.txn_id)

    def end(self) -> None:
        """Abort what is open, and drop the table."""
        for key in list(self.writers):
            with suppress(MetastoreError):
                self.end_write(key, commit=False)
        self.client.execute(f"DROP TABLE IF EXISTS {self.table}")
        shutil.rmtree(self.scratch, ignore_errors=True)


class Action(Protocol):
    """One thing that is done to a table."""

    def run(self, world: World) -> None:
        """Do it. Raises HiveSqlError when Hive fails, NotNow when Hive sees no need."""

    def script(self, world: World) -> str:
        """The same for a person to run again."""


@dataclass(frozen=True)
class Sql:
    """A statement."""

    text: str

    def run(self, world: World) -> None:
        world.client.execute(world.fill(self.text))

    def script(self, world: World) -> str:
        return f"{world.fill(self.text)};"


@dataclass(frozen=True)
class AbortedSql:
    """A statement whose transaction Hive aborts once its files are written.

    `hive.test.rollbacktxn` works only in a Hive with `hive.in.test`.
    """

    text: str

    def run(self, world: World) -> None:
        world.client.execute("SET hive.test.rollbacktxn=true")
        try:
            world.client.execute(world.fill(self.text))
        finally:
            world.client.execute("SET hive.test.rollbacktxn=false")

    def script(self, world: World) -> str:
        return (
            "-- needs hive.in.test=true in hive-site.xml\nSET hive.test.rollbacktxn=true;\n"
            f"{world.fill(self.text)};\nSET hive.test.rollbacktxn=false;"
        )


@dataclass(frozen=True)
class Compact:
    """A compaction of the table, or of one partition (a specification without parentheses)."""

    kind: str
    partition: str | None

    def run(self, world: World) -> None:
        try:
            world.client.compact(str(world.table), self.kind, self.partition)
        except HiveSqlError as error:
            no_need = (
                "None of the compaction thresholds met",
                # A compaction whose old directories are not cleaned yet refuses the next one.
                "Compaction is already scheduled",
                # As a query, Hive refuses a minor one while there are files of a load or of a
                # conversion.
                "Query based Minor compaction is not possible",
            )
            if any(reason in str(error) for reason in no_need):
                raise NotNow(str(error)) from error
            raise
        except TimeoutError as error:
            raise HiveSqlError(str(error)) from error

    def script(self, world: World) -> str:
        clause = f" PARTITION ({self.partition})" if self.partition else ""
        return f"ALTER TABLE {world.table}{clause} COMPACT '{self.kind}' AND WAIT;"


@dataclass(frozen=True)
class Move:
    """The files of a table or of a partition are moved, and Hive gets their new place.

    `key` makes the place a new one; `specification` names the partition of these values.
    """

    key: int
    values: tuple[str, ...] | None
    specification: str | None

    def run(self, world: World) -> None:
        table = world.metastore.get_table(world.table)
        location = table.storage.location
        if self.values is not None:
            (location,) = (
                partition.storage.location
                for partition in world.metastore.get_partitions(world.table)
                if partition.values == self.values
            )
        place = f"{table.storage.location}_moved{self.key}"
        shutil.move(urlsplit(location).path, urlsplit(place).path)
        world.client.execute(f"ALTER TABLE {world.table}{self._clause} SET LOCATION '{place}'")

    @property
    def _clause(self) -> str:
        return f" PARTITION ({self.specification})" if self.specification else ""

    def script(self, world: World) -> str:
        return (
            f"-- move the directory to the table's own with _moved{self.key} after it, then:\n"
            f"ALTER TABLE {world.table}{self._clause} SET LOCATION '...';"
        )


@dataclass(frozen=True)
class OpenWrite:
    """A writer outside of Hive begins: its files are there, its transaction stays open."""

    key: int
    partition: tuple[str, ...] | None
    identities: tuple[int, ...]
    delete_where: str | None

    def run(self, world: World) -> None:
        writer = world.begin_write(self.key, self.partition, self.deletes)
        if self.identities:
            writer.insert(self.identities)
        if self.delete_where:
            writer.delete(world.client, self.delete_where)

    @property
    def deletes(self) -> bool:
        """Whether it deletes: its lock then keeps other writers from updates and deletes."""
        return self.delete_where is not None

    def script(self, world: World) -> str:
        place = f" of partition {self.partition}" if self.partition else ""
        return (
            f"-- writer {self.key} opens a transaction and writes into {world.table}{place}: "
            f"rows with the ids {list(self.identities)}, delete events where {self.delete_where}"
        )


@dataclass(frozen=True)
class EndWrite:
    """An open writer commits or aborts."""

    key: int
    commit: bool

    def run(self, world: World) -> None:
        world.end_write(self.key, self.commit)

    def script(self, world: World) -> str:
        return f"-- writer {self.key} {'commits' if self.commit else 'aborts'}"


@dataclass(frozen=True)
class Step:
    """One operation of a history."""

    operation: str
    actions: tuple[Action, ...]

    def run(self, world: World) -> None:
        """Do all of it. Raises as `Action.run` does."""
        for action in self.actions:
            action.run(world)

    def script(self, world: World) -> str:
        """All of it as text."""
        return "\n".join([f"-- {self.operation}", *(a.script(world) for a in self.actions)])


@dataclass(frozen=True)
class NoDirectory:
    """Asks whether no directory of a table, or of a partition, has such a name; else not now."""

    pattern: str
    values: tuple[str, ...] | None

    def run(self, world: World) -> None:
        if any(any(it.glob(self.pattern)) for it in _locations(world, self.values)):
            raise NotNow(f"there is a {self.pattern}")

    def script(self, world: World) -> str:
        return f"-- where no directory is a {self.pattern}:"


def _locations(world: World, values: tuple[str, ...] | None) -> list[Path]:
    """The directory of the table, or of one partition."""
    if values is None:
        storages = [world.metastore.get_table(world.table).storage]
    else:
        partitions = world.metastore.get_partitions(world.table)
        storages = [p.storage for p in partitions if p.values == values]
    return [Path(urlsplit(storage.location).path) for storage in storages]
