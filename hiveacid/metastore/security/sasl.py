"""SASL on a Thrift connection: the negotiation, and the frames that follow it.

The form is that of Thrift's `TSaslTransport`: each message of the negotiation has a status byte and
a length of four bytes; afterwards a whole Thrift message goes into one frame with its length.
"""

from __future__ import annotations

import selectors
import struct
from collections.abc import Callable
from io import BytesIO
from typing import Protocol

from thrift.transport.TSocket import TSocket
from thrift.transport.TTransport import CReadableTransport, TTransportBase

from hiveacid.metastore.security.failures import (
    CHECK_PROXIES,
    HandshakeError,
    describe_other_protocol,
)

_START, _OK, _BAD, _ERROR, _COMPLETE = range(1, 6)
_MOST_NEGOTIATED = 1 << 20
"""Limit of a negotiation's message in bytes; above it, the other side does not speak SASL."""


_MOST_IN_A_FRAME = (1 << 31) - 1
"""Limit of a frame in bytes: its length is a signed number of four bytes."""


class Mechanism(Protocol):
    """A SASL mechanism: it authenticates the client, and protects the messages afterwards."""

    name: str
    """The mechanism's name on the wire."""

    @property
    def is_complete(self) -> bool:
        """Whether the client's part is done."""

    @property
    def user(self) -> str | None:
        """The client's user at the metastore; None if only the metastore knows."""

    @property
    def protection(self) -> str:
        """Quality of protection: `auth`, `auth-int` or `auth-conf`."""

    def start(self) -> bytes:
        """Return the first response. Raises `HandshakeError`."""

    def respond(self, challenge: bytes) -> bytes:
        """Return the response to a challenge. Raises `HandshakeError`."""

    def wrap(self, message: bytes) -> bytes:
        """Sign or encrypt a message, as `protection` says."""

    def unwrap(self, message: bytes) -> bytes:
        """Verify and decrypt a message. Raises `HandshakeError`."""

    def explain_refusal(self, reason: str) -> str:
        """Return what to do about the metastore's refusal of the client."""

    def close(self) -> None:
        """Release what the mechanism holds."""


class PlainMechanism:
    """User and password, sent in clear text."""

    name = "PLAIN"
    is_complete = True
    protection = "auth"

    def __init__(self, user: str, password: str) -> None:
        self.user = user
        self._password = password

    def start(self) -> bytes:
        """Return user and password, without another user to act as (RFC 4616's `authzid`)."""
        return f"\0{self.user}\0{self._password}".encode()

    def respond(self, challenge: bytes) -> bytes:
        """Return nothing: the first response has everything."""
        return b""

    def wrap(self, message: bytes) -> bytes:
        """Return the message as it is."""
        return message

    def unwrap(self, message: bytes) -> bytes:
        """Return the message as it is."""
        return message

    def explain_refusal(self, reason: str) -> str:
        """Return what to do about a wrong password."""
        return "Check user and password."

    def close(self) -> None:
        """Hold nothing."""


class SaslTransport(TTransportBase, CReadableTransport):
    """Thrift transport in SASL frames. `negotiate` must come first."""

    def __init__(self, socket: TSocket, mechanism: Mechanism) -> None:
        self._socket = socket
        self._mechanism = mechanism
        self._to_write = BytesIO()
        self._read = BytesIO()

    def negotiate(self, wait: float, on_silence: Callable[[], None]) -> None:
        """Authenticate the client.

        Args:
            wait: seconds to wait for the first answer before `on_silence` is called.
            on_silence: may find out why there is no answer, and raise; if it returns, the wait
                continues.

        Raises:
            HandshakeError: the metastore refuses the client, or speaks no SASL.
            OSError, TTransportException: the connection broke.
        """
        mechanism = self._mechanism
        first = mechanism.start()
        self._send(_START, mechanism.name.encode())
        self._send(_COMPLETE if mechanism.is_complete else _OK, first)
        if not self._is_answered(wait):
            on_silence()
        while True:
            status, payload = self._receive()
            if status == _COMPLETE:
                if not mechanism.is_complete:
                    mechanism.respond(payload)
                if not mechanism.is_complete:
                    raise HandshakeError(
                        f"it ended the {mechanism.name} login before it had proved its identity",
                        CHECK_PROXIES,
                    )
                return
            answer = mechanism.respond(payload)
            self._send(_COMPLETE if mechanism.is_complete else _OK, answer)

    def _is_answered(self, wait: float) -> bool:
        with selectors.DefaultSelector() as selector:
            selector.register(self._socket.handle, selectors.EVENT_READ)
            return bool(selector.select(wait))

    def _send(self, status: int, payload: bytes) -> None:
        self._socket.write(struct.pack(">BI", status, len(payload)) + payload)
        self._socket.flush()

    def _receive(self) -> tuple[int, bytes]:
        header = self._socket.readAll(5)
        status, length = struct.unpack(">BI", header)
        if status not in (_OK, _BAD, _ERROR, _COMPLETE) or length > _MOST_NEGOTIATED:
            spoken = describe_other_protocol(header) or "something else"
            raise HandshakeError(
                f"it does not answer in SASL, it speaks {spoken}",
                "Set `security` to what the metastore speaks.",
            )
        payload = self._socket.readAll(length)
        if status in (_BAD, _ERROR):
            reason = payload.decode("utf-8", "replace").strip() or "no reason given"
            raise HandshakeError(
                f"it refused the {self._mechanism.name} login: {reason}",
                self._mechanism.explain_refusal(reason),
            )
        return status, payload

    # Methods of a Thrift transport.

    def isOpen(self) -> bool:
        """Whether the socket is open."""
        return bool(self._socket.isOpen())

    def close(self) -> None:
        """Close the socket and forget the keys."""
        self._socket.close()
        self._mechanism.close()

    def read(self, size: int) -> bytes:
        """Return up to `size` bytes of the current frame, or of the next one.

        Raises:
            HandshakeError: the bytes are no frame, or a message was changed on its way.
        """
        found = self._read.read(size)
        if not found and size:
            self._read_frame()
            found = self._read.read(size)
        return found

    def write(self, data: bytes) -> None:
        """Keep bytes of a message until `flush`."""
        self._to_write.write(data)

    def flush(self) -> None:
        """Send the message in one frame."""
        message = self._mechanism.wrap(self._to_write.getvalue())
        self._to_write = BytesIO()
        self._socket.write(struct.pack(">I", len(message)) + message)
        self._socket.flush()

    @property
    def cstringio_buf(self) -> BytesIO:
        """The current frame, for thrift's decoder in C."""
        return self._read

    def cstringio_refill(self, partialread: bytes, reqlen: int) -> BytesIO:
        """Read frames until `reqlen` bytes are there, for thrift's decoder in C."""
        while len(partialread) < reqlen:
            self._read_frame()
            partialread += self._read.getvalue()
        self._read = BytesIO(partialread)
        return self._read

    def _read_frame(self) -> None:
        header = self._socket.readAll(4)
        (length,) = struct.unpack(">I", header)
        if length > _MOST_IN_A_FRAME:
            raise HandshakeError(
                f"after the login it sent {header.hex()} in place of the length of an answer",
                CHECK_PROXIES,
            )
        self._read = BytesIO(self._mechanism.unwrap(self._socket.readAll(length)))
