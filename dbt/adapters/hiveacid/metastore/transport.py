"""Connections to a metastore: addresses, timeouts, and trying one address after the other."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import TBufferedTransport

from dbt.adapters.hiveacid.exceptions import InvalidSettingError, MetastoreUnavailableError
from dbt.adapters.hiveacid.metastore.thrift_api import ThriftMetastore

DEFAULT_PORT = 9083
"""The port of a metastore whose address names none (Hive's `metastore.thrift.port`)."""

_EXPECTED_ADDRESS = (
    f"Write it as thrift://host:port, e.g. thrift://metastore.example.com:{DEFAULT_PORT}."
)


@dataclass(frozen=True)
class Address:
    """Where a metastore listens."""

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"thrift://{host}:{self.port}"


def parse_addresses(uris: str) -> tuple[Address, ...]:
    """The addresses in `uris`: one or several `thrift://host[:port]`, comma-separated.

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
    an answer. Raises `MetastoreUnavailableError` that says for each address why it failed.
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
        + "\nCheck metastore_uri in the profile and that the metastore is running."
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
