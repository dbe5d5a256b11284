"""SASL mechanism DIGEST-MD5 (RFC 2831), for logins with Hadoop's delegation tokens.

The algorithms are old, but the metastore accepts no others for tokens. Python's `hashlib` has MD5;
RC4, the cipher of `auth-conf`, is implemented here.
"""

from __future__ import annotations

import hmac
import re
import secrets
from hashlib import md5
from typing import Any

from hiveacid.metastore.security.delegation_tokens import Token
from hiveacid.metastore.security.failures import CHECK_PROXIES, HandshakeError

_URI = "null/default"
"""Service and host, as Hive's own client sends them (`SaslRpcServer.SASL_DEFAULT_REALM`)."""

_QOPS = ("auth-conf", "auth-int", "auth")
_CIPHERS = {"rc4": 16, "rc4-56": 7, "rc4-40": 5}
"""Ciphers of this client, the strongest first, and the bytes of the session's hash in their key."""

_DIRECTIVE = re.compile(r'([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^",\s]*))')
_NO_BODY = ":" + "0" * 32
_TYPE = b"\x00\x01"
_MAC_LENGTH = 10
_LARGEST = 1 << 16
_SIGNING = "Digest session key to {} signing key magic constant"
_SEALING = "Digest H(A1) to {} sealing key magic constant"
_SENT, _RECEIVED = "client-to-server", "server-to-client"


class DigestMechanism:
    """A login by a name and a shared secret; the secret itself is not sent."""

    name = "DIGEST-MD5"
    user: str | None = None
    """Unknown: only the metastore knows the owner of the token."""

    def __init__(
        self, username: str, password: str, *, uri: str = _URI, cnonce: str | None = None
    ) -> None:
        """`uri` is `service/host`, `cnonce` an unpredictable text."""
        self._username = username
        self._password = password
        self._uri = uri
        self._cnonce = cnonce or secrets.token_urlsafe(24)
        self._expected: bytes | None = None
        self._qop = "auth"
        self._sent: _Layer | None = None
        self._received: _Layer | None = None
        self.is_complete = False

    @classmethod
    def of(cls, token: Token) -> DigestMechanism:
        """Return the login by a delegation token."""
        return cls(token.user, token.secret)

    @property
    def protection(self) -> str:
        """The quality of protection that was chosen."""
        return self._qop

    def start(self) -> bytes:
        """Return nothing: the server begins."""
        return b""

    def respond(self, challenge: bytes) -> bytes:
        """Answer the server's nonce; then check that it knows the secret, too."""
        directives = {
            name: quoted or plain
            for name, quoted, plain in _DIRECTIVE.findall(challenge.decode("utf-8", "replace"))
        }
        if self._expected is not None:
            if not hmac.compare_digest(directives.get("rspauth", "").encode(), self._expected):
                raise HandshakeError(
                    "it does not know the secret of the delegation token that it accepts",
                    CHECK_PROXIES,
                )
            self.is_complete = True
            return b""
        return self._answer(directives)

    def _answer(self, offered: dict[str, str]) -> bytes:
        nonce, realm = offered.get("nonce", ""), offered.get("realm", "")
        qops = [qop.strip() for qop in (offered.get("qop") or "auth").split(",")]
        ciphers = [cipher.strip() for cipher in offered.get("cipher", "").split(",")]
        cipher = next((cipher for cipher in _CIPHERS if cipher in ciphers), None)
        usable = [q for q in _QOPS if q in qops and (q != "auth-conf" or cipher is not None)]
        if not nonce or not usable:
            raise HandshakeError(
                "it offers no DIGEST-MD5 that this client knows",
                "Check hadoop.rpc.protection in the metastore's core-site.xml.",
            )
        self._qop = usable[0]
        shared = _md5(f"{self._username}:{realm}:{self._password}".encode())
        session = _md5(shared + f":{nonce}:{self._cnonce}".encode())
        self._expected = self._proof(session, nonce, "").encode()
        if self._qop != "auth":
            used = cipher if self._qop == "auth-conf" else None
            self._sent, self._received = (_Layer(session, way, used) for way in (_SENT, _RECEIVED))
        answer = (
            f'charset=utf-8,username="{self._username}",realm="{realm}",nonce="{nonce}",'
            f'nc=00000001,cnonce="{self._cnonce}",digest-uri="{self._uri}",maxbuf={_LARGEST},'
            f"response={self._proof(session, nonce, 'AUTHENTICATE')},qop={self._qop}"
        )
        if self._qop == "auth-conf":
            answer += f',cipher="{cipher}"'
        return answer.encode()

    def _proof(self, session: bytes, nonce: str, method: str) -> str:
        body = "" if self._qop == "auth" else _NO_BODY
        what = _md5(f"{method}:{self._uri}{body}".encode()).hex()
        proof = f"{session.hex()}:{nonce}:00000001:{self._cnonce}:{self._qop}:{what}"
        return _md5(proof.encode()).hex()

    def wrap(self, message: bytes) -> bytes:
        """Sign or encrypt a message, as the chosen layer asks."""
        return message if self._sent is None else self._sent.protect(message)

    def unwrap(self, message: bytes) -> bytes:
        """Verify or decrypt a message, as the chosen layer asks. Raises `HandshakeError`."""
        return message if self._received is None else self._received.open(message)

    def explain_refusal(self, reason: str) -> str:
        """Return what to do about a token that the metastore does not accept."""
        return (
            "The delegation token has expired, was cancelled, or is another metastore's: get a "
            "new one, or use a ticket or a keytab."
        )

    def close(self) -> None:
        """Hold nothing."""


class _Layer:
    """Protection of one direction: a signature of each message, and a cipher over both."""

    def __init__(self, session: bytes, direction: str, cipher: str | None) -> None:
        self._key = _md5(session + _SIGNING.format(direction).encode())
        self._cipher: _Rc4 | None = None
        if cipher is not None:
            hashed = session[: _CIPHERS[cipher]]
            self._cipher = _Rc4(_md5(hashed + _SEALING.format(direction).encode()))
        self._number = 0

    def protect(self, message: bytes) -> bytes:
        number = self._number.to_bytes(4, "big")
        self._number += 1
        text = message + self._signature(number, message)
        return (self._cipher.apply(text) if self._cipher else text) + _TYPE + number

    def open(self, message: bytes) -> bytes:
        number = self._number.to_bytes(4, "big")
        self._number += 1
        text = message[: -len(_TYPE + number)]
        text = self._cipher.apply(text) if self._cipher else text
        body, signature = text[:-_MAC_LENGTH], text[-_MAC_LENGTH:]
        is_next = message.endswith(_TYPE + number)
        if not is_next or not hmac.compare_digest(signature, self._signature(number, body)):
            raise HandshakeError(
                "a message from it was changed on the way",
                CHECK_PROXIES,
            )
        return body

    def _signature(self, number: bytes, message: bytes) -> bytes:
        return hmac.new(self._key, number + message, _md5_object).digest()[:_MAC_LENGTH]


class _Rc4:
    """The stream cipher RC4; its state continues from message to message."""

    def __init__(self, key: bytes) -> None:
        box, j = list(range(256)), 0
        for i in range(256):
            j = (j + box[i] + key[i % len(key)]) & 255
            box[i], box[j] = box[j], box[i]
        self._box, self._i, self._j = box, 0, 0

    def apply(self, data: bytes) -> bytes:
        box, i, j = self._box, self._i, self._j
        stream = bytearray()
        for _ in range(len(data)):
            i = (i + 1) & 255
            a = box[i]
            j = (j + a) & 255
            b = box[j]
            box[i], box[j] = b, a
            stream.append(box[(a + b) & 255])
        self._i, self._j = i, j
        mixed = int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")
        return mixed.to_bytes(len(data), "big")


def _md5_object(data: bytes = b"") -> Any:
    # Without the argument Python refuses MD5 on a machine in FIPS mode.
    return md5(data, usedforsecurity=False)


def _md5(data: bytes) -> bytes:
    return bytes(_md5_object(data).digest())
