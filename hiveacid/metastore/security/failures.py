"""Reasons why a connection fails, and protocols that the other side speaks instead."""

from __future__ import annotations

import re

from thrift.transport.TTransport import TTransportException


class HandshakeError(Exception):
    """A login at the metastore failed, or the server speaks another protocol.

    Args:
        reason: what happened, to follow "thrift://host:port: ".
        advice: what to do, as a sentence.
    """

    def __init__(self, reason: str, advice: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.advice = advice


CHECK_PROXIES = "Check whether a proxy between this machine and the metastore answers in its place."
"""Advice for an answer that the metastore cannot have sent."""


def is_closed(error: Exception) -> bool:
    """Whether an error says that the other side has closed the connection."""
    if isinstance(error, TTransportException):
        inner = getattr(error, "inner", None)
        return error.type == TTransportException.END_OF_FILE or isinstance(inner, ConnectionError)
    return isinstance(error, ConnectionError)


def describe_other_protocol(first_bytes: bytes) -> str | None:
    """Return the protocol of a server by its first bytes; None if it is not known."""
    if first_bytes[:2] in (b"\x15\x03", b"\x16\x03"):
        return "TLS"
    if first_bytes.startswith(b"HTTP"):
        return "HTTP"
    if first_bytes[:1] in (b"\x03", b"\x04") and first_bytes[1:3] == b"\0\0":
        return "SASL (Kerberos, a password or a delegation token)"
    return None


_KERBEROS_ADVICE = (
    (
        r"clock skew",
        "The clocks of this machine and of the KDC differ by more than Kerberos allows (five "
        "minutes): synchronize them (NTP).",
    ),
    (
        r"preauthentication failed|decrypt integrity check failed",
        "The keytab is stale: the KDC has other keys of the principal since its password was "
        "changed or its keys were exported again. Let the administrator export the keytab again.",
    ),
    (
        r"ticket expired|credentials.* expired",
        "The Kerberos ticket has expired: run kinit (the running process takes the new ticket), "
        "or set Kerberos(principal=…, keytab=…).",
    ),
    (
        r"no kerberos credentials|no credentials cache|cache.*not found|no credentials",
        "There is no Kerberos ticket: run kinit, or set Kerberos(principal=…, keytab=…).",
    ),
    (
        r"server .*not found in kerberos database|server not found",
        "The KDC knows no such service: check `service_name` of Kerberos and the host in "
        "metastore_uri, or set Kerberos(server_principal=…) to hive.metastore.kerberos.principal "
        "of hive-site.xml.",
    ),
    (
        r"cannot find kdc for|cannot contact any kdc|realm",
        "Check the realm and krb5.conf ($KRB5_CONFIG): the KDC of the realm must be named there "
        "and must answer.",
    ),
    (
        r"client .*not found",
        "The KDC does not know `principal` of Kerberos: check its name, or let the administrator "
        "export the keytab again.",
    ),
    (
        r"password has expired|keytab",
        "The KDC refuses `principal` of Kerberos with this keytab: let the administrator export "
        "the keytab again.",
    ),
)


def kerberos_advice(reason: str) -> str:
    """Return what to do about an error of the Kerberos library, by its text."""
    for pattern, advice in _KERBEROS_ADVICE:
        if re.search(pattern, reason, re.IGNORECASE):
            return advice
    return "See `klist`, and krb5.conf; KRB5_TRACE=/dev/stderr shows what the library does."
