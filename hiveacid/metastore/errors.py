"""Translation of Thrift and metastore errors into errors of the library."""

from __future__ import annotations

import struct

from hmsclient.genthrift.hive_metastore import ttypes
from thrift.protocol.TProtocol import TProtocolException
from thrift.Thrift import TApplicationException, TException
from thrift.transport.TTransport import TTransportException

from hiveacid.errors import (
    HiveAcidError,
    MetastoreError,
    MetastoreUnavailableError,
    TableNotFoundError,
    TransactionLostError,
    WriteIdsNotSupportedError,
)
from hiveacid.metastore.security.failures import HandshakeError, is_closed

CONNECTION_ERRORS: tuple[type[Exception], ...] = (
    TTransportException,
    TProtocolException,
    OSError,
    EOFError,
    struct.error,
    HandshakeError,
)
"""Errors of a broken connection, of a timeout, or of a server that speaks no plain thrift."""

_WRITE_ID_CALLS = frozenset(
    {"get_valid_write_ids", "allocate_table_write_ids", "add_write_ids_to_min_history"}
)


def is_unknown_method(error: BaseException) -> bool:
    """Whether the metastore answered that it does not have the call."""
    return (
        isinstance(error, TApplicationException)
        and error.type == TApplicationException.UNKNOWN_METHOD
    )


_SECURITY = "`security` (in a profile auth, use_ssl and use_http_transport)"


def unavailable(
    call: str, subject: str, address: object, error: Exception, protocol: str | None = None
) -> HiveAcidError:
    """Return the error for a connection to `address` that failed in `call` about `subject`.

    `protocol` is what the server speaks instead of plain Thrift, if this is known.
    """
    if protocol is not None:
        return MetastoreUnavailableError(
            f"The Hive metastore at {address} failed in {call} for {subject}: it speaks "
            f"{protocol}, and this client plain Thrift. Set {_SECURITY} as the metastore "
            "requires.",
            code="HIVEACID_METASTORE_PROTOCOL_DIFFERS",
        )
    inner = getattr(error, "inner", None) or error
    if isinstance(error, HandshakeError):
        reason, advice = error.reason, error.advice
    elif isinstance(error, TTransportException) and error.type == TTransportException.TIMED_OUT:
        reason, advice = "it did not answer in time", "Raise metastore_timeout if it is slow."
    elif is_closed(error):
        reason = "it closed the connection"
        advice = (
            "Check the metastore's log. A metastore with Kerberos or TLS also closes the "
            f"connections of clients without them: set {_SECURITY}."
        )
    else:
        reason = f"{type(inner).__name__}: {inner}"
        advice = (
            "Check that metastore_uri is the thrift address of a Hive metastore, and whether "
            f"the metastore requires Kerberos, TLS or HTTP: {_SECURITY}."
        )
    return MetastoreUnavailableError(
        f"The Hive metastore at {address} failed in {call} for {subject}: {reason}. {advice}"
    )


def translate(call: str, subject: str, error: TException) -> HiveAcidError:
    """Return the error for what the metastore answered to `call` about `subject`.

    `subject` names the table or transaction, e.g. `table shop.orders`.
    """
    detail = getattr(error, "message", None) or str(error)
    if is_unknown_method(error):
        if call in _WRITE_ID_CALLS:
            return WriteIdsNotSupportedError(
                f"The metastore has no {call}, so it can give no consistent snapshot for "
                f"{subject}: it is older than Hive 3. Upgrade the metastore, or read the table "
                "through Hive itself."
            )
        return MetastoreError(
            f"The server has no {call}, needed for {subject}. Check that metastore_uri is the "
            "address of a Hive metastore, not of HiveServer2.",
            code="HIVEACID_NOT_A_METASTORE",
        )
    if isinstance(error, (ttypes.NoSuchTxnException, ttypes.TxnAbortedException)):
        return TransactionLostError(
            f"{call} for {subject} failed, since the metastore transaction is no longer open "
            f"({detail}). It timed out, was aborted, or had already ended. Take a new snapshot."
        )
    if isinstance(error, ttypes.NoSuchObjectException) and subject.startswith("table "):
        return TableNotFoundError(
            f"The metastore has no {subject} ({detail}). Check the names of the database "
            "and the table."
        )
    return MetastoreError(
        f"The metastore refused {call} for {subject}: {detail}. See the metastore's log "
        "for the cause, and try again."
    )
