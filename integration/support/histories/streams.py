"""Streaming ingest in random histories: batches of transactions that share a file.

The client is Hive 3.1.3's own, in a Java process that the histories share. Hive 4.0.1's is not
published on Maven Central; the metastore of Hive 4.0.1 serves the older one.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Literal

from py4j.protocol import Py4JError, Py4JJavaError

from hiveacid.errors import MetastoreError
from hiveacid.snapshots.transaction import Heartbeat
from integration.support.histories.actions import World
from integration.support.histories.shape import NULL, PARTITION_VALUES, literal
from integration.support.histories.table_state import Actions, Operation, TableState
from integration.support.hive import HiveServer, HiveSqlError
from integration.support.hive.streaming import StreamingClient, StreamingWriter

End = Literal["commit", "abort", "stay open"]
"""What becomes of a transaction."""

_SIZES = (2, 3, 5)
"""Numbers of transactions of a batch."""

NULL_TEXT = "\\N"
"""NULL in delimited text."""


@dataclass
class Stream:
    """A connection whose batch is open, as the choice of an operation knows it."""

    key: int
    partition: tuple[str, ...]
    batch: int
    """Transactions of a batch."""
    left: int = 0
    """Transactions of the batch that have not begun."""
    has_begun: bool = False
    """Whether a transaction is open that holds a lock."""


@dataclass
class StreamedTable(TableState):
    """A table that streaming ingest may write into."""

    stream: Stream | None = None
    lost: int | None = None
    """The key of a stream whose client was killed, until its transactions are aborted."""

    @property
    def is_locked(self) -> bool:
        has_begun = self.stream is not None and self.stream.has_begun
        return super().is_locked or has_begun or self.lost is not None

    @property
    def is_written(self) -> bool:
        return self.is_locked or self.stream is not None


class SharedClient:
    """The Java process of the streaming client: starts when it is needed, and after a kill."""

    def __init__(self, hive: HiveServer, work: Path) -> None:
        self._hive = hive
        self._work = work
        self._starts = count()
        self._client: StreamingClient | None = None

    def get(self) -> StreamingClient:
        """Return the client that runs, or start one."""
        if self._client is None:
            work = self._work / f"streaming_{next(self._starts)}"
            self._client = StreamingClient(self._hive.metastore_uri, work)
        return self._client

    def kill(self) -> None:
        """End the process at once; harmless when there is none."""
        if self._client is not None:
            self._client.kill()
            self._client = None


@dataclass
class StreamedWorld(World):
    """A world with streaming ingest. `streams` are the connections under way, by key.

    `transactions` are those of each key's last batch. The world sends their heartbeats until their
    client is killed: the client itself sends none.
    """

    shared: SharedClient | None = None
    streams: dict[int, StreamingWriter] = field(default_factory=dict)
    transactions: dict[int, set[str]] = field(default_factory=dict)
    heartbeats: dict[int, list[Heartbeat]] = field(default_factory=dict)

    @property
    def client_of_streams(self) -> SharedClient:
        assert self.shared is not None
        return self.shared

    def open_transactions(self) -> set[str]:
        """The ids of all open transactions."""
        rows = self.client.show_transactions()
        return {str(row["txnid"]) for row in rows if row["state"] == "OPEN"}

    def keep_alive(self, key: int) -> None:
        """Begin with the heartbeats of the last batch of a key, and end those of the one before."""
        self.let_die(key)
        self.heartbeats[key] = [self.heartbeat_of(int(it)) for it in self.transactions[key]]

    def let_die(self, key: int) -> None:
        """End the heartbeats of a key."""
        for heartbeat in self.heartbeats.pop(key, []):
            heartbeat.stop()

    def end(self) -> None:
        for key in list(self.heartbeats):
            self.let_die(key)
        for key in list(self.streams):
            with suppress(Py4JError):
                self.streams.pop(key).close()
        for txn_id in set().union(*self.transactions.values()) & self.open_transactions():
            with suppress(MetastoreError):
                self.metastore.abort_txn(int(txn_id))
        super().end()


@dataclass(frozen=True)
class OpenStream:
    """A connection opens. Without a `partition` it finds the partition of each row itself."""

    key: int
    partition: tuple[str, ...]
    batch: int

    def run(self, world: World) -> None:
        assert isinstance(world, StreamedWorld)
        with _failures_of_hive(self):
            world.streams[self.key] = world.client_of_streams.get().open(
                world.table.database, world.table.table, self.batch, self.partition
            )

    def script(self, world: World) -> str:
        place = f"partition {self.partition}" if self.partition else "the table"
        return (
            f"-- a streaming client opens connection {self.key} to {place} of {world.table}, with "
            f"batches of {self.batch} transactions"
        )


@dataclass(frozen=True)
class WriteStream:
    """Rows of a transaction, which begins unless one is open, and what becomes of it.

    The first transaction of a batch (`is_first`) opens all transactions of the batch.
    """

    key: int
    rows: tuple[str, ...]
    begins: bool
    is_first: bool
    end: End

    def run(self, world: World) -> None:
        assert isinstance(world, StreamedWorld)
        stream = world.streams[self.key]
        before = world.open_transactions() if self.is_first else set()
        with _failures_of_hive(self):
            if self.begins:
                stream.begin()
            stream.write(*self.rows)
            if self.is_first:
                world.transactions[self.key] = world.open_transactions() - before
                world.keep_alive(self.key)
            if self.end == "commit":
                stream.commit_open()
            elif self.end == "abort":
                stream.abort_open()

    def script(self, world: World) -> str:
        begins = "begins a transaction and " if self.begins else ""
        what = f"-- connection {self.key} {begins}writes {list(self.rows)}"
        return what if self.end == "stay open" else f"{what}, then {self.end}s"


@dataclass(frozen=True)
class CloseStream:
    """A connection closes: transactions of its batch that are left are aborted."""

    key: int

    def run(self, world: World) -> None:
        assert isinstance(world, StreamedWorld)
        with _failures_of_hive(self):
            world.streams.pop(self.key).close()
        world.let_die(self.key)

    def script(self, world: World) -> str:
        return f"-- connection {self.key} closes"


@dataclass(frozen=True)
class KillStream:
    """The client's process is killed: its files stay, its transactions stay open."""

    key: int

    def run(self, world: World) -> None:
        assert isinstance(world, StreamedWorld)
        del world.streams[self.key]
        world.client_of_streams.kill()
        world.let_die(self.key)

    def script(self, world: World) -> str:
        return f"-- the streaming client with connection {self.key} is killed"


@dataclass(frozen=True)
class AwaitTimeout:
    """Hive notices that a client is lost, and aborts the transactions of its batch."""

    key: int

    def run(self, world: World) -> None:
        assert isinstance(world, StreamedWorld)
        transactions = world.transactions.pop(self.key)
        deadline = time.monotonic() + 300
        while transactions & world.open_transactions():
            if time.monotonic() > deadline:
                raise HiveSqlError(f"{transactions} of a lost client did not time out")
            time.sleep(0.5)

    def script(self, world: World) -> str:
        return f"-- the transactions of connection {self.key} time out"


@contextmanager
def _failures_of_hive(action: object) -> Iterator[None]:
    """What the streaming client fails at is Hive's failure, not the reader's."""
    try:
        yield
    except Py4JError as error:
        raise HiveSqlError(f"{action}: {_reason(error)}") from error


def _reason(error: BaseException) -> str:
    """What Java says. PySpark asks its own Java about each error, which does not know this one."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, Py4JJavaError):
        cause = cause.__context__
    return str(error if cause is None else cause.java_exception.toString())


def open_stream(table: TableState) -> Actions | None:
    """A connection, and the first transaction of its batch."""
    assert isinstance(table, StreamedTable)
    if not table.shape.full_acid or table.stream is not None or table.lost is not None:
        return None
    partition: tuple[str, ...] = ()
    if table.shape.partition and table.known and table.rng.random() < 0.4:
        partition = table.rng.choice(table.known)
    table.serial += 1
    table.stream = Stream(table.serial, partition, table.rng.choice(_SIZES))
    opened = OpenStream(table.stream.key, partition, table.stream.batch)
    ends: tuple[End, ...] = ("commit", "commit", "abort", "stay open")
    return (opened, _write(table, table.stream, table.rng.choice(ends)))


def stream_rows(table: TableState) -> Actions | None:
    """Rows of a transaction that stays open."""
    return _go_on(table, "stay open")


def stream_commit(table: TableState) -> Actions | None:
    return _go_on(table, "commit")


def stream_abort(table: TableState) -> Actions | None:
    return _go_on(table, "abort")


def close_stream(table: TableState) -> Actions | None:
    assert isinstance(table, StreamedTable)
    if table.stream is None:
        return None
    key, table.stream = table.stream.key, None
    table.aborted = True
    return (CloseStream(key),)


def kill_stream(table: TableState) -> Actions | None:
    assert isinstance(table, StreamedTable)
    if table.stream is None:
        return None
    table.lost, table.stream = table.stream.key, None
    return (KillStream(table.lost),)


def time_out(table: TableState) -> Actions | None:
    assert isinstance(table, StreamedTable)
    if table.lost is None:
        return None
    key, table.lost = table.lost, None
    table.aborted = True
    return (AwaitTimeout(key),)


def _go_on(table: TableState, end: End) -> Actions | None:
    assert isinstance(table, StreamedTable)
    return None if table.stream is None else (_write(table, table.stream, end),)


def _write(table: TableState, stream: Stream, end: End) -> WriteStream:
    """Some rows. Where all transactions of a batch have been used, the client opens a new batch."""
    begins = not stream.has_begun
    is_first = begins and not stream.left
    if is_first:
        stream.left = stream.batch
    stream.left -= begins
    stream.has_begun = end == "stay open"
    table.aborted |= end == "abort"
    return WriteStream(stream.key, _rows(table, stream), begins, is_first, end)


def _rows(table: TableState, stream: Stream) -> tuple[str, ...]:
    first, last = table.numbers(table.rng.randint(1, 4))
    rows = []
    for n in range(first, last + 1):
        values = [str(n), *(text(column.type, n + j) for j, column in enumerate(table.columns[1:]))]
        if not stream.partition:
            values += [
                table.rng.choice(_partition_values(column.type)) for column in table.shape.partition
            ]
        rows.append(",".join(values))
    return tuple(rows)


def text(hive_type: str, number: int) -> str:
    """A value of a column as delimited text has it."""
    value = literal(hive_type, number)
    return NULL_TEXT if value == NULL else value.strip("'")


def _partition_values(hive_type: str) -> list[str]:
    return [value.strip("'") for value in PARTITION_VALUES[hive_type] if value != NULL]


OPERATIONS: dict[str, Operation] = {
    "open streaming batch": open_stream,
    "streamed rows": stream_rows,
    "streamed commit": stream_commit,
    "streamed abort": stream_abort,
    "close streaming batch": close_stream,
    "kill streaming client": kill_stream,
    "timeout of streaming": time_out,
}
"""The operations of streaming ingest, on a `StreamedTable` in a `StreamedWorld`."""

OPENS = {
    "open streaming batch": tuple(name for name in OPERATIONS if name != "open streaming batch"),
    "kill streaming client": ("timeout of streaming",),
}
"""The operations that need an earlier one, by that one."""

ENDINGS = ("close streaming batch", "timeout of streaming")
"""The operations after which no stream is open."""
