"""A writer besides Hive, such as NiFi: it writes files under a transaction of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyorc
from hmsclient.genthrift.hive_metastore import ttypes

from hiveacid.acid.layout import BucketProperty, decode_bucket
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import Column, TableName
from integration.support.hive import HiveClient

_ACID = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:{row}>"
)
_AGENT = "a writer of random histories"
#: Hive's defaults in delimited text.
_SEPARATOR, _NULL = "\x01", "\\N"


@dataclass(frozen=True)
class OpenWriter:
    """A writer whose transaction is open, with its lock and its write id."""

    txn_id: int
    write_id: int
    table: TableName
    full_acid: bool
    is_text: bool
    location: Path
    columns: tuple[Column, ...]

    @classmethod
    def begin(
        cls,
        metastore: MetastoreClient,
        name: TableName,
        partition: tuple[str, ...] | None,
        deletes: bool,
        txn_id: int | None = None,
    ) -> OpenWriter:
        """Open a transaction, lock the table as Hive's own writers do, take a write id.

        `txn_id` is a transaction that is open already. Raises KeyError when there is no such
        partition.
        """
        table = metastore.get_table(name)
        storage = table.storage
        if partition is not None:
            storage = {p.values: p.storage for p in metastore.get_partitions(name)}[partition]
        if txn_id is None:
            txn_id = metastore.open_txn("writer", "localhost", _AGENT, read_only=False)
        _lock(metastore, txn_id, name, deletes)
        write_id = metastore.allocate_table_write_ids(txn_id, name)
        path = Path(storage.location.removeprefix("file:").replace("//", "/", 1))
        is_text = str(storage.input_format).endswith("TextInputFormat")
        columns = table.storage.columns
        return cls(txn_id, write_id, name, table.is_full_acid, is_text, path, columns)

    def insert(self, identities: Sequence[int]) -> None:
        """Write rows: the id, and NULL in all other columns."""
        if self.full_acid:
            insert_together([(self, identities)])
            return
        directory = self._directory(f"delta_{_range([self])}_0000")
        rows = [(identity, *_nulls(self)) for identity in identities]
        if self.is_text:
            lines = (_SEPARATOR.join(_NULL if v is None else str(v) for v in row) for row in rows)
            (directory / "000000_0").write_text("".join(f"{line}\n" for line in lines))
        else:
            _write(directory / "000000_0", self._row, rows)

    def delete(self, client: HiveClient, where: str) -> None:
        """Write delete events for the rows that Hive shows now and that fulfil a condition."""
        delete_together(client, [(self, where)])

    @property
    def _row(self) -> str:
        return _struct(self.columns)

    def _directory(self, name: str) -> Path:
        directory = self.location / name
        directory.mkdir(parents=True)
        if self.full_acid:
            (directory / "_orc_acid_version").write_text("2")
        return directory


def write_empty(path: Path, columns: Sequence[Column]) -> None:
    """Write an ORC file of these columns without rows."""
    _write(path, _struct(columns), [])


def insert_together(inserts: Sequence[tuple[OpenWriter, Sequence[int]]]) -> None:
    """Write rows of several transactions into one file, as a writer that streams does."""
    writers = [writer for writer, _ in inserts]
    bucket = BucketProperty(0, 0).encode()
    events = [
        (0, writer.write_id, bucket, i, writer.write_id, (identity, *_nulls(writer)))
        for writer, identities in inserts
        for i, identity in enumerate(identities)
    ]
    # Writers that stream leave the statement id out of the directory's name.
    directory = writers[0]._directory(f"delta_{_range(writers)}")
    _write_events(directory / "bucket_00000", writers[0], events)


def delete_together(client: HiveClient, deletes: Sequence[tuple[OpenWriter, str]]) -> None:
    """Write delete events of several transactions, for what Hive shows now, into one directory."""
    events = []
    for writer, where in deletes:
        query = f"SELECT ROW__ID FROM {writer.table} WHERE {where}"
        row_ids = [json.loads(row_id) for (row_id,) in client.query(query)]
        keys = ((r["writeid"], r["bucketid"], r["rowid"]) for r in row_ids)
        events += [(2, *key, writer.write_id, None) for key in keys]
    if not events:
        return
    writers = [writer for writer, _ in deletes]
    directory = writers[0]._directory(f"delete_delta_{_range(writers)}")

    def bucket_number(event: tuple[Any, ...]) -> int:
        return decode_bucket(event[2]).bucket

    events.sort(key=lambda event: (bucket_number(event), *event[1:4]))
    for bucket, group in groupby(events, bucket_number):
        _write_events(directory / f"bucket_{bucket:05d}", writers[0], list(group))


def _struct(columns: Sequence[Column]) -> str:
    return "struct<" + ",".join(f"{c.name}:{c.type}" for c in columns) + ">"


def _nulls(writer: OpenWriter) -> list[None]:
    """The columns after the first."""
    return [None] * (len(writer.columns) - 1)


def _range(writers: Sequence[OpenWriter]) -> str:
    """The write ids in a directory's name."""
    write_ids = [writer.write_id for writer in writers]
    return f"{min(write_ids):07d}_{max(write_ids):07d}"


def _acid(row: str) -> str:
    return _ACID.format(row=row)


def _write_events(path: Path, writer: OpenWriter, events: Sequence[tuple[Any, ...]]) -> None:
    """Write a file of few events, with the metadata that Hive 3 asks for.

    These are the last row id of its one stripe, and the numbers of inserts, updates and deletes.
    """
    last = ",".join(str(number) for number in events[-1][1:4])
    kinds = [event[0] for event in events]
    counts = ",".join(str(kinds.count(kind)) for kind in range(3))
    metadata = {"hive.acid.key.index": f"{last};", "hive.acid.stats": counts}
    _write(path, _acid(writer._row), events, {key: it.encode() for key, it in metadata.items()})


def _write(
    path: Path,
    schema: str,
    rows: Iterable[tuple[Any, ...]],
    metadata: Mapping[str, bytes] = MappingProxyType({}),
) -> None:
    with path.open("wb") as file, pyorc.Writer(file, schema) as writer:
        writer.set_user_metadata(**metadata)
        for row in rows:
            writer.write(row)


def _lock(metastore: MetastoreClient, txn_id: int, name: TableName, deletes: bool) -> None:
    """Hive's inserts share the table, its deletes keep other deletes away.

    Without a lock Hive would forget an aborted transaction, and show its rows.
    """
    component = ttypes.LockComponent(
        type=ttypes.LockType.SHARED_WRITE if deletes else ttypes.LockType.SHARED_READ,
        level=ttypes.LockLevel.TABLE,
        dbname=name.database,
        tablename=name.table,
        operationType=(
            ttypes.DataOperationType.DELETE if deletes else ttypes.DataOperationType.INSERT
        ),
        isAcid=True,
    )
    request = ttypes.LockRequest([component], txn_id, "writer", "localhost", _AGENT)
    answer = metastore._channel.once("lock", f"table {name}", lambda thrift: thrift.lock(request))
    if answer.state != ttypes.LockState.ACQUIRED:
        raise RuntimeError(f"the lock of a writer on {name} is {answer.state}")
