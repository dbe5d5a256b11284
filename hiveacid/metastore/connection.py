"""Connections to the metastore: addresses, fail-over and retries."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from tenacity import (
    Retrying,
    retry_if_exception,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)
from thrift.Thrift import TException
from thrift.transport.TTransport import TBufferedTransport, TTransportException

from hiveacid.errors import (
    InvalidSettingError,
    MetastoreSecurityError,
    MetastoreUnavailableError,
)
from hiveacid.metastore.errors import CONNECTION_ERRORS, translate, unavailable
from hiveacid.metastore.security.failures import HandshakeError, describe_other_protocol
from hiveacid.metastore.security.login import Opened, open_connection
from hiveacid.metastore.security.settings import NO_SECURITY, Security
from hiveacid.metastore.thrift import ThriftMetastore

logger = logging.getLogger("hiveacid")

DEFAULT_PORT = 9083
"""Port of a metastore whose address names none (Hive's `metastore.thrift.port`)."""

_EXPECTED_ADDRESS = (
    f"Write it as thrift://host:port, e.g. thrift://metastore.example.com:{DEFAULT_PORT}."
)
T = TypeVar("T")
ATTEMPTS = 3
"""Attempts at a call that is safe to repeat, if the connection fails."""


@dataclass(frozen=True)
class Address:
    """Host and port at which a metastore listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


def parse_addresses(uris: str) -> tuple[Address, ...]:
    """Parse `uris`: one or several `thrift://host[:port]`, comma-separated.

    Raises `InvalidSettingError` on anything else.
    """
    addresses = tuple(_parse_address(uri.strip()) for uri in uris.split(",") if uri.strip())
    if not addresses:
        raise InvalidSettingError(
            "No metastore address: set metastore_uri to one or several thrift://host:port, "
            "comma-separated.",
            code="HIVEACID_INVALID_METASTORE_URI",
        )
    return addresses


def _parse_address(uri: str) -> Address:
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise InvalidSettingError(
            f"Not a metastore address: {uri!r} ({error}). {_EXPECTED_ADDRESS}",
            code="HIVEACID_INVALID_METASTORE_URI",
        ) from error
    if parts.scheme == "zookeeper":
        raise InvalidSettingError(
            f"Not a metastore address: {uri!r}. Metastores are not looked up in ZooKeeper: name "
            "them, comma-separated, as thrift://host:port; the cluster's ZooKeeper lists them "
            "below /hive_metastore (hive.metastore.service.discovery.mode).",
            code="HIVEACID_INVALID_METASTORE_URI",
        )
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme != "thrift" or not parts.hostname or extra:
        raise InvalidSettingError(
            f"Not a metastore address: {uri!r}. {_EXPECTED_ADDRESS}",
            code="HIVEACID_INVALID_METASTORE_URI",
        )
    return Address(parts.hostname, DEFAULT_PORT if port is None else port)


@dataclass(frozen=True)
class Connection:
    """An open connection to one metastore.

    `user` is the client's user at the metastore, None if it is not known. `protocol` describes the
    protocol for people.
    """

    address: Address
    calls: ThriftMetastore
    user: str | None
    protocol: str
    _opened: Opened

    def close(self) -> None:
        """Close the socket; never raises."""
        self._opened.transport.close()

    def other_protocol(self) -> str | None:
        """Return what the server speaks instead of Thrift, by what it has just sent."""
        transport = self._opened.transport
        if not isinstance(transport, TBufferedTransport):
            return None
        return describe_other_protocol(transport.cstringio_buf.getvalue()[:8])


def connect(
    addresses: tuple[Address, ...],
    connect_timeout: float,
    read_timeout: float,
    security: Security = NO_SECURITY,
) -> Connection:
    """Connect to the first of `addresses` that accepts, in their order.

    Timeouts are in seconds: `connect_timeout` for each wait until a connection stands,
    `read_timeout` for each wait for an answer.

    Raises:
        MetastoreSecurityError: a login or a handshake failed, and no other address has accepted.
        MetastoreUnavailableError: no address answers. Both errors say why each address failed.
    """
    failures, advice = [], []
    for address in addresses:
        try:
            opened = open_connection(
                address.host, address.port, security, connect_timeout, read_timeout
            )
            return Connection(address, opened.calls, opened.user, opened.protocol, opened)
        except HandshakeError as error:
            failures.append(f"  {address}: {error.reason}")
            advice.append(error.advice)
        except (OSError, TTransportException) as error:
            failures.append(f"  {address}: {_reason(error, connect_timeout)}")
    tried = "\n".join(failures)
    if advice:
        told = "\n".join(dict.fromkeys(advice))
        raise MetastoreSecurityError(
            f"Could not connect to the Hive metastore. Tried:\n{tried}\n{told}"
        )
    raise MetastoreUnavailableError(
        f"Could not connect to the Hive metastore. Tried:\n{tried}\n"
        "Check metastore_uri, and that the metastore is running."
    )


def _reason(error: Exception, connect_timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {connect_timeout:g} s"
    if isinstance(error, socket.gaierror):
        return f"unknown host ({error.strerror})"
    return getattr(error, "strerror", None) or str(error)


class Channel:
    """One connection, opened at the first call and opened again when it breaks.

    Threads may share a channel: a lock lets one call through at a time. A call that must not
    wait behind another one, such as a heartbeat, gets a channel of its own.
    """

    def __init__(
        self,
        addresses: tuple[Address, ...],
        connect_timeout: float,
        read_timeout: float,
        security: Security = NO_SECURITY,
    ) -> None:
        """Timeouts are in seconds: see `connect`."""
        self._addresses = addresses
        self._security = security
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._in_call = False
        self._last: Address | None = None
        self._failure = "it closed the connection"
        self._has_answered = False

    def wait_at_most(self, seconds: float) -> None:
        """Lower the timeouts to `seconds`, from the next connection on."""
        with self._lock:
            self._connect_timeout = min(self._connect_timeout, seconds)
            self._read_timeout = min(self._read_timeout, seconds)

    def connection(self) -> Connection:
        """Return the open connection; open one if there is none. Raises as `connect`."""
        with self._lock:
            if self._connection is None:
                self._connection = connect(
                    self._addresses, self._connect_timeout, self._read_timeout, self._security
                )
                self._log_move(self._connection.address)
            return self._connection

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def repeatable(self, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        """Make a call; if the connection fails, retry it, at the other addresses too.

        `call` and `subject`, e.g. `table shop.orders`, are for error messages.

        Raises:
            MetastoreSecurityError: the login was refused, which is not retried.
            MetastoreUnavailableError: the connection has failed `ATTEMPTS` times.
            HiveAcidError: the errors of `translate`.
        """
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(multiplier=0.1, max=2.0) + wait_random(0, 0.1),
            retry=retry_if_exception(_may_pass),
            reraise=True,
        )
        return retrying(self.once, call, subject, run)

    def once(self, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        """Make a call that must not be repeated: the metastore may have carried it out."""
        with self._lock:
            if self._in_call:
                # A signal handler of this thread has interrupted a call: its connection still
                # carries that call's answer.
                self.close()
            connection = self.connection()
            self._in_call = True
            in_step = False
            try:
                result = run(connection.calls)
                in_step = self._has_answered = True
                return result
            except CONNECTION_ERRORS as error:
                self._put_last(connection.address)
                protocol = None if self._has_answered else connection.other_protocol()
                failure = unavailable(call, subject, connection.address, error, protocol)
                self._failure = failure.message
                raise failure from error
            except TException as error:
                in_step = self._has_answered = True
                raise translate(call, subject, error) from error
            finally:
                self._in_call = False
                if not in_step:
                    # Interrupted between request and answer: the next call would read this answer.
                    self.close()

    def _put_last(self, address: Address) -> None:
        """Try other addresses first from now on: a server that hangs still accepts connections."""
        others = (other for other in self._addresses if other != address)
        self._addresses = (*others, address)

    def _log_move(self, address: Address) -> None:
        if self._last not in (None, address):
            logger.warning(
                "[HIVEACID_WARN_METASTORE_SWITCHED] "
                f"The metastore is now asked at {address}, no longer at {self._last}: "
                f"{self._failure}"
            )
        self._last = address


def _may_pass(error: BaseException) -> bool:
    """Whether a retry may succeed: a login that was refused is refused again."""
    return isinstance(error, MetastoreUnavailableError) and not isinstance(
        error, MetastoreSecurityError
    )
