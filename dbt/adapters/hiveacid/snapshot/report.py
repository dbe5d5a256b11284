"""What a run held, for logs and adapter responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList
from dbt.adapters.hiveacid.metastore.models import TableName


@dataclass(frozen=True)
class SnapshotReport:
    """The run's transaction and what it pinned; times in seconds."""

    transaction_id: int
    write_ids: Mapping[TableName, ValidWriteIdList]
    lock_wait_seconds: float
    held_seconds: float
