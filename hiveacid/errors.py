"""Errors of the library.

Each message says what failed, which table, transaction, write id or file it is about, and what to
do next.
"""


class HiveAcidError(Exception):
    """Base class of every error that the library raises on purpose."""

    @property
    def message(self) -> str:
        """What failed, and what to do next."""
        return str(self.args[0])


class InvalidSettingError(HiveAcidError):
    """A setting has a value that cannot work."""


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


class LockTimeoutError(HiveAcidError):
    """A shared lock was not granted within `lock_timeout`."""


class ConcurrentDdlError(HiveAcidError):
    """DDL on a source after the run's snapshot was taken makes the snapshot unreadable."""


class UnreadableTableError(HiveAcidError):
    """A table, directory or file that cannot be read exactly is refused, with the reason."""


class VanishedFileError(UnreadableTableError):
    """A file of the run's snapshot is no longer there."""


class VerificationError(HiveAcidError):
    """A table's files are not as Hive writes them, or the reader does not show their rows."""
