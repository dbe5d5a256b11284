"""Messages that somebody on the way repeats, reorders, or sends in the clear after the login."""

from __future__ import annotations

from ctypes import POINTER, byref, c_uint32, c_void_p

import pytest

from hiveacid.metastore.security import gssapi
from hiveacid.metastore.security.failures import HandshakeError
from integration.support.hive.kdc import CLIENT, SERVER
from integration.support.hive.secured import SecuredHive


class Acceptor:
    """The server's side of a security context, with the keytab that `KRB5_KTNAME` names."""

    def __init__(self) -> None:
        self._library = gssapi._library()
        self._accept = self._library.gss_accept_sec_context
        self._accept.restype = c_uint32
        buffer, handle = POINTER(gssapi._Buffer), POINTER(c_void_p)
        self._accept.argtypes = [
            *(POINTER(c_uint32), handle, c_void_p, buffer, c_void_p, c_void_p, c_void_p, buffer),
            *(c_void_p, c_void_p, c_void_p),
        ]
        self._handle = c_void_p()

    def accept(self, token: bytes) -> bytes:
        """Take the client's ticket and return the answer."""
        answer, given = gssapi._Buffer(), byref(gssapi._bytes_in(token))
        arguments = (byref(self._handle), None, given, None, None, None, byref(answer))
        assert self._accept(byref(c_uint32()), *arguments, None, None, None) == 0
        return gssapi._bytes_out(answer)

    def wrap(self, message: bytes, *, encrypt: bool = True) -> bytes:
        """Protect a message as the server does."""
        answer = gssapi._Buffer()
        given = byref(gssapi._bytes_in(message))
        gssapi._call("gss_wrap", self._handle, int(encrypt), 0, given, None, byref(answer))
        return gssapi._bytes_out(answer)


def test_answers_are_taken_once_and_in_order(
    secured: SecuredHive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5_KTNAME", str(secured.kdc.keytab("hive")))
    credentials = gssapi.Credentials(CLIENT, str(secured.kdc.keytab("dbt")), "MEMORY:replays")
    target, server = gssapi.Name(SERVER, of_principal=True), Acceptor()
    client = gssapi.Context(target, credentials)
    client.step(server.accept(client.step(b"")))
    assert client.is_complete
    old, new, clear, last = (
        *(server.wrap(b"old"), server.wrap(b"new")),
        *(server.wrap(b"clear", encrypt=False), server.wrap(b"last")),
    )
    assert [client.unwrap(sealed, encrypted=True) for sealed in (old, new)] == [b"old", b"new"]
    for sealed in (old, clear):
        with pytest.raises(HandshakeError, match="was repeated, out of order, or not encrypted"):
            client.unwrap(sealed, encrypted=True)
    assert client.unwrap(last, encrypted=True) == b"last"
    for held in (client, target, credentials):
        held.release()
