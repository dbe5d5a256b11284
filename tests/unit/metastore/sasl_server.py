"""The server's side of SASL on Thrift, from RFC 2831 and RFC 4616; nothing of it is the client's.

RC4 is checked by its published test vectors in test_security.py.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import socket
import struct
from io import BytesIO
from typing import Any

from thrift.transport.TTransport import TTransportBase

START, OK, BAD, ERROR, COMPLETE = 1, 2, 3, 4, 5


def read_exactly(handle: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = handle.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def receive(handle: socket.socket) -> tuple[int, bytes]:
    status, length = struct.unpack(">BI", read_exactly(handle, 5))
    if status not in range(1, 6):
        send(handle, ERROR, f"Invalid status {status - 256}".encode())
        raise ValueError(status)
    return status, read_exactly(handle, length)


def send(handle: socket.socket, status: int, payload: bytes = b"") -> None:
    handle.sendall(struct.pack(">BI", status, len(payload)) + payload)


class Frames(TTransportBase):
    """Frames after the login, each opened and protected by a layer."""

    def __init__(self, handle: socket.socket, layer: Any = None) -> None:
        self.handle, self.layer = handle, layer
        self.incoming, self.outgoing = BytesIO(), BytesIO()

    def isOpen(self) -> bool:
        return True

    def close(self) -> None:
        self.handle.close()

    def read(self, size: int) -> bytes:
        found = self.incoming.read(size)
        if not found:
            (length,) = struct.unpack(">I", read_exactly(self.handle, 4))
            frame = read_exactly(self.handle, length)
            self.incoming = BytesIO(self.layer.open(frame) if self.layer else frame)
            found = self.incoming.read(size)
        return found

    def write(self, data: bytes) -> None:
        self.outgoing.write(data)

    def flush(self) -> None:
        message, self.outgoing = self.outgoing.getvalue(), BytesIO()
        message = self.layer.protect(message) if self.layer else message
        self.handle.sendall(struct.pack(">I", len(message)) + message)


def plain(handle: socket.socket, passwords: dict[str, str]) -> Frames:
    status, mechanism = receive(handle)
    assert (status, mechanism) == (START, b"PLAIN")
    _, response = receive(handle)
    _, user, password = response.split(b"\0")
    if passwords.get(user.decode()) != password.decode():
        send(handle, BAD, b"Error validating the login")
        raise ValueError("wrong password")
    send(handle, COMPLETE)
    return Frames(handle)


def md5(data: bytes) -> bytes:
    return hashlib.md5(data).digest()


class Layer:
    """auth-int and auth-conf as the server sees them: it opens the client's, protects its own."""

    def __init__(self, session: bytes, encrypted: bool) -> None:
        sign, seal = (
            "Digest session key to %s signing key magic constant",
            ("Digest H(A1) to %s sealing key magic constant"),
        )
        client, server = "client-to-server", "server-to-client"
        self.open_key = md5(session + (sign % client).encode())
        self.protect_key = md5(session + (sign % server).encode())
        self.opener = rc4(md5(session + (seal % client).encode())) if encrypted else None
        self.protector = rc4(md5(session + (seal % server).encode())) if encrypted else None
        self.opened = self.protected = 0

    def open(self, frame: bytes) -> bytes:
        sealed, kind, number = frame[:-6], frame[-6:-4], frame[-4:]
        assert kind == b"\x00\x01" and number == struct.pack(">I", self.opened)
        self.opened += 1
        text = xor(sealed, self.opener) if self.opener else sealed
        mac = hmac.new(self.open_key, number + text[:-10], "md5").digest()[:10]
        assert text[-10:] == mac
        return text[:-10]

    def protect(self, message: bytes) -> bytes:
        number = struct.pack(">I", self.protected)
        self.protected += 1
        text = message + hmac.new(self.protect_key, number + message, "md5").digest()[:10]
        return (xor(text, self.protector) if self.protector else text) + b"\x00\x01" + number


def rc4(key: bytes):
    s = list(range(256))
    j = 0
    for i in range(256):
        j = (j + s[i] + key[i % len(key)]) % 256
        s[i], s[j] = s[j], s[i]
    i = j = 0
    while True:
        i = (i + 1) % 256
        j = (j + s[i]) % 256
        s[i], s[j] = s[j], s[i]
        yield s[(s[i] + s[j]) % 256]


def xor(data: bytes, stream: Any) -> bytes:
    return bytes(byte ^ next(stream) for byte in data)


def digest(handle: socket.socket, passwords: dict[str, str], qop: str = "auth-conf") -> Frames:
    status, mechanism = receive(handle)
    assert (status, mechanism) == (START, b"DIGEST-MD5")
    assert receive(handle) == (OK, b"")
    nonce = "OA6MG9tEQGm2hh"
    send(
        handle,
        OK,
        f'realm="default",nonce="{nonce}",charset=utf-8,algorithm=md5-sess,qop="{qop}",'
        'cipher="3des,rc4"'.encode(),
    )
    _, response = receive(handle)
    given = {
        name: quoted or bare
        for name, quoted, bare in re.findall(r'([\w-]+)=(?:"([^"]*)"|([^,]*))', response.decode())
    }
    assert given["digest-uri"] == "null/default" and given["nonce"] == nonce
    assert given["qop"] == qop.split(",")[0]
    password = passwords.get(given["username"], "nobody knows")
    session = md5(
        md5(f"{given['username']}:default:{password}".encode())
        + f":{nonce}:{given['cnonce']}".encode()
    )
    body = "" if given["qop"] == "auth" else ":" + "0" * 32

    def proof(method: str) -> str:
        parts = [session.hex(), nonce, given["nc"], given["cnonce"], given["qop"]]
        parts.append(md5(f"{method}:null/default{body}".encode()).hex())
        return md5(":".join(parts).encode()).hex()

    if given["response"] != proof("AUTHENTICATE"):
        send(handle, ERROR, b"DIGEST-MD5: digest response format violation. Mismatched response.")
        raise ValueError("wrong password")
    send(handle, COMPLETE, f"rspauth={proof('')}".encode())
    if given["qop"] == "auth":
        return Frames(handle)
    return Frames(handle, Layer(session, given["qop"] == "auth-conf"))
