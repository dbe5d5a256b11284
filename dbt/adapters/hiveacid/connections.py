"""Connections of dbt: one Spark session each, and what happens before and after a statement."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import agate
from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.connections import SparkConnectionManager
from dbt.flags import get_flags
from dbt_common.clients.agate_helper import empty_table
from dbt_common.exceptions import DbtDatabaseError, DbtRuntimeError
from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.errors import as_dbt_error, dbt_errors, raising_dbt_errors
from dbt.adapters.hiveacid.invocation import Invocation, metastore_client
from dbt.adapters.hiveacid.node_context import NodeContext, NodeCursor
from dbt.adapters.hiveacid.sources.missing import missing_among
from dbt.adapters.hiveacid.sources.read_log import FilesRead, amounts_by_table
from dbt.adapters.hiveacid.spark.driver import CONSOLE_PROGRESS, root_session
from dbt.adapters.hiveacid.spark.login import SparkLogin
from dbt.adapters.hiveacid.spark.progress import ProgressLine, task_counter
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.spark.start_failure import describe_catalog_failure, is_catalog_failure
from hiveacid.errors import HiveAcidError, VanishedFileError
from hiveacid.jvm.errors import full_text, is_missing, short_message, with_statement

logger = AdapterLogger("HiveAcid")


@dataclass
class HiveAcidAdapterResponse(AdapterResponse):
    """Response to a statement; dbt writes it to run_results.json.

    `transaction_id` is the metastore transaction that held the locks while the node read.
    `snapshot` maps each ACID source that the node has read to the high watermark of its write ids.
    `reads` has the amount read of each source: its write ids as Hive writes them, and a
    `ReadAmount`. `changes` has what a model over `acid_changes` has applied
    (`incremental.apply.AppliedRun`). `writes` maps each ACID target that the node has written to
    its write id.
    """

    transaction_id: int | None = None
    snapshot: dict[str, int] | None = None
    reads: dict[str, dict[str, Any]] | None = None
    changes: dict[str, Any] | None = None
    writes: dict[str, int] | None = None

    @classmethod
    def of(
        cls, message: str, rows: int | None, readings: Collection[FilesRead]
    ) -> HiveAcidAdapterResponse:
        """Return the response of a statement that has read these files of ACID sources."""
        pinned = {str(reading.table): reading.pinned for reading in readings}
        return cls(
            message,
            rows_affected=rows,
            transaction_id=next((p.transaction_id for p in pinned.values()), None),
            snapshot={t: p.write_ids.high_watermark for t, p in sorted(pinned.items())} or None,
            reads=amounts_by_table(readings) or None,
        )


class HiveAcidConnectionManager(SparkConnectionManager):
    """dbt-spark's connection manager, with Spark's driver in dbt's own process."""

    TYPE = "hiveacid"

    run: Invocation
    """Set by the adapter, which creates the invocation and the connection manager."""

    @classmethod
    @raising_dbt_errors
    def open(cls, connection: Connection) -> Connection:
        """Give the connection a Spark session of its own; start Spark first if necessary."""
        if connection.state == ConnectionState.OPEN:
            return connection
        credentials = connection.credentials
        parameters = credentials.server_side_parameters
        try:
            warehouse = partial(_default_location, credentials)
            login = SparkLogin(credentials.security, partial(_known_user, credentials))
            root = root_session(
                parameters,
                credentials.metastore_uri,
                warehouse,
                _log_directory(),
                login,
                credentials.hive_time_zone,
            )
            session = SessionHandle(root, parameters, _progress_line(root, parameters))
            connection.handle = NodeContext(session)
        except BaseException:
            connection.state = ConnectionState.FAIL
            raise
        connection.state = ConnectionState.OPEN
        return connection

    def add_query(
        self, sql: str, auto_begin: bool = True, bindings: Any = None, *args: Any, **kwargs: Any
    ) -> tuple[Connection, Any]:
        """Run a statement, which reads its ACID tables from the run's snapshot."""
        # Only the INSERT … VALUES of dbt-spark's macros for seeds binds values. It reads nothing.
        connection = self.get_thread_connection()
        node: NodeContext = connection.handle
        node.raise_if_cancelled()
        node.name = connection.name or ""
        with self.exception_handler(sql):
            if bindings:
                node.named, node.reads, node.swapped = frozenset(), frozenset(), None
                node.writer_settings = {}
            else:
                self.run.prepare(node, sql)
        return super().add_query(sql, auto_begin, bindings, *args, **kwargs)

    def execute(
        self, sql: str, auto_begin: bool = False, fetch: bool = False, limit: int | None = None
    ) -> tuple[AdapterResponse, agate.Table]:
        """Run a statement to its end. A query runs even if its rows are not fetched, as in a hook.

        Rows of ACID sources are returned only while their transaction is alive. For rows that a
        statement writes, the materializations check the transaction.

        Raises:
            TransactionLostError: the rows may not be all that the source had.
        """
        with self.run.statement():
            if fetch:
                answer = super().execute(sql, auto_begin, fetch, limit)
            else:
                answer = self._run_to_end(sql, auto_begin)
            if self._reads_acid() and (fetch or not self.run.is_in_command()):
                with dbt_errors():
                    self.run.check_reads(self.get_thread_connection().handle)
            return answer

    def _run_to_end(self, sql: str, auto_begin: bool) -> tuple[AdapterResponse, agate.Table]:
        sql = self._add_query_comment(sql)
        _, cursor = self.add_query(sql, auto_begin)
        with self.exception_handler(sql):
            cursor.run_query()
        return self.get_response(cursor), empty_table()

    def release(self) -> None:
        """Close this thread's connection. Outside of a command, the statement's snapshot ends."""
        self.run.release_statement()
        super().release()

    def clear_thread_connection(self) -> None:
        """Forget this thread's connection. Outside of a command, the statement's snapshot ends."""
        self.run.release_statement()
        super().clear_thread_connection()

    def cleanup_all(self) -> None:
        """Close all connections. Outside of a command, the statements' snapshots end."""
        self.run.release_statement(all_threads=True)
        super().cleanup_all()

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Turn Spark's errors into dbt's: the message for the user, the stack for the debug log."""
        try:
            yield
        except DbtRuntimeError:
            raise
        except VanishedFileError as error:
            raise self._vanished_file(error.message) from error
        except HiveAcidError as error:
            raise as_dbt_error(error) from error
        except (PySparkException, Py4JError) as error:
            logger.debug(f"Error while running:\n{sql}\n{full_text(error)}")
            lost = self.run.snapshot.lost
            if lost is not None and self._reads_acid():
                raise as_dbt_error(lost) from error
            if "java.io.FileNotFoundException" in full_text(error) and self._reads_acid():
                raise self._vanished_file(short_message(error)) from error
            message = self._explain_missing(error) + short_message(error)
            raise DbtDatabaseError(with_statement(message, sql)) from error
        except TypeError as error:
            if not is_catalog_failure(error):
                raise
            raise DbtDatabaseError(describe_catalog_failure(_log_directory())) from error

    @classmethod
    def get_response(cls, cursor: NodeCursor | None) -> HiveAcidAdapterResponse:
        """Return a statement's response: the rows written, and the snapshot that was read."""
        if cursor is None:
            return HiveAcidAdapterResponse("OK")
        rows = cursor.rows_written()
        message = "OK" if rows is None else f"OK, {rows} row{'' if rows == 1 else 's'}"
        return HiveAcidAdapterResponse.of(message, rows, cursor.has_read)

    def session(self) -> SparkSession:
        """Return the Spark session of this thread's connection."""
        session: SparkSession = self.get_thread_connection().handle.session
        return session

    def cancel_open(self) -> list[str]:
        """Stop the other connections' statements and start no further ones. dbt then waits."""
        logger.info("Cancelling: dbt ends once Spark has stopped what it is running ...")
        return list(super().cancel_open())

    def raise_if_cancelled(self) -> None:
        """Raise if dbt has cancelled this thread's connection, since dbt waits for the thread."""
        connection = self.get_if_exists()
        if connection is not None and connection.state == ConnectionState.OPEN:
            connection.handle.raise_if_cancelled()

    def stop_reading(self) -> None:
        """Stop the statements that read ACID sources, because their transaction is lost."""
        with self.lock:
            connections = list(self.thread_connections.values())
        for connection in connections:
            if connection.state == ConnectionState.OPEN and connection.handle.reads:
                connection.handle.stop_statement()

    def _vanished_file(self, message: str) -> DbtRuntimeError:
        with dbt_errors():
            return as_dbt_error(self.run.vanished_file(message))

    def _explain_missing(self, error: Exception) -> str:
        connection = self.get_if_exists()
        if connection is None or not is_missing(error):
            return ""
        return self.run.explain_missing_tables(missing_among(error, connection.handle.named))

    def _reads_acid(self) -> bool:
        connection = self.get_if_exists()
        return connection is not None and bool(connection.handle.reads)


def _default_location(credentials: HiveAcidCredentials) -> str:
    with metastore_client(credentials) as client:
        return client.get_default_location()


def _known_user(credentials: HiveAcidCredentials) -> str | None:
    with metastore_client(credentials) as client:
        return client.known_user()


@cache
def _progress_of(context: SparkContext) -> ProgressLine:
    return ProgressLine(sys.stderr, task_counter(context))


def _progress_line(root: SparkSession, parameters: Mapping[str, str]) -> ProgressLine | None:
    """Return the progress line of statements; None if stderr is not a terminal or dbt is quiet."""
    flags = get_flags()
    quiet = getattr(flags, "QUIET", False) or getattr(flags, "LOG_FORMAT", None) == "json"
    if quiet or parameters.get(CONSOLE_PROGRESS, "true") != "true" or not sys.stderr.isatty():
        return None
    return _progress_of(root.sparkContext)


def _log_directory() -> Path | None:
    path = getattr(get_flags(), "LOG_PATH", None)
    return None if path is None else Path(path)
