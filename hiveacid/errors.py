"""Errors of the library.

Each message says what failed, which table, transaction, write id or file it is about, and what to
do next. Each error has a code, which stays the same from release to release.
"""


class HiveAcidError(Exception):
    """Base class of every error that the library raises on purpose.

    Attributes:
        code: Stable name of the problem, such as `HIVEACID_LOCK_TIMEOUT`: a heading of
            docs/troubleshooting.md. A class with several problems gives each its own code.
    """

    code = "HIVEACID_ERROR"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.code = code or self.code

    @property
    def message(self) -> str:
        """What failed, and what to do next, without the code."""
        return str(self.args[0])

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


class InvalidSettingError(HiveAcidError):
    """A setting has an invalid value, or one that contradicts another setting."""


class MetastoreError(HiveAcidError):
    """The metastore answered a call with an error that has no more specific class here."""

    code = "HIVEACID_METASTORE_REFUSED"


class MetastoreUnavailableError(MetastoreError):
    """No configured metastore address could be reached, or the connection broke or timed out."""

    code = "HIVEACID_METASTORE_UNAVAILABLE"


class MetastoreSecurityError(MetastoreUnavailableError):
    """A login at the metastore failed, or the two sides speak different protocols."""

    code = "HIVEACID_METASTORE_LOGIN_FAILED"


class TableNotFoundError(MetastoreError):
    """The metastore has no such table."""

    code = "HIVEACID_TABLE_NOT_FOUND"


class WriteIdsNotSupportedError(MetastoreError):
    """The metastore has no write id calls (older than Hive 3): no snapshot can be taken."""

    code = "HIVEACID_METASTORE_BEFORE_HIVE_3"


class TransactionLostError(HiveAcidError):
    """The snapshot's transaction was aborted or timed out while it was still needed."""

    code = "HIVEACID_TRANSACTION_LOST"


class SnapshotEndedError(HiveAcidError):
    """A table is read from a snapshot that has ended."""

    code = "HIVEACID_SNAPSHOT_ENDED"


class LockTimeoutError(HiveAcidError):
    """A shared lock was not granted within `lock_timeout`."""

    code = "HIVEACID_LOCK_TIMEOUT"


class ConcurrentDdlError(HiveAcidError):
    """DDL on a table after the snapshot was taken makes the table unreadable in it."""

    code = "HIVEACID_CONCURRENT_DDL"


class UnreadableTableError(HiveAcidError):
    """A table, directory or file cannot be read exactly; the message has the reason."""


class RawAcidReferenceError(HiveAcidError):
    """A statement would let Spark itself read a transactional table, and show wrong rows."""


class AcidTargetError(HiveAcidError):
    """A statement would let Spark change or remove a transactional table, or its files."""


class UnwritableTableError(HiveAcidError):
    """A transaction cannot write a table so that Hive reads exactly these rows."""


class UnwritableRowsError(HiveAcidError):
    """Rows do not fit the columns of the table that they are written to."""


class PublicationError(HiveAcidError):
    """Staged files could not be moved into their table, so nothing was committed."""

    code = "HIVEACID_PUBLICATION_FAILED"


class WriteAbortedError(HiveAcidError):
    """The metastore has aborted a writing transaction; nothing that it wrote is visible."""

    code = "HIVEACID_WRITE_ABORTED"


class VanishedFileError(UnreadableTableError):
    """A file of the snapshot is no longer there."""

    code = "HIVEACID_VANISHED_FILE"


class HistoryLostError(HiveAcidError):
    """The changes since a state can no longer be determined completely."""

    code = "HIVEACID_HISTORY_LOST"


class InstantLostError(UnreadableTableError):
    """The rows of a table at an earlier instant can no longer be determined from its files."""

    code = "HIVEACID_INSTANT_LOST"


class InvalidStateError(HiveAcidError):
    """A text is not a table's state, as `state.to_text()` writes it."""

    code = "HIVEACID_INVALID_STATE"


class FetchError(HiveAcidError):
    """A file of a Maven repository could not be fetched, or its checksum differs."""

    code = "HIVEACID_FETCH_FAILED"


class JavaNotFoundError(HiveAcidError):
    """There is no Java on this machine."""

    code = "HIVEACID_JAVA_NOT_FOUND"
