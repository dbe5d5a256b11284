"""A writer besides Hive, such as NiFi: it writes files under a transaction of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import pyorc
from hmsclient.genthrift.hive_metastore import ttypes

from dbt.adapters.hiveacid.acid.bucket import BucketProperty, decode_bucket
from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import Column, TableName
from integration.hive import HiveClient

_ACID = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:{row}>"
)
_AGENT = "a writer of random histories"


@dataclass(frozen=True)
class OpenWriter:
    """A writer whose transaction is open, with its lock and its write id."""

    txn_id: int
    write_id: int
    table: TableName
    full_acid: bool
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
        return cls(txn_id, write_id, name, table.is_full_acid, path, table.storage.columns)

    def insert(self, identities: Sequence[int]) -> None:
        """Write rows: the id, and NULL in all other columns."""
        row = "struct<" + ",".join(f"{c.name}:{c.type}" for c in self.columns) + ">"
        rows = [(identity, *[None] * (len(self.columns) - 1)) for identity in identities]
        if not self.full_acid:
            directory = self._directory(f"delta_{self._range}_0000")
            _write(directory / "000000_0", row, rows)
            return
        bucket = BucketProperty(0, 0).encode()
        events = [
            (0, self.write_id, bucket, i, self.write_id, values) for i, values in enumerate(rows)
        ]
        # Writers that stream leave the statement id out of the directory's name.
        _write(self._directory(f"delta_{self._range}") / "bucket_00000", _acid(row), events)

    def delete(self, client: HiveClient, where: str) -> None:
        """Write delete events for the rows that Hive shows now and that fulfil a condition."""
        query = f"SELECT ROW__ID FROM {self.table} WHERE {where}"
        row_ids = [json.loads(row_id) for (row_id,) in client.query(query)]
        keys = sorted((r["writeid"], r["bucketid"], r["rowid"]) for r in row_ids)
        if not keys:
            return
        row = "struct<" + ",".join(f"{c.name}:{c.type}" for c in self.columns) + ">"
        directory = self._directory(f"delete_delta_{self._range}")

        def bucket_number(key: tuple[int, int, int]) -> int:
            return decode_bucket(key[1]).bucket

        for bucket, group in groupby(sorted(keys, key=bucket_number), bucket_number):
            events = [(2, *key, self.write_id, None) for key in sorted(group)]
            _write(directory / f"bucket_{bucket:05d}", _acid(row), events)

    @property
    def _range(self) -> str:
        return f"{self.write_id:07d}_{self.write_id:07d}"

    def _directory(self, name: str) -> Path:
        directory = self.location / name
        directory.mkdir(parents=True)
        if self.full_acid:
            (directory / "_orc_acid_version").write_text("2")
        return directory


def _acid(row: str) -> str:
    return _ACID.format(row=row)


def _write(path: Path, schema: str, rows: Iterable[tuple[Any, ...]]) -> None:
    with path.open("wb") as file, pyorc.Writer(file, schema) as writer:
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
