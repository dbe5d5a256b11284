"""How many calls to the JVM something makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from py4j.clientserver import ClientServerConnection

_OTHERS = ("m\n", "A\n")
"""Python has let go of an object, when its collector finds it; and the first word of a connection,
of which there is one for each thread."""


@contextmanager
def calls() -> Iterator[list[str]]:
    """The calls to the JVM in the block, by all threads."""
    seen: list[str] = []
    send = ClientServerConnection.send_command

    def counting(self: ClientServerConnection, command: str) -> str:
        if not command.startswith(_OTHERS):
            seen.append(command)
        return str(send(self, command))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ClientServerConnection, "send_command", counting)
        yield seen


def count(action: Callable[[], object]) -> int:
    with calls() as seen:
        action()
    return len(seen)
