"""One table as one run sees it."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.hiveacid.acid.write_ids import ValidTxnList, ValidWriteIdList
from dbt.adapters.hiveacid.metastore.models import Partition, Table


@dataclass(frozen=True)
class PinnedTable:
    """A table's metadata and the ids that the run may see of it, fixed for the whole run.

    `transaction_id` is the run's metastore transaction, which holds a shared lock on the table.
    `partitions` is empty for an unpartitioned table.
    """

    table: Table
    partitions: tuple[Partition, ...]
    write_ids: ValidWriteIdList
    valid_txns: ValidTxnList
    transaction_id: int
