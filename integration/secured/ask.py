"""Calls of a secured metastore, and what its refusals say."""

from __future__ import annotations

import time

import pytest

from hiveacid.errors import MetastoreSecurityError
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.security.settings import Kerberos, Security
from integration.support.hive.secured import PASSWORD

LONG = "x" * 450_000
TICKET = Security(Kerberos())


def connect(uri: str, security: Security) -> MetastoreClient:
    """Return a client; it has not connected yet."""
    return MetastoreClient(uri, 20, security=security)


def speak(uri: str, security: Security) -> str:
    """Ask for something long, and return what was spoken."""
    with connect(uri, security) as client:
        assert client.get_config_value("metastore.nothing", LONG) == LONG
        return client.protocol()


def refusal(uri: str, security: Security) -> str:
    """Return why an address was not taken, without the first line and the address."""
    started = time.monotonic()
    with pytest.raises(MetastoreSecurityError) as error, connect(uri, security) as client:
        client.get_config_value("metastore.nothing", "")
    assert time.monotonic() - started < 10
    message = error.value.message
    assert PASSWORD not in message
    first = f"Could not connect to the Hive metastore. Tried:\n  {uri}: "
    assert message.startswith(first), message
    return message.removeprefix(first)
