"""Life of one dbt command: its sources, its snapshot, and what its nodes read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.__version__ import version
from dbt.adapters.hiveacid.credentials import OFF, RUN_END, HiveAcidCredentials
from dbt.adapters.hiveacid.node_context import NodeContext, RowMaker, RowMakers, SourcesBehind
from dbt.adapters.hiveacid.release import EarlyRelease, HoldWarning, explain_release
from dbt.adapters.hiveacid.report import as_dict
from dbt.adapters.hiveacid.sources.acid_sources import AcidSources, ChangesOf, SourceTables
from dbt.adapters.hiveacid.sources.missing import explain_missing_tables, vanished_file
from dbt.adapters.hiveacid.sources.prepare import look_at, prepare_statement, refuse_function
from dbt.adapters.hiveacid.sources.read_log import ReadLog, summary_line
from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.api import Snapshot, open_footers
from hiveacid.errors import VanishedFileError, VerificationError, WriteIdsNotSupportedError
from hiveacid.formatting import first_few
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import ServerInfo, TableName
from hiveacid.reader.footer_cache import default_directory
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.verification import SHOWN
from hiveacid.snapshots.tables import UnlockedTable, look_up_unlocked
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.statement import NameParts

logger = AdapterLogger("HiveAcid")
INVOCATION = "invocation"
"""The word before the invocation's id in the agent info of its locks."""


class Invocation:
    """One dbt command's dealings with Hive, from the making of the adapter to its clean-up.

    Nothing is asked of the metastore before a source is resolved. No transaction is opened before a
    statement that reads an ACID source is about to run.
    """

    def __init__(
        self,
        credentials: HiveAcidCredentials,
        invocation_id: str,
        target: str,
        foreseen: Callable[[], set[TableName]],
        declared: Callable[[], Collection[TableName]],
        needing: Callable[[], frozenset[str] | None],
        on_lost: Callable[[], None],
        raise_if_cancelled: Callable[[], None],
        keep_report: Callable[[dict[str, Any]], None],
    ) -> None:
        """Ask and open nothing yet.

        Args:
            foreseen: names the sources of the selected nodes.
            declared: names the sources of the project.
            needing: names the nodes that may read an ACID source; None if they are not known.
            on_lost: called once the transaction is found lost, to stop what reads under it, on any
                thread.
            raise_if_cancelled: raises on a thread whose work dbt has cancelled.
            keep_report: gets the `report` of the command at its end.
        """
        connect = partial(MetastoreClient, credentials.metastore_uri, credentials.metastore_timeout)
        self._metastore_uri = credentials.metastore_uri
        self.lock_timeout = credentials.lock_timeout
        self.raise_if_cancelled = raise_if_cancelled
        self._invocation_id = invocation_id
        self._keep_report = keep_report
        self._client = connect()
        self.tables = SourceTables(self._client, foreseen)
        self.release = EarlyRelease(needing, until_run_end=credentials.hold_until == RUN_END)
        self.snapshot = Snapshot(
            connect,
            SnapshotSettings(credentials.heartbeat_interval, credentials.lock_timeout),
            # The id, by which other runs find the locks, comes before what may be cut.
            f"dbt-hiveacid {version}, {INVOCATION} {invocation_id}, target {target}",
            tables=lambda: self.tables.transactional(foreseen()),
            footers=_footers(credentials),
            before_pin=self._register_reader,
            on_held=lambda: self._hold_warning.start(),
            on_lost=lambda error: on_lost(),
            raise_if_cancelled=raise_if_cancelled,
        )
        self._hold_warning = HoldWarning(
            self.snapshot, self.release.nodes_to_come, credentials.hold_warning
        )
        self.sources = AcidSources(self.tables, self.snapshot, declared)
        self.models: dict[ChangesOf, RowMaker] = {}
        self.reads = ReadLog()

    def prepare(self, node: NodeContext, sql: str, makers: RowMakers | None = None) -> None:
        """Make a statement ready to run (`prepare_statement`).

        `makers` are makers of changes for this statement only, before those of `models`.
        """
        chosen = {**self.models, **(makers or {})}
        prepare_statement(node, sql, self.sources, chosen, self.reads)

    def look_at(self, node: NodeContext, sql: str) -> SourcesBehind:
        """Return the ACID sources that a statement reads: see `look_at`."""
        return look_at(node, sql, self.sources)

    def refuse_function(self, session: SparkSession, sql: str) -> None:
        """Refuse a permanent function that reads an ACID table: see `refuse_function`."""
        refuse_function(session, sql, self.sources)

    def verify(self, session: SparkSession, name: TableName) -> None:
        """Check a table and print the report.

        Raises:
            VerificationError: with the problems that were found.
        """
        verification = self.snapshot.verify(name, spark=session)
        for line in verification.lines():
            logger.info(line)
        problems = verification.problems
        if problems:
            raise VerificationError(
                f"{name} did not pass its verification: {first_few(problems, SHOWN, '; ')}. "
                "Compare it with what Hive shows before you trust either; the report above has "
                "the details."
            )

    def explain_missing_tables(self, names: Iterable[NameParts]) -> str:
        """Explain the sources among `names`, of which Spark found one missing."""
        return explain_missing_tables(names, self.tables, self._metastore_uri)

    def vanished_file(self, message: str) -> VanishedFileError:
        """Return the error for a file of the snapshot that `message` names.

        Raises:
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        return vanished_file(message, self.snapshot)

    def see(self, names: Iterable[TableName]) -> dict[TableName, UnlockedTable]:
        """Look up those of `names` that are transactional, as they are now.

        Takes no lock and no transaction.

        Raises:
            MetastoreError: the metastore could not be asked.
        """
        return look_up_unlocked(self._client, names)

    def valid_txns(self) -> ValidTxnList:
        """Return the transactions committed by now. Opens none."""
        return self._client.get_valid_txns()

    def server_info(self) -> ServerInfo:
        """Return what the metastore can do. Opens no transaction.

        Raises:
            MetastoreUnavailableError: no address could be reached.
            WriteIdsNotSupportedError: the metastore is older than Hive 3.
            MetastoreError: its settings make it forget which write ids are open.
        """
        info = self._client.server_info()
        if not info.supports_write_ids:
            raise WriteIdsNotSupportedError(
                f"The metastore (version {info.version}) has no write ids, which Hive has since "
                "version 3: no snapshot of its ACID tables can be taken."
            )
        return info

    def is_another_alive(self, invocation: str) -> bool:
        """Tell whether another invocation, named by its id or the start of it, holds locks.

        An invocation that reads ACID sources holds locks until the last node that may read one has
        ended, its switch included, or until the metastore gives the invocation up.
        """
        return not self._invocation_id.startswith(invocation) and any(
            f"{INVOCATION} {invocation}" in (lock.agent_info or "")
            for lock in self._client.show_locks()
        )

    def node_finished(self, node: str, response: Mapping[str, Any]) -> None:
        """Note the end of a node, or of a batch of it. Never raises.

        The snapshot may be released. The log says what all of the node has read.

        Args:
            node: its unique id.
            response: the adapter's response to it.
        """
        if not self.release.node_finished(node):
            return
        if self.snapshot.transaction_id is not None and self.release.may_release(node):
            self._end_snapshot()
        files = self.reads.of_reader(node)
        # A model over acid_changes has said already what it applied.
        if files and "changes" not in response:
            rows = response.get("rows_affected")
            logger.info(summary_line(node, None if rows is None else int(rows), files))

    def report(self) -> dict[str, Any]:
        """Report what the command holds or held, and has read (`report.as_dict`)."""
        return as_dict(
            self._invocation_id,
            self.snapshot.report(),
            self.reads,
            is_open=self.snapshot.transaction_id is not None,
            ended_after=self.release.ended_after,
        )

    def end(self) -> None:
        """End the snapshot, if there is one, and close the connections. May be called again.

        The report is handed over if any node has run or any source was read. Another command may
        begin afterwards.
        """
        self._end_snapshot()
        if self.release.has_run_nodes or not self.reads.is_empty:
            self._keep_report(self.report())
        self.release.reset()
        self.snapshot.renew()
        self.reads = ReadLog()
        self._client.close()

    def _register_reader(self, names: frozenset[TableName]) -> None:
        named = ", ".join(map(str, sorted(names)))
        self.release.register_reader(lambda: self._explain_release(named))

    def _explain_release(self, what: str) -> str:
        report = self.snapshot.report()
        id_ = None if report is None else report.transaction_id
        return explain_release(what or "its sources", id_, self.release.ended_after)

    def _end_snapshot(self) -> None:
        self._hold_warning.stop()
        if self.snapshot.transaction_id is None:
            return
        self.snapshot.end(self._explain_release)
        report, node = self.snapshot.report(), self.release.ended_after
        if report is not None:
            logger.info(f"{report}, ended after {node}" if node is not None else str(report))


def _footers(credentials: HiveAcidCredentials) -> OrcFooters:
    chosen = credentials.footer_cache
    return open_footers(None if chosen == OFF else chosen or default_directory())
