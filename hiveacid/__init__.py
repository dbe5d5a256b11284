"""Hive ACID tables for PySpark: Hive's rows, one snapshot over several tables, and changes.

Read several tables at one moment::

    with hiveacid.snapshot(spark, "thrift://metastore:9083", ["shop.orders", "shop.items"]) as snap:
        orders = snap.table("shop.orders", partitions={"day": "2026-01-31"})
        orders.join(snap.table("shop.items"), "order_id").write.saveAsTable("marts.orders")

Read what changed since the last time, deletes included::

    with hiveacid.snapshot(spark, "thrift://metastore:9083", ["shop.orders"]) as snap:
        changes = snap.changes("shop.orders", since=stored_text)    # None the first time
        apply(changes.rows)                                         # _change_type, _write_id, …
        store(changes.state.to_text())

Check a table::

    with hiveacid.snapshot(spark, "thrift://metastore:9083", ["shop.orders"]) as snap:
        print(snap.verify("shop.orders"))

`__all__` is the public API, and docs/library.md the guide. The library never imports dbt.
"""

# ruff: noqa: E402, I001
from hiveacid.spark_versions import refuse_older_sparks

# Before imports of names that an older PySpark lacks.
refuse_older_sparks()

from hiveacid.api import Changes, Snapshot, snapshot
from hiveacid.changes.losses import Extent, Loss
from hiveacid.changes.state import SourceState
from hiveacid.errors import (
    AcidTargetError,
    ConcurrentDdlError,
    HistoryLostError,
    HiveAcidError,
    InstantLostError,
    InvalidSettingError,
    InvalidStateError,
    LockTimeoutError,
    MetastoreError,
    MetastoreSecurityError,
    MetastoreUnavailableError,
    PublicationError,
    RawAcidReferenceError,
    SnapshotEndedError,
    TableNotFoundError,
    TransactionLostError,
    UnreadableTableError,
    UnwritableRowsError,
    UnwritableTableError,
    VanishedFileError,
    WriteAbortedError,
    WriteIdsNotSupportedError,
)
from hiveacid.metastore.models import TableName
from hiveacid.metastore.security.settings import (
    DelegationToken,
    Jwt,
    Kerberos,
    Password,
    Security,
    Tls,
    UserName,
)
from hiveacid.reader.verify_result import Verification
from hiveacid.snapshots.locked_tables import SnapshotReport
from hiveacid.transactions import Transaction, transaction
from hiveacid.version import __version__

__all__ = [
    "AcidTargetError",
    "Changes",
    "ConcurrentDdlError",
    "DelegationToken",
    "Extent",
    "HistoryLostError",
    "HiveAcidError",
    "InstantLostError",
    "InvalidSettingError",
    "InvalidStateError",
    "Jwt",
    "Kerberos",
    "LockTimeoutError",
    "Loss",
    "MetastoreError",
    "MetastoreSecurityError",
    "MetastoreUnavailableError",
    "Password",
    "PublicationError",
    "RawAcidReferenceError",
    "Security",
    "Snapshot",
    "SnapshotEndedError",
    "SnapshotReport",
    "SourceState",
    "TableName",
    "TableNotFoundError",
    "Tls",
    "Transaction",
    "TransactionLostError",
    "UnreadableTableError",
    "UnwritableRowsError",
    "UnwritableTableError",
    "UserName",
    "VanishedFileError",
    "Verification",
    "WriteAbortedError",
    "WriteIdsNotSupportedError",
    "__version__",
    "snapshot",
    "transaction",
]
