"""Progress line on the terminal: the finished tasks of a long statement.

Spark's own bar goes to the JVM's stderr, which is a log file here. It would also not name the node,
and show nothing while the driver plans or commits.
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
"""Seconds after which a statement is shown."""

REFRESH_PERIOD = 0.5
WIDTH = 60
"""Less than the width of a line of dbt's log, which overwrites the progress line."""

CountTasks = Callable[[str], tuple[int, int]]
"""Returns the number of finished tasks, and of all tasks in the stages that have begun, for the
jobs with a tag."""


class ProgressLine:
    """Line on a stream that a separate thread updates while statements run."""

    def __init__(self, stream: TextIO, count_tasks: CountTasks) -> None:
        self._stream = stream
        self._count_tasks = count_tasks
        self._lock = threading.Lock()
        self._running: dict[str, tuple[str, float]] = {}
        self._idle = threading.Event()
        self._thread: threading.Thread | None = None

    @contextmanager
    def watching(self, tag: str, name: str) -> Iterator[None]:
        """Show a statement while the block runs, by the tag of its jobs and its node's name."""
        with self._lock:
            self._running[tag] = (name, time.monotonic())
            self._idle.clear()
            if self._thread is None:
                self._thread = threading.Thread(target=self._refresh, daemon=True)
                self._thread.start()
        try:
            yield
        finally:
            with self._lock:
                del self._running[tag]
                if not self._running:
                    self._idle.set()

    def compose(self, now: float) -> str:
        """Return the line: the longest-running statement, and the number of other long ones."""
        with self._lock:
            long = [
                (started, tag, name)
                for tag, (name, started) in self._running.items()
                if now - started >= SHOWN_AFTER
            ]
        if not long:
            return ""
        started, tag, name = min(long)
        done, tasks = self._count_tasks(tag)
        others = f", {len(long) - 1} more" if len(long) > 1 else ""
        # Planning and the catalog have no tasks.
        progress = f"{done} of {tasks} tasks" if tasks else "no tasks yet"
        suffix = f": {progress}, {now - started:.0f} s{others}"
        # The last part of a node's unique id is its name.
        return name.rpartition(".")[2][: WIDTH - len(suffix)] + suffix

    def _refresh(self) -> None:
        shown = ""
        while True:
            self._idle.wait(REFRESH_PERIOD)
            with self._lock:
                if not self._running:
                    self._thread = None
                    break
            line = self.compose(time.monotonic())
            if line or shown:
                # The carriage return lets the next line of dbt's log overwrite this one.
                self._stream.write(line.ljust(len(shown)) + "\r")
                self._stream.flush()
            shown = line
        if shown:
            self._stream.write(" " * len(shown) + "\r")
            self._stream.flush()


def task_counter(context: SparkContext) -> CountTasks:
    """Return a function that counts tasks with Spark's status tracker."""
    tracker = context.statusTracker()

    def count(tag: str) -> tuple[int, int]:
        done = total = 0
        try:
            for job in context._jsc.sc().statusTracker().getJobIdsForTag(tag):
                info = tracker.getJobInfo(job)
                stages = (tracker.getStageInfo(stage) for stage in (info.stageIds if info else ()))
                for stage in stages:
                    if stage is not None:
                        done += stage.numCompletedTasks
                        total += stage.numTasks
        except Py4JError:
            # Spark is being stopped.
            pass
        return done, total

    return count
