"""Delegation tokens of the metastore in a Hadoop token file (`Credentials.writeTokenStorageFile`).

YARN, Oozie and spark-submit write such a file for a process that has no ticket, and name it in
`HADOOP_TOKEN_FILE_LOCATION`.
"""

from __future__ import annotations

import base64
import os
from dataclasses import dataclass, field
from pathlib import Path

from hiveacid.metastore.security.failures import HandshakeError

VARIABLE = "HADOOP_TOKEN_FILE_LOCATION"
"""Environment variable that names the file."""

KIND = "HIVE_DELEGATION_TOKEN"
_MAGIC = b"HDTS"
_WRITABLE = 0
"""Version of the file: Hadoop's own format, not the format of protocol buffers."""


@dataclass(frozen=True)
class Token:
    """One token; identifier and password are secrets."""

    identifier: bytes = field(repr=False)
    password: bytes = field(repr=False)
    kind: str
    service: str

    @property
    def user(self) -> str:
        """The identifier as a user name of DIGEST-MD5 (`SaslRpcServer.encodeIdentifier`)."""
        return base64.b64encode(self.identifier).decode()

    @property
    def secret(self) -> str:
        """The password in the form that DIGEST-MD5 takes (`SaslRpcServer.encodePassword`)."""
        return base64.b64encode(self.password).decode()


def token_file() -> str | None:
    """Return the file that the environment names, if there is one."""
    path = os.environ.get(VARIABLE)
    return path if path and Path(path).is_file() else None


def find_token(path: str) -> Token | None:
    """Return the metastore's token in a file; None if it has none.

    Of several tokens, return the one without a service: the others are for HiveServer2 or for other
    clusters.

    Raises:
        HandshakeError: the file cannot be read.
    """
    try:
        tokens = read_tokens(Path(path).read_bytes())
    except OSError as error:
        raise HandshakeError(
            f"the token file {path} cannot be read: {error.strerror}", f"Check ${VARIABLE}."
        ) from error
    except (ValueError, IndexError) as error:
        raise HandshakeError(
            f"{path} is not a file of Hadoop's tokens in the format of Hadoop 2 and 3",
            f"Check ${VARIABLE}.",
        ) from error
    of_hive = [token for token in tokens if token.kind == KIND]
    return next((token for token in of_hive if not token.service), next(iter(of_hive), None))


def read_tokens(data: bytes) -> list[Token]:
    """Return all tokens of a file's content.

    Raises:
        ValueError, IndexError: it is not a token file.
    """
    if data[:4] != _MAGIC or data[4] != _WRITABLE:
        raise ValueError("not a token file")
    reader = _Reader(data, 5)
    tokens = []
    for _ in range(reader.number()):
        reader.text()  # The alias under which the token was put into the file.
        tokens.append(reader.token())
    return tokens


def parse_token(text: str) -> Token:
    """Parse a token in the form that `get_delegation_token` returns.

    Raises:
        ValueError, IndexError: it is not a token.
    """
    return _Reader(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), 0).token()


class _Reader:
    """Reader of the format that Hadoop's `WritableUtils` writes."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at

    def token(self) -> Token:
        identifier, password = self.take(), self.take()
        return Token(identifier, password, self.text(), self.text())

    def text(self) -> str:
        return self.take().decode("utf-8")

    def take(self) -> bytes:
        length = self.number()
        taken = self._data[self._at : self._at + length]
        if length < 0 or len(taken) != length:
            raise ValueError("the file ends early")
        self._at += length
        return taken

    def number(self) -> int:
        # `WritableUtils.readVLong`: one byte for small numbers; else its length, and big-endian.
        first = int.from_bytes(self._data[self._at : self._at + 1], "big", signed=True)
        if self._at >= len(self._data):
            raise ValueError("the file ends early")
        self._at += 1
        if first >= -112:
            return first
        negative = first < -120
        length = -(first + 120) if negative else -(first + 112)
        value = int.from_bytes(self._data[self._at : self._at + length], "big")
        self._at += length
        return ~value if negative else value
