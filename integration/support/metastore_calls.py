"""Which calls a reader makes to the metastore."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from hiveacid.metastore.connection import Channel
from hiveacid.metastore.thrift import ThriftMetastore

T = TypeVar("T")


@contextmanager
def counted_calls() -> Iterator[list[str]]:
    """The names of the metastore calls made in the block."""
    calls: list[str] = []
    once = Channel.once

    def counting(self: Channel, call: str, subject: str, run: Callable[[ThriftMetastore], T]) -> T:
        calls.append(call)
        return once(self, call, subject, run)

    Channel.once = counting  # type: ignore[method-assign]
    try:
        yield calls
    finally:
        Channel.once = once  # type: ignore[method-assign]
