"""One table at one moment."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dbt.adapters.hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from dbt.adapters.hiveacid.metastore.client import MetastoreClient
from dbt.adapters.hiveacid.metastore.models import (
    Partition,
    StorageDescriptor,
    Table,
    TableName,
)


@dataclass(frozen=True)
class SeenTable:
    """A table's metadata, and the ids whose work was committed at that moment.

    `partitions` is empty for an unpartitioned table.
    """

    table: Table
    partitions: tuple[Partition, ...]
    write_ids: ValidWriteIdList
    valid_txns: ValidTxnList

    @property
    def storages(self) -> list[StorageDescriptor]:
        """Where the table's files lie: one place, or one for each partition."""
        if self.table.partition_keys:
            return [partition.storage for partition in self.partitions]
        return [self.table.storage]


def see(client: MetastoreClient, names: Iterable[TableName]) -> dict[TableName, SeenTable]:
    """Those of `names` that are transactional tables, as they are now.

    For what needs metadata and no row: it takes no lock and no transaction, so the next moment
    Hive may compact or drop what is seen. The list of transactions comes first, so that a listing
    made later has the files of all that it says is committed.

    Raises:
        MetastoreError: the metastore could not be asked.
    """
    valid_txns = client.get_valid_txns()
    tables = {n: t for n, t in client.get_tables(names).items() if t.is_transactional}
    write_ids = client.get_valid_write_ids(tables, valid_txns)
    return {
        name: SeenTable(
            table,
            client.get_partitions(name) if table.partition_keys else (),
            write_ids[name],
            valid_txns,
        )
        for name, table in tables.items()
    }
