"""The system's GSSAPI library (MIT's libgssapi_krb5) through ctypes.

No package has to be built, keytabs work in memory, and the library is there wherever git or a JRE
is. It is loaded only if Kerberos is used. RFC 2743 and 2744 describe the calls.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_uint32, c_void_p
from functools import cache
from typing import Any

from hiveacid.metastore.security.failures import CHECK_PROXIES, HandshakeError, kerberos_advice

_LIBRARY = "libgssapi_krb5.so.2"

_CONTINUE_NEEDED = 1
_OUT_OF_ORDER = 2 | 4 | 8 | 16
"""Bits of a status: the message came twice, too late, or not after the one before it."""

_ERRORS = 0xFFFF0000
"""Bits of a status that are an error; the others are information."""

_MUTUAL, _REPLAY, _SEQUENCE, _CONF, _INTEG = 2, 4, 8, 16, 32
_FLAGS = _MUTUAL | _REPLAY | _SEQUENCE | _CONF | _INTEG
_INITIATE = 1
_OF_GSSAPI, _OF_MECHANISM = 1, 2


class _Oid(ctypes.Structure):
    _fields_ = [("length", c_uint32), ("elements", c_char_p)]


class _OidSet(ctypes.Structure):
    _fields_ = [("count", c_size_t), ("elements", POINTER(_Oid))]


class _Buffer(ctypes.Structure):
    _fields_ = [("length", c_size_t), ("value", c_void_p)]


class _KeyValue(ctypes.Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class _KeyValueSet(ctypes.Structure):
    _fields_ = [("count", c_uint32), ("elements", POINTER(_KeyValue))]


def _oid(elements: bytes) -> _Oid:
    return _Oid(len(elements), elements)


_KRB5 = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02")
_HOSTBASED_SERVICE = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x01\x04")
_PRINCIPAL_NAME = _oid(b"\x2a\x86\x48\x86\xf7\x12\x01\x02\x02\x01")

_STATUS = POINTER(c_uint32)
_IN_OUT = POINTER(_Buffer)
_HANDLE = POINTER(c_void_p)
_FUNCTIONS: dict[str, list[Any]] = {
    "gss_import_name": [_STATUS, _IN_OUT, POINTER(_Oid), _HANDLE],
    "gss_release_name": [_STATUS, _HANDLE],
    "gss_display_name": [_STATUS, c_void_p, _IN_OUT, POINTER(POINTER(_Oid))],
    "gss_display_status": [_STATUS, c_uint32, c_int, POINTER(_Oid), _STATUS, _IN_OUT],
    "gss_release_buffer": [_STATUS, _IN_OUT],
    "gss_acquire_cred_from": [
        *(_STATUS, c_void_p, c_uint32, POINTER(_OidSet), c_int, POINTER(_KeyValueSet), _HANDLE),
        *(c_void_p, c_void_p),
    ],
    "gss_release_cred": [_STATUS, _HANDLE],
    "gss_init_sec_context": [
        *(_STATUS, c_void_p, _HANDLE, c_void_p, POINTER(_Oid), c_uint32, c_uint32, c_void_p),
        *(_IN_OUT, c_void_p, _IN_OUT, _STATUS, _STATUS),
    ],
    "gss_inquire_context": [
        *(_STATUS, c_void_p, _HANDLE, c_void_p, _STATUS, c_void_p, _STATUS, c_void_p, c_void_p),
    ],
    "gss_delete_sec_context": [_STATUS, _HANDLE, c_void_p],
    "gss_wrap": [_STATUS, c_void_p, c_int, c_uint32, _IN_OUT, POINTER(c_int), _IN_OUT],
    "gss_unwrap": [_STATUS, c_void_p, _IN_OUT, _IN_OUT, POINTER(c_int), _STATUS],
}


@cache
def _library() -> Any:
    """Load the library, once.

    Raises:
        HandshakeError: the machine does not have the library.
    """
    for find in (lambda: _LIBRARY, lambda: ctypes.util.find_library("gssapi_krb5")):
        # The second way starts processes (ldconfig, gcc).
        try:
            name = find()
            library = ctypes.CDLL(name) if name else None
            for function, arguments in _FUNCTIONS.items() if library else ():
                getattr(library, function).argtypes = arguments
                getattr(library, function).restype = c_uint32
        except (OSError, AttributeError):
            continue
        if library is not None:
            return library
    raise HandshakeError(
        f"this machine has no {_LIBRARY}, which Kerberos needs",
        "Install the system's package: libgssapi-krb5-2 (Debian, Ubuntu), krb5-libs (RHEL, "
        "Fedora, Alpine).",
    )


def _bytes_in(data: bytes) -> _Buffer:
    # The buffer points into `data`, which the caller keeps until the call has returned.
    return _Buffer(len(data), ctypes.cast(c_char_p(data), c_void_p))


def _bytes_out(buffer: _Buffer) -> bytes:
    data = ctypes.string_at(buffer.value, buffer.length) if buffer.value else b""
    _library().gss_release_buffer(byref(c_uint32()), byref(buffer))
    return data


def _call(function: str, *arguments: Any) -> int:
    """Call a function of the library and return its status.

    Raises:
        HandshakeError: the call failed; the reason is the library's message.
    """
    minor = c_uint32()
    status: int = getattr(_library(), function)(byref(minor), *arguments)
    if status & _ERRORS:
        reason = _words(minor.value, _OF_MECHANISM) or _words(status, _OF_GSSAPI)
        raise HandshakeError(f"Kerberos: {reason}", kerberos_advice(reason))
    return status


def _words(code: int, kind: int) -> str:
    if code == 0:
        return ""
    library, more, text = _library(), c_uint32(), _Buffer()
    library.gss_display_status(
        byref(c_uint32()), code, kind, byref(_KRB5), byref(more), byref(text)
    )
    words = _bytes_out(text).decode("utf-8", "replace").strip()
    return "" if words.startswith("Unknown error") or words == "Success" else words


class Name:
    """Name of a principal or of a service, in the library's form."""

    def __init__(self, text: str, *, of_principal: bool) -> None:
        """`text` is a principal, or `service@host` for a service. Raises `HandshakeError`."""
        self.handle = c_void_p()
        data, kind = text.encode(), _PRINCIPAL_NAME if of_principal else _HOSTBASED_SERVICE
        _call("gss_import_name", byref(_bytes_in(data)), byref(kind), byref(self.handle))

    def release(self) -> None:
        """Free it."""
        _library().gss_release_name(byref(c_uint32()), byref(self.handle))


class Credentials:
    """Keys of a keytab, with their tickets in memory."""

    def __init__(self, principal: str, keytab: str, cache: str) -> None:
        """Take or renew a ticket.

        `cache` is the credential cache with its type, such as `MEMORY:name`. Without a cache of its
        own, the ticket would overwrite the user's.

        Raises:
            HandshakeError: the KDC gives no ticket.
        """
        self.handle = c_void_p()
        name = Name(principal, of_principal=True)
        store = (_KeyValue * 2)(
            _KeyValue(b"client_keytab", f"FILE:{keytab}".encode()),
            _KeyValue(b"ccache", cache.encode()),
        )
        mechanisms = _OidSet(1, ctypes.pointer(_KRB5))
        try:
            _call(
                "gss_acquire_cred_from",
                *(name.handle, 0, byref(mechanisms), _INITIATE),
                *(byref(_KeyValueSet(2, store)), byref(self.handle), None, None),
            )
        finally:
            name.release()

    def release(self) -> None:
        """Free them; the tickets stay in their cache."""
        _library().gss_release_cred(byref(c_uint32()), byref(self.handle))


class Context:
    """A security context between this client and one server."""

    def __init__(self, target: Name, credentials: Credentials | None) -> None:
        """`credentials`: None takes the ticket cache of the process."""
        self._target = target
        self._credentials = credentials
        self._handle = c_void_p()
        self.is_complete = False

    def step(self, token: bytes) -> bytes:
        """Take the server's token and return ours. Raises `HandshakeError`."""
        answer = _Buffer()
        credentials = None if self._credentials is None else self._credentials.handle
        try:
            status = _call(
                "gss_init_sec_context",
                *(credentials, byref(self._handle), self._target.handle, byref(_KRB5), _FLAGS),
                *(0, None, byref(_bytes_in(token)), None, byref(answer), None, None),
            )
        finally:
            data = _bytes_out(answer)
        self.is_complete = not status & _CONTINUE_NEEDED
        return data

    def wrap(self, message: bytes, *, encrypt: bool) -> bytes:
        """Sign a message, and encrypt it if `encrypt`. Raises `HandshakeError`."""
        answer = _Buffer()
        _call(
            "gss_wrap",
            *(self._handle, int(encrypt), 0, byref(_bytes_in(message)), None, byref(answer)),
        )
        return _bytes_out(answer)

    def unwrap(self, message: bytes, *, encrypted: bool = False) -> bytes:
        """Verify and decrypt a message.

        Raises:
            HandshakeError: it was changed, repeated, or not encrypted although `encrypted` is true.
        """
        answer, was_encrypted = _Buffer(), c_int()
        status = _call(
            "gss_unwrap",
            *(self._handle, byref(_bytes_in(message)), byref(answer), byref(was_encrypted), None),
        )
        data = _bytes_out(answer)
        if status & _OUT_OF_ORDER or (encrypted and not was_encrypted.value):
            raise HandshakeError(
                "a message from it was repeated, out of order, or not encrypted",
                CHECK_PROXIES,
            )
        return data

    @property
    def client(self) -> str:
        """The principal of the client. Raises `HandshakeError`."""
        name, text = c_void_p(), _Buffer()
        _call("gss_inquire_context", self._handle, byref(name), None, None, None, None, None, None)
        try:
            _call("gss_display_name", name, byref(text), None)
        finally:
            _library().gss_release_name(byref(c_uint32()), byref(name))
        return _bytes_out(text).decode("utf-8", "replace")

    def release(self) -> None:
        """Forget the keys. May be called again."""
        if self._handle:
            _library().gss_delete_sec_context(byref(c_uint32()), byref(self._handle), None)
