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


class MetastoreSecurityError(MetastoreUnavailableError):
    """The metastore and the client do not agree who the other is, or how to speak."""


class TableNotFoundError(MetastoreError):
    """The metastore has no such table."""


class WriteIdsNotSupportedError(MetastoreError):
    """The metastore has no write id calls (older than Hive 3): no snapshot can be taken."""


class TransactionLostError(HiveAcidError):
    """The snapshot's transaction was aborted or timed out while it was still needed."""


class SnapshotEndedError(HiveAcidError):
    """A table is read from a snapshot that has ended."""


class LockTimeoutError(HiveAcidError):
    """A shared lock was not granted within `lock_timeout`."""


class ConcurrentDdlError(HiveAcidError):
    """DDL on a table after the snapshot was taken makes the table unreadable in it."""


class UnreadableTableError(HiveAcidError):
    """A table, directory or file that cannot be read exactly is refused, with the reason."""


class RawAcidReferenceError(HiveAcidError):
    """A statement would have Spark itself read a transactional table, which it reads wrong."""


class AcidTargetError(HiveAcidError):
    """A statement would have Spark change or remove a transactional table, or files of it."""


class VanishedFileError(UnreadableTableError):
    """A file of the snapshot is no longer there."""


class HistoryLostError(HiveAcidError):
    """The changes since a state can no longer be told completely."""


class InstantLostError(UnreadableTableError):
    """The rows of an earlier instant of a table can no longer be told from its files."""


class InvalidStateError(HiveAcidError):
    """A text is not the state of a table."""


class FetchError(HiveAcidError):
    """A file of a Maven repository could not be fetched, or has another checksum."""


class JavaNotFoundError(HiveAcidError):
    """There is no Java on this machine."""
