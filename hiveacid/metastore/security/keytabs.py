"""Principals of a keytab, for errors: of a wrong keytab GSSAPI only says "no credentials"."""

from __future__ import annotations

import struct
from pathlib import Path

from hiveacid.formatting import first_few
from hiveacid.metastore.security.failures import HandshakeError

_SHOWN = 5
_MAGIC = b"\x05\x02"


def check_keytab(path: str, principal: str) -> None:
    """Check that a keytab can be read and has keys of a principal.

    Raises:
        HandshakeError: the file cannot be read, is not a keytab, or has no key of the principal.
    """
    try:
        principals = principals_of(Path(path).read_bytes())
    except OSError as error:
        raise HandshakeError(
            f"the keytab {path} cannot be read: {error.strerror}",
            "Check `keytab` of Kerberos, and that the user of this process may read the file.",
        ) from error
    except (ValueError, struct.error) as error:
        raise HandshakeError(
            f"{path} is not a keytab",
            "Check `keytab` of Kerberos, or let the administrator export the keytab again.",
        ) from error
    if not any(found in (principal, f"{principal}@{_realm(found)}") for found in principals):
        named = first_few(principals, _SHOWN, ", ") or "no principal"
        raise HandshakeError(
            f"the keytab {path} has no key of {principal}; it has keys of {named}",
            "Set `principal` of Kerberos to a principal of the keytab.",
        )


def principals_of(keytab: bytes) -> list[str]:
    """Return the principals of a keytab, each once (format of MIT's krb5, version 2).

    Raises:
        ValueError, struct.error: it is not a keytab.
    """
    if not keytab.startswith(_MAGIC):
        raise ValueError("not a keytab")
    principals: dict[str, None] = {}
    at = len(_MAGIC)
    while at < len(keytab):
        (length,) = struct.unpack_from(">i", keytab, at)
        at += 4
        if length > 0:
            principals[_principal_of(keytab[at : at + length])] = None
        # A deleted entry has a negative length.
        at += abs(length)
    return list(principals)


def _principal_of(entry: bytes) -> str:
    (count,) = struct.unpack_from(">H", entry)
    at, parts = 2, []
    for _ in range(count + 1):
        (length,) = struct.unpack_from(">H", entry, at)
        parts.append(entry[at + 2 : at + 2 + length].decode("utf-8", "replace"))
        at += 2 + length
    realm, *components = parts
    return f"{'/'.join(components)}@{realm}"


def _realm(principal: str) -> str:
    return principal.rpartition("@")[2]
