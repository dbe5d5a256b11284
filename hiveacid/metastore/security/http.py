"""Thrift over HTTP, with a token or a user's name in each request."""

from __future__ import annotations

import base64
import binascii
import http.client
import json
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from thrift.transport.THttpClient import THttpClient
from thrift.transport.TTransport import TTransportException

from hiveacid.metastore.security.failures import HandshakeError
from hiveacid.metastore.security.settings import Jwt, Security, UserName
from hiveacid.metastore.security.tls import tls_context

_ACTOR = "x-actor-username"
"""Header with the user's name, for a metastore that trusts it (`HmsThriftHttpServlet`)."""


class HttpStatusError(TTransportException):
    """An HTTP response that carries no Thrift message."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(message=f"HTTP {code} {reason}".strip())
        self.code = code


class HttpTransport(THttpClient):
    """Thrift's HTTP client that raises for HTTP errors; Thrift's own reads them as an answer."""

    def __init__(
        self, uri: str, headers: Callable[[], Mapping[str, str]], context: ssl.SSLContext | None
    ) -> None:
        """`headers` is called for each request: a token may have been renewed."""
        super().__init__(uri, ssl_context=context)
        self._headers = headers
        if self.using_proxy():
            # A metastore is in the cluster, and a proxy must not see its token.
            there = urlsplit(uri)
            self.host, self.port = there.hostname, there.port
            self.realhost = self.realport = self.proxy_auth = None

    def flush(self) -> None:
        """Send the request and wait for the answer.

        Raises:
            HandshakeError: the token can no longer be read.
            HttpStatusError: the answer carries no Thrift.
            TTransportException: the answer is not HTTP.
        """
        self.setCustomHeaders(self._headers())
        try:
            super().flush()
        except http.client.HTTPException as error:
            raise TTransportException(message=f"not HTTP: {error!r}", inner=error) from error
        if self.code != 200:
            raise HttpStatusError(self.code, self.message)

    def close(self) -> None:
        """Close the connection; harmless when repeated."""
        if self.isOpen():
            super().close()


def http_transport(
    security: Security, host: str, port: int, timeout: float, user: str
) -> HttpTransport:
    """Return a transport for requests to a metastore. Sends none yet.

    `user` is the client's user if the settings have none; `timeout` is in seconds.

    Raises:
        HandshakeError: there is no token, or no usable file of certificates.
    """
    scheme = "http" if security.tls is None else "https"
    shown_host = f"[{host}]" if ":" in host else host
    transport = HttpTransport(
        f"{scheme}://{shown_host}:{port}/{(security.http_path or '').strip('/')}",
        partial(_headers, security, user),
        None if security.tls is None else tls_context(security.tls),
    )
    transport.setTimeout(timeout * 1000)
    # Raises without a usable token, before anything is sent.
    transport.setCustomHeaders(_headers(security, user))
    return transport


def is_listening(host: str, port: int, timeout: float) -> None:
    """Raise OSError unless a server accepts a connection: HTTP connects with its first request."""
    socket.create_connection((host, port), timeout=timeout).close()


def explain_status(error: HttpStatusError, security: Security) -> HandshakeError:
    """Return the error for a metastore that has answered with this status."""
    reason = f"it answers {error.message}"
    if error.code in (401, 403):
        if isinstance(security.auth, Jwt):
            return HandshakeError(
                f"it refused the token: {error.message}{_age(security.auth)}",
                "Get a new token, and check that it is one for this metastore.",
            )
        return HandshakeError(
            reason, "It requires authentication: set `security`, such as Jwt(token)."
        )
    return HandshakeError(
        reason, "Check `http_path` of Security, and that metastore_uri is the metastore's."
    )


def _headers(security: Security, user: str) -> Mapping[str, str]:
    if isinstance(security.auth, Jwt):
        return {"Authorization": f"Bearer {read_jwt(security.auth)}"}
    return {_ACTOR: security.auth.user if isinstance(security.auth, UserName) else user}


def read_jwt(settings: Jwt) -> str:
    """Return the token, read from its file if it has one.

    Raises:
        HandshakeError: the file cannot be read, or has no token.
    """
    if settings.file is None:
        token = settings.token or ""
    else:
        try:
            token = Path(settings.file).read_text(encoding="ascii")
        except (OSError, UnicodeError) as error:
            reason = getattr(error, "strerror", None) or "it is not text"
            raise HandshakeError(
                f"the token in {settings.file} cannot be read: {reason}", "Check `file` of Jwt."
            ) from error
    token = token.strip()
    if not token or any(not 33 <= ord(letter) <= 126 for letter in token):
        raise HandshakeError(
            "the token is not a JWT",
            "Check `token` or `file` of Jwt: a JWT has no blanks or breaks.",
        )
    return token


def _age(settings: Jwt) -> str:
    """Return the end of a sentence if the token has expired; empty if it has not."""
    expiry = _claims(settings).get("exp")
    if not isinstance(expiry, int | float) or expiry > time.time():
        return ""
    return f", since it expired at {time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(expiry))}"


def _claims(settings: Jwt) -> dict[str, object]:
    try:
        middle = read_jwt(settings).split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
    except (HandshakeError, IndexError, ValueError, binascii.Error):
        return {}
    return claims if isinstance(claims, dict) else {}


def subject_of(settings: Jwt) -> str | None:
    """Return the subject of a token (`sub`), without verifying the token."""
    subject = _claims(settings).get("sub")
    return subject if isinstance(subject, str) else None
