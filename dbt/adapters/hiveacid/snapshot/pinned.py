"""One table as one run sees it."""

from __future__ import annotations

from dataclasses import dataclass

from dbt.adapters.hiveacid.snapshot.seen import SeenTable


@dataclass(frozen=True)
class PinnedTable(SeenTable):
    """A table's metadata and the ids that the run may see of it, fixed for the whole run.

    `transaction_id` is the run's metastore transaction, which holds a shared lock on the table.
    """

    transaction_id: int
