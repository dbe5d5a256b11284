"""Connections to the metastore: addresses, fail-over, and calls that are repeated."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import urlsplit

from tenacity import (
    Retrying,
    retry_if_exception_type,
    stop_after_attempt,
    wait_exponential,
    wait_random,
)
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from hiveacid.errors import InvalidSettingError, MetastoreUnavailableError
from hiveacid.metastore.errors import CONNECTION_ERRORS, translate, unavailable
from hiveacid.metastore.thrift import ThriftMetastore

DEFAULT_PORT = 9083
"""Port of a metastore whose address names none (Hive's `metastore.thrift.port`)."""

_EXPECTED_ADDRESS = (
    f"Write it as thrift://host:port, e.g. thrift://metastore.example.com:{DEFAULT_PORT}."
)
T = TypeVar("T")
ATTEMPTS = 3
"""Tries of a call that is safe to repeat, when the connection fails."""


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
            "comma-separated."
        )
    return addresses


def _parse_address(uri: str) -> Address:
    try:
        parts = urlsplit(uri)
        port = parts.port
    except ValueError as error:
        raise InvalidSettingError(
            f"Not a metastore address: {uri!r} ({error}). {_EXPECTED_ADDRESS}"
        ) from error
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username
    if parts.scheme != "thrift" or not parts.hostname or extra:
        raise InvalidSettingError(f"Not a metastore address: {uri!r}. {_EXPECTED_ADDRESS}")
    return Address(parts.hostname, DEFAULT_PORT if port is None else port)


@dataclass(frozen=True)
class Connection:
    """An open connection to one metastore."""

    address: Address
    calls: ThriftMetastore
    _transport: TBufferedTransport

    def close(self) -> None:
        """Close the socket; never raises."""
        self._transport.close()


def connect(
    addresses: tuple[Address, ...], connect_timeout: float, read_timeout: float
) -> Connection:
    """Connect to the first of `addresses` that accepts, in their order.

    Timeouts are in seconds: `connect_timeout` for each address, `read_timeout` for each wait for
    an answer. Raises `MetastoreUnavailableError`, which says for each address why it failed.
    """
    failures = []
    for address in addresses:
        try:
            return _open(address, connect_timeout, read_timeout)
        except OSError as error:
            failures.append(f"  {address}: {_reason(error, connect_timeout)}")
    raise MetastoreUnavailableError(
        "Could not connect to the Hive metastore. Tried:\n"
        + "\n".join(failures)
        + "\nCheck metastore_uri, and that the metastore is running."
    )


def _open(address: Address, connect_timeout: float, read_timeout: float) -> Connection:
    # Not TSocket.open: it logs to the root logger and hides the reason of a failure.
    handle = socket.create_connection((address.host, address.port), timeout=connect_timeout)
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    thrift_socket = TSocket(address.host, address.port)
    thrift_socket.setHandle(handle)
    thrift_socket.setTimeout(read_timeout * 1000)
    transport = TBufferedTransport(thrift_socket)
    return Connection(address, ThriftMetastore(TBinaryProtocolAccelerated(transport)), transport)


def _reason(error: OSError, connect_timeout: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {connect_timeout:g} s"
    if isinstance(error, socket.gaierror):
        return f"unknown host ({error.strerror})"
    return error.strerror or str(error)


class Channel:
    """One connection, opened at the first call and opened again when it breaks.

    Threads may share a channel: a lock lets one call through at a time. A call that must not
    wait behind another one, such as a heartbeat, gets a channel of its own.
    """

    def __init__(
        self, addresses: tuple[Address, ...], connect_timeout: float, read_timeout: float
    ) -> None:
        """Timeouts are in seconds: see `connect`."""
        self._addresses = addresses
        self._connect_timeout = connect_timeout
        self._read_timeout = read_timeout
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._in_call = False

    def wait_at_most(self, seconds: float) -> None:
        """Lower the timeouts to `seconds`, from the next connection on."""
        with self._lock:
            self._connect_timeout = min(self._connect_timeout, seconds)
            self._read_timeout = min(self._read_timeout, seconds)

    def close(self) -> None:
        """Close the connection; a later call opens a new one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    def repeatable(self, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        """Make a call; if the connection fails make it again, and at another address.

        `call` and `subject`, e.g. `table shop.orders`, are for error messages. Raises
        `MetastoreUnavailableError` after `ATTEMPTS` failures, and the errors of `translate`.
        """
        retrying = Retrying(
            stop=stop_after_attempt(ATTEMPTS),
            wait=wait_exponential(multiplier=0.1, max=2.0) + wait_random(0, 0.1),
            retry=retry_if_exception_type(MetastoreUnavailableError),
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
            if self._connection is None:
                self._connection = connect(
                    self._addresses, self._connect_timeout, self._read_timeout
                )
            connection = self._connection
            self._in_call = True
            in_step = False
            try:
                result = run(connection.calls)
                in_step = True
                return result
            except CONNECTION_ERRORS as error:
                self._put_last(connection.address)
                raise unavailable(call, subject, connection.address, error) from error
            except TException as error:
                in_step = True
                raise translate(call, subject, error) from error
            finally:
                self._in_call = False
                if not in_step:
                    # Interrupted between request and answer: the next call would read this answer.
                    self.close()

    def _put_last(self, address: Address) -> None:
        """Try other addresses first: a server that hangs accepts connections all the same."""
        others = (other for other in self._addresses if other != address)
        self._addresses = (*others, address)
