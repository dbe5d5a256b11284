"""Spark session and cursor behind a dbt connection.

dbt's threads must share neither configuration nor temporary views, so each connection has its own
session (`newSession()`, tens of milliseconds). All share the driver, its catalog and its executors.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.spark.progress import ProgressLine
from dbt.adapters.hiveacid.spark.sql import as_shown
from dbt.adapters.hiveacid.spark.time_zones import is_set
from hiveacid.formatting import text_literal
from hiveacid.jvm.py4j import each
from hiveacid.reader.pushdown import pushed_down, search_arguments, search_arguments_of_command
from hiveacid.sql.swap import SwappedStatement

T = TypeVar("T")
_CANCEL_PERIOD = 0.2
"""Seconds between two attempts to cancel a statement's jobs."""


class SessionHandle:
    """A connection's own Spark session, which can stop its running statement."""

    def __init__(
        self,
        root: SparkSession,
        parameters: Mapping[str, str],
        progress: ProgressLine | None = None,
    ) -> None:
        self.session = root.newSession()
        self.progress = progress
        for key, value in parameters.items():
            if self.session.conf.isModifiable(key):
                self.session.conf.set(key, value)
        self._uninterrupted = False
        self._cancelled = threading.Event()
        self._running: Cursor | None = None

    def cursor(self) -> Cursor:
        """Return a cursor for one statement."""
        return Cursor(self)

    def cancel(self) -> None:
        """Stop the running statement's Spark jobs, and refuse further statements.

        Called from another thread than the statement's. Does not wait.
        """
        self._cancelled.set()
        self.stop_statement()

    def raise_if_cancelled(self) -> None:
        """Raise if the connection is cancelled.

        Raises:
            AdapterError: the connection is cancelled.
        """
        if self._cancelled.is_set() and not self._uninterrupted:
            raise AdapterError(
                "The run was cancelled before this statement started.",
                code="HIVEACID_RUN_CANCELLED",
            )

    @contextmanager
    def uninterrupted(self) -> Iterator[None]:
        """Let the block's statements, which belong together, finish even if dbt cancels."""
        self._uninterrupted = True
        try:
            yield
        finally:
            self._uninterrupted = False

    def stop_statement(self) -> None:
        """Stop the running statement's Spark jobs, if there is one. Does not wait."""
        if self._running is not None and not self._uninterrupted:
            threading.Thread(target=self._running.cancel_jobs, daemon=True).start()

    @contextmanager
    def running(self, cursor: Cursor) -> Iterator[None]:
        """Make `cursor` the one that `cancel` stops, during the block.

        Blocks may nest: Python code that runs like a statement runs other statements.

        Raises:
            AdapterError: the connection was cancelled.
        """
        # The order matters: a cancel that misses the cursor has already set the flag.
        outer, self._running = self._running, cursor
        try:
            self.raise_if_cancelled()
            yield
        finally:
            self._running = outer


class Cursor:
    """One statement, from its execution to its rows (the part of PEP 249 that dbt uses)."""

    def __init__(
        self,
        handle: SessionHandle,
        name: str = "",
        *,
        reads_acid: bool = False,
        swapped: SwappedStatement | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Create the cursor; run nothing yet.

        Args:
            handle: the session.
            name: the name to show on the progress line.
            reads_acid: whether the statement reads ACID tables.
            swapped: the statement to run in place of its text; None if it names no ACID table.
            settings: settings of the session while the statement runs.
        """
        self._swapped = swapped
        self._settings = settings or {}
        self._reads_acid = reads_acid
        self._handle = handle
        self._name = name
        self._tag = f"dbt-{uuid.uuid4().hex}"
        self._done = threading.Event()
        self._frame: DataFrame | None = None
        self._rows: list[Row] | None = None

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement. A query's rows are computed when they are fetched."""
        sql = sql.strip().removesuffix(";")
        if bindings is not None:
            sql = sql % tuple(_literal(value) for value in bindings)
        session = self._handle.session
        swapped = self._swapped
        plan = None if swapped is None else swapped.plan
        arguments = self._search_arguments(lambda: search_arguments_of_command(session, sql, plan))
        with (
            self._jobs(),
            pushed_down(session, arguments),
            set_while(session, self._settings),
        ):
            self._frame = session.sql(sql) if swapped is None else swapped.run(session)

    def run_query(self) -> None:
        """Compute a query's rows and discard them, for the query's errors (`assert_true`).

        Does nothing for a command, which `execute` has already run.
        """
        if self._frame is None or not _is_yet_to_run(self._frame):
            return
        with self._jobs():
            self._frame.write.format("noop").mode("overwrite").save()

    def run(self, function: Callable[[], T]) -> T:
        """Run Python code; its Spark jobs belong to this statement."""
        with self._jobs():
            return function()

    @property
    def description(self) -> list[tuple[str, str, None, None, None, None, bool]]:
        """The columns in the form of PEP 249, with Spark's types."""
        if self._frame is None:
            return []
        return [
            (f.name, f.dataType.simpleString(), None, None, None, None, f.nullable)
            for f in self._frame.schema.fields
        ]

    def fetchall(self) -> list[Row]:
        """Return the rows that no fetch has returned yet."""
        rows, self._rows = self._remaining(), []
        return rows

    def fetchmany(self, size: int) -> list[Row]:
        """Return up to `size` of the rows that no fetch has returned yet."""
        rows = self._remaining()
        self._rows = rows[size:]
        return rows[:size]

    def fetchone(self) -> Row | None:
        """Return the next row; None after the last."""
        rows = self.fetchmany(1)
        return rows[0] if rows else None

    def close(self) -> None:
        """Forget the statement and its rows."""
        self._frame, self._rows = None, None

    def rows_written(self) -> int | None:
        """Return how many rows Spark has counted as written; None if nothing was written."""
        if self._frame is None:
            return None
        if "num_affected_rows" in self._frame.columns:  # Delta's answer to DELETE, UPDATE and MERGE
            answer = self._remaining()
            # No row for a transaction that Delta has seen before and skips.
            return int(answer[0]["num_affected_rows"]) if answer else 0
        return None if self._frame.columns else _records_written(self._handle.session, self._tag)

    def cancel_jobs(self) -> None:
        """Cancel this statement's jobs until it has ended, including jobs that start late."""
        context = self._handle.session.sparkContext
        while not self._done.is_set():
            context.cancelJobsWithTag(self._tag)
            self._done.wait(_CANCEL_PERIOD)

    def _remaining(self) -> list[Row]:
        if self._rows is None:
            if self._frame is None:
                return []
            frame = as_shown(self._frame)
            session, execution = self._handle.session, frame._jdf.queryExecution()
            arguments = self._search_arguments(lambda: search_arguments(session, execution))
            with self._jobs(), pushed_down(session, arguments):
                self._rows = frame.collect()
        return self._rows

    def _search_arguments(self, find: Callable[[], Mapping[str, str]]) -> Mapping[str, str]:
        if not self._reads_acid:
            return {}
        try:
            return find()
        except (PySparkException, Py4JError):
            # Search arguments only save reading. The statement itself will raise the error.
            return {}

    @contextmanager
    def _jobs(self) -> Iterator[None]:
        # Job tags belong to the thread and are inherited by the threads that Spark starts for it. A
        # dbt thread serves many connections, hence the tag is removed again.
        context = self._handle.session.sparkContext
        self._done.clear()
        try:
            with self._handle.running(self), self._shown():
                context.addJobTag(self._tag)
                yield
        finally:
            self._done.set()
            context.removeJobTag(self._tag)

    def _shown(self) -> AbstractContextManager[None]:
        progress = self._handle.progress
        return nullcontext() if progress is None else progress.watching(self._tag, self._name)


@contextmanager
def set_while(session: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set settings of a session while the block runs."""
    before = {key: session.conf.get(key) if is_set(session, key) else None for key in settings}
    try:
        for key, value in settings.items():
            session.conf.set(key, value)
        yield
    finally:
        for key, own in before.items():
            if own is None:
                session.conf.unset(key)
            else:
                session.conf.set(key, own)


def _is_yet_to_run(frame: DataFrame) -> bool:
    done = ("CommandResult", "LocalRelation")
    leaves = each(frame._jdf.queryExecution().commandExecuted().collectLeaves())
    return any(leaf.nodeName() not in done for leaf in leaves)


def _records_written(session: SparkSession, tag: str) -> int | None:
    context = session.sparkContext._jsc.sc()
    try:
        # Task metrics arrive over Spark's listener bus, a moment after the job's end.
        context.listenerBus().waitUntilEmpty(1000)
        jobs = context.statusTracker().getJobIdsForTag(tag)
        store = context.statusStore()
        written, writes = 0, False
        for job in jobs:
            stages = store.job(job).stageIds()
            for i in range(stages.size()):
                stage = store.lastStageAttempt(stages.apply(i))
                written += stage.outputRecords()
                writes = writes or stage.outputBytes() > 0 or stage.outputRecords() > 0
    except (PySparkException, Py4JError):
        # Spark is busy, or has dropped the stages (spark.ui.retainedStages, 1000 by default). The
        # statement has succeeded all the same.
        return None
    return written if writes else None


def _literal(value: Any) -> str:
    # As dbt-spark's macros bind them, each in a `cast(… as <type>)`.
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float, Decimal)):
        return str(value)
    if isinstance(value, datetime):
        return f"'{value.isoformat(sep=' ')}'"
    return text_literal(str(value))
