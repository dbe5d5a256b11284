"""What the nodes of a run have read of the ACID sources: which snapshot, and how much of it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from hiveacid.acid.layout import ListedFile
from hiveacid.formatting import human_bytes, pluralize
from hiveacid.metastore.models import TableName
from hiveacid.reader.deletes import DeleteFile
from hiveacid.snapshots.tables import PinnedTable


@dataclass(frozen=True, eq=False)
class FilesRead:
    """The files behind a view of a source; many nodes may share it.

    `partitions` are the values of the partitions in which these files lie; there are none for an
    unpartitioned table. Of these files Spark may pass over some, by a statement's filters.
    `deletes` are those of them that hold delete events.
    """

    pinned: PinnedTable
    files: tuple[ListedFile, ...]
    partitions: frozenset[tuple[str, ...]]
    deletes: tuple[DeleteFile, ...]

    @classmethod
    def of(
        cls,
        pinned: PinnedTable,
        files: Iterable[tuple[ListedFile, int]],
        deletes: Iterable[DeleteFile],
    ) -> FilesRead:
        """The reading of some files, each with the number of its partition in `pinned`."""
        found = dict(files)
        partitions = pinned.partitions
        values = (partitions[i].values for i in set(found.values())) if partitions else ()
        return cls(pinned, tuple(found), frozenset(values), tuple(deletes))

    @property
    def table(self) -> TableName:
        """The source's table."""
        return self.pinned.table.name

    @cached_property
    def lengths(self) -> dict[str, int]:
        """The files' lengths in bytes, by their paths."""
        return {file.path: file.length for file in self.files}

    @cached_property
    def delete_events(self) -> dict[str, int]:
        """How many delete events are in each file that has such, by the files' paths."""
        return {delete.file.path: delete.rows for delete in self.deletes}


@dataclass(frozen=True)
class ReadAmount:
    """How many files and partitions of a table were read, and the files' length in bytes.

    `delete_events` are all that are in these files, those of other snapshots included.
    """

    files: int
    bytes: int
    partitions: int
    delete_events: int

    @classmethod
    def of(cls, readings: Iterable[FilesRead]) -> ReadAmount:
        """That of some readings of one table together."""
        lengths: dict[str, int] = {}
        partitions: set[tuple[str, ...]] = set()
        events: dict[str, int] = {}
        for reading in readings:
            lengths |= reading.lengths
            partitions |= reading.partitions
            events |= reading.delete_events
        return cls(len(lengths), sum(lengths.values()), len(partitions), sum(events.values()))


def by_table(readings: Iterable[FilesRead]) -> dict[TableName, list[FilesRead]]:
    """The readings of each table, the tables in their order."""
    tables: dict[TableName, list[FilesRead]] = {}
    for reading in sorted(readings, key=lambda reading: reading.table):
        tables.setdefault(reading.table, []).append(reading)
    return tables


def amounts_by_table(readings: Iterable[FilesRead]) -> dict[str, dict[str, Any]]:
    """What was read of each table, for dbt's artifacts; `write_ids` are as Hive writes them."""
    return {
        str(table): {
            "write_ids": str(found[0].pinned.write_ids),
            **asdict(ReadAmount.of(found)),
        }
        for table, found in by_table(readings).items()
    }


def summary_line(node: str, rows: int | None, readings: Collection[FilesRead]) -> str:
    """What the log says of a node that has read sources, and of the rows that it has written."""
    tables = []
    for table, found in by_table(readings).items():
        amount = ReadAmount.of(found)
        parts = [
            f"write ids up to {found[0].pinned.write_ids.high_watermark}",
            pluralize(amount.files, "file"),
            human_bytes(amount.bytes),
        ]
        if amount.delete_events:
            parts.append(pluralize(amount.delete_events, "delete event"))
        tables.append(f"{table} ({', '.join(parts)})")
    written = "" if rows is None else f"{pluralize(rows, 'row')}; "
    transaction_id = next(reading.pinned.transaction_id for reading in readings)
    return f"{node}: {written}read {' and '.join(tables)} in transaction {transaction_id}"


class ReadLog:
    """The readings of a run, by reader. All methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: dict[str, dict[FilesRead, None]] = {}

    def add(self, reader: str, reading: FilesRead) -> None:
        """`reader` has read these files: a node's unique id, or the name of a connection."""
        with self._lock:
            self._readings.setdefault(reader, {})[reading] = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been read."""
        with self._lock:
            return not self._readings

    def of_table(self, table: TableName) -> ReadAmount:
        """What all readers together have read of a table."""
        return ReadAmount.of({r: None for _, rs in self._items() for r in rs if r.table == table})

    def of_reader(self, reader: str) -> tuple[FilesRead, ...]:
        """What a reader has read."""
        with self._lock:
            return tuple(self._readings.get(reader, ()))

    def by_reader(self) -> Iterator[tuple[str, dict[TableName, ReadAmount]]]:
        """What each reader has read, in the order of the first reads."""
        for reader, readings in self._items():
            yield reader, {t: ReadAmount.of(found) for t, found in by_table(readings).items()}

    def _items(self) -> list[tuple[str, tuple[FilesRead, ...]]]:
        with self._lock:
            return [(reader, tuple(readings)) for reader, readings in self._readings.items()]
