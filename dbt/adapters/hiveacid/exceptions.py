"""The adapter's errors.

Every message says what failed, which table, transaction, write id or file it was about, and what to
do next. All are `DbtRuntimeError`s, so that dbt shows the message without a stack trace.
"""

from dbt_common.exceptions import DbtRuntimeError


class HiveAcidError(DbtRuntimeError):
    """Base class of every error that this adapter raises on purpose."""


class InvalidSettingError(HiveAcidError):
    """A setting of the profile has a value that cannot work."""


class MetastoreError(HiveAcidError):
    """The metastore answered a call with an error that has no more specific class here."""


class MetastoreUnavailableError(MetastoreError):
    """No configured metastore address could be reached, or the connection broke or timed out."""


class TableNotFoundError(MetastoreError):
    """The metastore has no such table."""


class WriteIdsNotSupportedError(MetastoreError):
    """The metastore has no write id calls (older than Hive 3): no snapshot can be taken."""


class TransactionLostError(HiveAcidError):
    """The run's metastore transaction was aborted or timed out while the run still needed it."""


class SnapshotEndedError(HiveAcidError):
    """An ACID source is read after the run has ended the transaction of its snapshot."""


class LockTimeoutError(HiveAcidError):
    """A shared lock was not granted within `lock_timeout`."""


class ConcurrentDdlError(HiveAcidError):
    """DDL on a source after the run's snapshot was taken makes the snapshot unreadable."""


class UnreadableTableError(HiveAcidError):
    """A table, directory or file that cannot be read exactly is refused, with the reason."""


class VanishedFileError(UnreadableTableError):
    """A file of the run's snapshot is no longer there."""


class RawAcidReferenceError(HiveAcidError):
    """A statement names a transactional table directly, which Spark would read wrong."""


class AcidTargetError(HiveAcidError):
    """A model has the name of a transactional table, which it would replace."""


class ViewOverAcidError(HiveAcidError):
    """A permanent view or function over an ACID source was asked for; it could hold no snapshot."""


class PythonModelError(HiveAcidError):
    """The code of a Python model fails, or returns what is not a table."""


class FreshnessError(HiveAcidError):
    """The time of a source's last write cannot be told without reading it."""


class VerificationError(HiveAcidError):
    """A table's files are not as Hive writes them, or the reader does not show their rows."""


class IncrementalError(HiveAcidError):
    """An incremental model cannot be brought up to date from the changes of its source."""


class ConcurrentRunError(IncrementalError):
    """Another run has changed the target of an incremental model at the same time."""
