"""What a run held, for logs and adapter responses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbt.adapters.hiveacid.acid.write_ids import ValidWriteIdList
from dbt.adapters.hiveacid.metastore.models import TableName


@dataclass(frozen=True)
class SnapshotReport:
    """The run's transaction and what it pinned; times in seconds.

    `lock_waits` says of each table how long the request waited in which it was locked.
    """

    transaction_id: int
    write_ids: Mapping[TableName, ValidWriteIdList]
    lock_waits: Mapping[TableName, float]
    lock_wait_seconds: float
    held_seconds: float

    @property
    def tables(self) -> str:
        """The tables' names, for a message."""
        return ", ".join(str(name) for name in sorted(self.write_ids))

    def line(self, ended_after: str | None) -> str:
        """What the log says once the transaction has ended; `ended_after` is the last reader."""
        if not self.write_ids:
            return "The run's transaction held no table"
        told = (
            f"One snapshot of {self.tables}: transaction {self.transaction_id}, held "
            f"{self.held_seconds:.1f} s, waited {self.lock_wait_seconds:.1f} s for locks"
        )
        return told if ended_after is None else f"{told}, ended after {ended_after}"
