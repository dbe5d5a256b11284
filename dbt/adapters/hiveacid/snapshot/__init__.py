"""One run's view of the warehouse: transaction, locks, heartbeat, valid write ids.

::

    snapshot = RunSnapshot(lambda: MetastoreClient(uris), SnapshotSettings(), "notebook")
    try:
        pinned = snapshot.pin([TableName("shop", "orders"), TableName("shop", "customers")])
        ...                         # read them; every reader sees the same state
        snapshot.check_alive()      # before anything is replaced by what was read
    finally:
        snapshot.end()
"""

from dbt.adapters.hiveacid.snapshot.pinned import PinnedTable
from dbt.adapters.hiveacid.snapshot.report import SnapshotReport
from dbt.adapters.hiveacid.snapshot.run import RunSnapshot
from dbt.adapters.hiveacid.snapshot.settings import SnapshotSettings

__all__ = ["PinnedTable", "RunSnapshot", "SnapshotReport", "SnapshotSettings"]
