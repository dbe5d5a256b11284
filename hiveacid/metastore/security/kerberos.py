"""SASL mechanism GSSAPI with Kerberos (RFC 4752)."""

from __future__ import annotations

import hashlib
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from hiveacid.metastore.security.failures import HandshakeError
from hiveacid.metastore.security.gssapi import Context, Credentials, Name
from hiveacid.metastore.security.keytabs import check_keytab
from hiveacid.metastore.security.settings import Kerberos

logger = logging.getLogger("hiveacid")

_SLOW = 5.0
"""Seconds without an answer of a KDC after which a warning is logged.

The system's library tries each KDC of krb5.conf several times, and waits up to 10 s for a KDC that
has accepted a connection. A timeout of ours would come before the next KDC's turn."""

_LAYERS = {4: "auth-conf", 2: "auth-int", 1: "auth"}
"""Layers that a server may offer, the strongest first, and their names in SASL."""

_NAME_LIVES = 30.0
"""Seconds for which a canonical name is kept, as by Java (`networkaddress.cache.ttl`)."""

_MOST_RECEIVED = b"\xff\xff\xff"


class KerberosMechanism:
    """A login by a ticket; takes the strongest protection that the server offers."""

    name = "GSSAPI"

    def __init__(self, settings: Kerberos, host: str) -> None:
        """Find the client's ticket or keys. `host` is the one in the metastore's address.

        Raises:
            HandshakeError: there is no Kerberos library, no keytab, or no ticket.
        """
        with _warned_if_slow():
            self._credentials = _credentials(settings)
            principal = server_principal(settings, host)
        self._server = principal or f"{settings.service_name}/{host}"
        self._names_host = principal != settings.server_principal
        self._target = _target(settings, host, principal)
        self._context = Context(self._target, self._credentials)
        self._layer: int | None = None
        self._user: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether the layer is chosen, which ends the client's part."""
        return self._layer is not None

    @property
    def user(self) -> str | None:
        """The principal of the client."""
        return self._user

    @property
    def protection(self) -> str:
        """The layer that was chosen."""
        return _LAYERS[self._layer or 1]

    def start(self) -> bytes:
        """Return the ticket for the metastore."""
        with _warned_if_slow():
            try:
                return self._context.step(b"")
            except HandshakeError as error:
                if not self._names_host:
                    raise
                reason = f"{error.reason} (the metastore's principal, by _HOST: {self._server})"
                raise HandshakeError(reason, error.advice) from error

    def respond(self, challenge: bytes) -> bytes:
        """Authenticate the metastore, then choose a layer."""
        if not self._context.is_complete:
            return self._context.step(challenge)
        offer = self._context.unwrap(challenge)
        layer = next((layer for layer in _LAYERS if offer and offer[0] & layer), None)
        if layer is None:
            raise HandshakeError(
                "it offers no protection that SASL knows",
                "Check hadoop.rpc.protection in the metastore's core-site.xml.",
            )
        self._user = self._context.client
        answer = bytes([layer]) + (_MOST_RECEIVED if layer > 1 else b"\0\0\0")
        wrapped = self._context.wrap(answer, encrypt=False)
        self._layer = layer
        return wrapped

    def wrap(self, message: bytes) -> bytes:
        """Sign or encrypt a message, as the chosen layer asks."""
        if self._layer == 1:
            return message
        return self._context.wrap(message, encrypt=self._layer == 4)

    def unwrap(self, message: bytes) -> bytes:
        """Verify or decrypt a message, as the chosen layer asks."""
        if self._layer == 1:
            return message
        return self._context.unwrap(message, encrypted=self._layer == 4)

    def explain_refusal(self, reason: str) -> str:
        """Return what to do about a server that does not accept the ticket."""
        return (
            f"The ticket for {self._server} is not for this metastore, or the clocks differ: set "
            "Kerberos(server_principal=…) to hive.metastore.kerberos.principal of the metastore's "
            "hive-site.xml. Its log has the reason."
        )

    def close(self) -> None:
        """Release what the Kerberos library holds; the tickets of a keytab stay in memory."""
        self._context.release()
        self._target.release()
        if self._credentials is not None:
            self._credentials.release()


@contextmanager
def _warned_if_slow() -> Iterator[None]:
    """Log a warning if a call of the Kerberos library takes longer than `_SLOW`."""
    timer = threading.Timer(_SLOW, _warn_of_silence)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _warn_of_silence() -> None:
    logger.warning(
        f"[HIVEACID_WARN_KERBEROS_WAITS] Kerberos has not answered for {_SLOW:g} s. The "
        "system's library tries the KDCs that krb5.conf ($KRB5_CONFIG) names for the realm, "
        "for up to a minute. Check that they are running, that no firewall drops packets to "
        "port 88, and that host names are looked up quickly."
    )


def server_principal(settings: Kerberos, host: str) -> str | None:
    """Return the metastore's principal if the settings name it, with its host for `_HOST`.

    As in Hive's own client (Hadoop's `SecurityUtil.getServerPrincipal`): `_HOST` between `/` and
    `@` stands for the canonical name of the host, in lower case.
    """
    parts = re.split("[/@]", settings.server_principal or "")
    if len(parts) != 3 or parts[1] != "_HOST":
        return settings.server_principal
    return f"{parts[0]}/{canonical_name(host).lower()}@{parts[2]}"


def canonical_name(host: str) -> str:
    """Return the host's canonical name, as Java's `InetAddress.getCanonicalHostName`.

    It is the name to which the host's first address leads back, if this name has the address. Else
    it is the host as it was given; Java would take the address, which no principal has.
    """
    try:
        return _look_up(host, time.monotonic() // _NAME_LIVES)
    except (OSError, UnicodeError):
        return host


@lru_cache(maxsize=64)
def _look_up(host: str, period: float) -> str:
    """See `canonical_name`; names are kept for a `period`.

    Raises:
        OSError, UnicodeError: the host, its address or its name cannot be looked up.
    """
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    # As Java, IPv4 first.
    address = min(found, key=lambda it: it[0] != socket.AF_INET)[4]
    name = socket.getnameinfo(address, socket.NI_NAMEREQD)[0]
    back = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return name if address[0] in {it[4][0] for it in back} else host


def _target(settings: Kerberos, host: str, principal: str | None) -> Name:
    if principal is not None:
        return Name(principal, of_principal=True)
    return Name(f"{settings.service_name}@{host}", of_principal=False)


def _credentials(settings: Kerberos) -> Credentials | None:
    if settings.keytab is None or settings.principal is None:
        return None
    check_keytab(settings.keytab, settings.principal)
    # One cache for all connections, so that they share the tickets.
    key = hashlib.sha256(f"{settings.keytab}\0{settings.principal}".encode()).hexdigest()[:16]
    return Credentials(settings.principal, settings.keytab, f"MEMORY:hiveacid-{key}")
