"""Snapshots of statements outside of any dbt command: one for each statement.

A long-running tool creates an adapter once and executes statements with it. It does not say when it
is done; at best it releases its connections. So each statement has its own snapshot, and none is
open between statements.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from hiveacid.engine import SnapshotEngine


@dataclass(frozen=True)
class _Own:
    snapshot: SnapshotEngine
    is_in_block: bool


class StatementSnapshots:
    """Snapshots of the statements that run outside of a command, each on its thread.

    Does nothing within a command, whose statements share the command's snapshot.
    """

    def __init__(
        self,
        make: Callable[[], SnapshotEngine],
        is_in_command: Callable[[], bool],
        on_end: Callable[[], None],
    ) -> None:
        """Create the object; make no snapshot yet.

        Args:
            make: makes a snapshot that has no transaction yet.
            is_in_command: returns whether the calling thread works for a dbt command.
            on_end: called after the end of a statement's snapshot.
        """
        self._make = make
        self._is_in_command = is_in_command
        self._on_end = on_end
        self._lock = threading.Lock()
        self._own: dict[int, _Own] = {}

    @property
    def current(self) -> SnapshotEngine | None:
        """Snapshot of the statement of this thread; None within a command or without one."""
        own = self._of_thread()
        return None if own is None or self._is_in_command() else own.snapshot

    @contextmanager
    def held(self) -> Iterator[None]:
        """Share one snapshot among the statements of the block; it ends with the block."""
        own = self._of_thread()
        if self._is_in_command() or (own is not None and own.is_in_block):
            yield
            return
        self._start(is_in_block=True)
        try:
            yield
        finally:
            self._end(threading.get_ident())

    def begin(self) -> None:
        """Begin a statement. Outside of a `held` block, it gets a snapshot that stays open.

        The snapshot ends with `end`, or when the next statement of the thread begins, because dbt
        does not report when the rows have been fetched.
        """
        own = self._of_thread()
        if not self._is_in_command() and (own is None or not own.is_in_block):
            self._start(is_in_block=False)

    def end(self) -> None:
        """End the snapshot of this thread, unless a `held` block uses it."""
        own = self._of_thread()
        if own is not None and not own.is_in_block:
            self._end(threading.get_ident())

    def end_all(self) -> None:
        """End the snapshots of all threads, except those that a `held` block uses."""
        with self._lock:
            threads = [thread for thread, own in self._own.items() if not own.is_in_block]
        for thread in threads:
            self._end(thread)

    def _of_thread(self) -> _Own | None:
        with self._lock:
            return self._own.get(threading.get_ident())

    def _start(self, *, is_in_block: bool) -> None:
        self.end()
        with self._lock:
            self._own[threading.get_ident()] = _Own(self._make(), is_in_block)

    def _end(self, thread: int) -> None:
        with self._lock:
            own = self._own.pop(thread, None)
        if own is not None:
            own.snapshot.end()
            self._on_end()
