"""Log of a run's reads of ACID sources: the snapshots and the amounts."""

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
    """Files that a read of a source covers; several nodes may share one object.

    Spark may skip some of the files because of a statement's filters. `partitions` has the values
    of the files' partitions; it is empty for an unpartitioned table. `deletes` are the files among
    them that contain delete events. `changes` are the two write ids of a read of
    `table_changes`, whose files are not counted; None for a read of rows.
    """

    pinned: PinnedTable
    files: tuple[ListedFile, ...]
    partitions: frozenset[tuple[str, ...]]
    deletes: tuple[DeleteFile, ...]
    changes: tuple[int, int] | None = None

    @classmethod
    def of_changes(cls, pinned: PinnedTable, since: int, until: int | None) -> FilesRead:
        """Create an object for a read of the changes after `since`, up to `until` or the newest."""
        last = pinned.write_ids.high_watermark if until is None else until
        return cls(pinned, (), frozenset(), (), (since, last))

    @classmethod
    def of(
        cls,
        pinned: PinnedTable,
        files: Iterable[tuple[ListedFile, int]],
        deletes: Iterable[DeleteFile],
    ) -> FilesRead:
        """Create an object for some files, each with the index of its partition in `pinned`."""
        found = dict(files)
        partitions = pinned.partitions
        values = (partitions[i].values for i in set(found.values())) if partitions else ()
        return cls(pinned, tuple(found), frozenset(values), tuple(deletes))

    @property
    def table(self) -> TableName:
        """Table of the source."""
        return self.pinned.table.name

    @cached_property
    def lengths(self) -> dict[str, int]:
        """Lengths of the files in bytes, by path."""
        return {file.path: file.length for file in self.files}

    @cached_property
    def delete_events(self) -> dict[str, int]:
        """Numbers of delete events, by path, of the files that have any."""
        return {delete.file.path: delete.rows for delete in self.deletes}


@dataclass(frozen=True)
class ReadAmount:
    """Numbers of files and partitions of a table that were read, and the files' length in bytes.

    `delete_events` counts all events in these files, including events outside of the snapshot.
    """

    files: int
    bytes: int
    partitions: int
    delete_events: int

    @classmethod
    def of(cls, reads: Iterable[FilesRead]) -> ReadAmount:
        """Return the total over several reads of one table; a file counts once."""
        lengths: dict[str, int] = {}
        partitions: set[tuple[str, ...]] = set()
        events: dict[str, int] = {}
        for read in reads:
            lengths |= read.lengths
            partitions |= read.partitions
            events |= read.delete_events
        return cls(len(lengths), sum(lengths.values()), len(partitions), sum(events.values()))


def by_table(reads: Iterable[FilesRead]) -> dict[TableName, list[FilesRead]]:
    """Group reads by their tables, in the order of the names."""
    tables: dict[TableName, list[FilesRead]] = {}
    for read in sorted(reads, key=lambda read: read.table):
        tables.setdefault(read.table, []).append(read)
    return tables


def amounts_by_table(reads: Iterable[FilesRead]) -> dict[str, dict[str, Any]]:
    """Return the amount read of each table for dbt's artifacts, with `write_ids` in Hive's form."""
    return {
        str(table): {
            "write_ids": str(found[0].pinned.write_ids),
            **asdict(ReadAmount.of(found)),
        }
        for table, found in by_table(reads).items()
    }


def summary_line(node: str, rows: int | None, reads: Collection[FilesRead]) -> str:
    """Return the log line of a node that has read sources; `rows` is the number of rows written."""
    tables = []
    for table, found in by_table(reads).items():
        changes = sorted({read.changes for read in found if read.changes is not None})
        parts = [f"changes after write id {first} up to {last}" for first, last in changes]
        if any(read.changes is None for read in found):
            amount = ReadAmount.of(found)
            parts += [
                f"write ids up to {found[0].pinned.write_ids.high_watermark}",
                pluralize(amount.files, "file"),
                human_bytes(amount.bytes),
            ]
            if amount.delete_events:
                parts.append(pluralize(amount.delete_events, "delete event"))
        tables.append(f"{table} ({', '.join(parts)})")
    written = "" if rows is None else f"{pluralize(rows, 'row')}; "
    transaction_id = next(read.pinned.transaction_id for read in reads)
    return f"{node}: {written}read {' and '.join(tables)} in transaction {transaction_id}"


class ReadLog:
    """Reads of a run, by reader. All methods are thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reads: dict[str, dict[FilesRead, None]] = {}

    def add(self, reader: str, read: FilesRead) -> None:
        """Log a read of `reader`: a node's unique id, or the name of a connection."""
        with self._lock:
            self._reads.setdefault(reader, {})[read] = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been read."""
        with self._lock:
            return not self._reads

    def of_table(self, table: TableName) -> ReadAmount:
        """Return the total that all readers have read of a table."""
        return ReadAmount.of({r: None for _, rs in self._items() for r in rs if r.table == table})

    def of_reader(self, reader: str) -> tuple[FilesRead, ...]:
        """Return the reads of one reader."""
        with self._lock:
            return tuple(self._reads.get(reader, ()))

    def by_reader(self) -> Iterator[tuple[str, dict[TableName, ReadAmount]]]:
        """Yield each reader and the amounts it has read, in the order of the first reads."""
        for reader, reads in self._items():
            yield reader, {t: ReadAmount.of(found) for t, found in by_table(reads).items()}

    def _items(self) -> list[tuple[str, tuple[FilesRead, ...]]]:
        with self._lock:
            return [(reader, tuple(reads)) for reader, reads in self._reads.items()]
