"""A line on the terminal while statements take long: how many of their tasks Spark has done.

Spark's own bar would go to the log file of its JVM.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from py4j.protocol import Py4JError
from pyspark import SparkContext

SHOWN_AFTER = 3.0
"""Seconds until a statement is long."""

_PERIOD = 0.5
_WIDTH = 60
"""Less than a line of dbt's log has, which then covers the whole of it."""

Tasks = Callable[[str], tuple[int, int]]
"""How many tasks of the jobs with a tag are done, and how many their begun stages have."""


class ProgressLine:
    """The line, and the thread that keeps it up to date while there are statements."""

    def __init__(self, stream: TextIO, tasks: Tasks) -> None:
        self._stream = stream
        self._tasks = tasks
        self._lock = threading.Lock()
        self._running: dict[str, tuple[str, float]] = {}
        self._idle = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, tag: str, name: str) -> Iterator[None]:
        """Show a statement, by the tag of its jobs, until it ends; `name` is its node's."""
        with self._lock:
            self._running[tag] = (name, time.monotonic())
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._keep_up, daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._running[tag]
                if not self._running:
                    self._idle.set()

    def line(self, now: float) -> str:
        """What to show: the statement that has run longest, and how many others are long, too."""
        with self._lock:
            long = [
                (started, tag, name)
                for tag, (name, started) in self._running.items()
                if now - started >= SHOWN_AFTER
            ]
        if not long:
            return ""
        started, tag, name = min(long)
        done, tasks = self._tasks(tag)
        others = f", {len(long) - 1} more" if len(long) > 1 else ""
        # Planning and the catalog have no tasks.
        progress = f"{done} of {tasks} tasks" if tasks else "no tasks yet"
        told = f": {progress}, {now - started:.0f} s{others}"
        # A node's name is the last part of its unique id.
        return name.rpartition(".")[2][: _WIDTH - len(told)] + told

    def _keep_up(self) -> None:
        shown = ""
        while True:
            self._idle.wait(_PERIOD)
            with self._lock:
                if not self._running:
                    self._thread = None
                    break
            line = self.line(time.monotonic())
            if line or shown:
                # Back at its beginning, so that the next line of dbt's log is written over it.
                self._stream.write(line.ljust(len(shown)) + "\r")
                self._stream.flush()
            shown = line
        if shown:
            self._stream.write(" " * len(shown) + "\r")
            self._stream.flush()


def tasks_in(context: SparkContext) -> Tasks:
    """What Spark knows of its tasks."""
    tracker = context.statusTracker()

    def tasks(tag: str) -> tuple[int, int]:
        done = every = 0
        try:
            for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag):
                info = tracker.getJobInfo(job)
                stages = (tracker.getStageInfo(stage) for stage in (info.stageIds if info else ()))
                for stage in stages:
                    if stage is not None:
                        done += stage.numCompletedTasks
                        every += stage.numTasks
        except Py4JError:
            # Spark is being stopped.
            pass
        return done, every

    return tasks
