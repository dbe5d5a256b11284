"""What the nodes of a run have read of the ACID sources, in files."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from dbt.adapters.hiveacid.acid.listing import ListedFile
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable


@dataclass(frozen=True, eq=False)
class Reading:
    """The files behind a view of a source; many nodes may share it.

    `partitions` are the values of the partitions in which these files lie; there are none for an
    unpartitioned table. Of these files Spark may pass over some, by a statement's filters.
    """

    table: TableName
    files: tuple[ListedFile, ...]
    partitions: frozenset[tuple[str, ...]]

    @classmethod
    def of(cls, pinned: PinnedTable, files: Iterable[tuple[ListedFile, int]]) -> Reading:
        """The reading of some files, each with the number of its partition in `pinned`."""
        found = dict(files)
        partitions = pinned.partitions
        values = (partitions[i].values for i in set(found.values())) if partitions else ()
        return cls(pinned.table.name, tuple(found), frozenset(values))

    @cached_property
    def lengths(self) -> dict[str, int]:
        """The files' lengths in bytes, by their paths."""
        return {file.path: file.length for file in self.files}


@dataclass(frozen=True)
class ReadAmount:
    """How many files and partitions of a table were read, and the files' length in bytes."""

    files: int
    bytes: int
    partitions: int

    @classmethod
    def of(cls, readings: Iterable[Reading]) -> ReadAmount:
        """That of some readings of one table together."""
        lengths: dict[str, int] = {}
        partitions: set[tuple[str, ...]] = set()
        for reading in readings:
            lengths |= reading.lengths
            partitions |= reading.partitions
        return cls(len(lengths), sum(lengths.values()), len(partitions))


class ReadLog:
    """The readings of a run, by reader. All methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readings: dict[str, dict[Reading, None]] = {}

    def add(self, reader: str, reading: Reading) -> None:
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

    def by_reader(self) -> Iterator[tuple[str, dict[TableName, ReadAmount]]]:
        """What each reader has read, in the order of the first reads."""
        for reader, readings in self._items():
            tables = sorted({reading.table for reading in readings})
            yield (
                reader,
                {t: ReadAmount.of(r for r in readings if r.table == t) for t in tables},
            )

    def _items(self) -> list[tuple[str, tuple[Reading, ...]]]:
        with self._lock:
            return [(reader, tuple(readings)) for reader, readings in self._readings.items()]
