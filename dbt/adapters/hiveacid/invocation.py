"""Life of one dbt command: its sources, its snapshot, and what its nodes read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.contextvars import get_node_info
from pyspark import SparkContext
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.__version__ import version
from dbt.adapters.hiveacid.credentials import OFF, RUN_END, HiveAcidCredentials
from dbt.adapters.hiveacid.errors import AcidByDefaultError
from dbt.adapters.hiveacid.node_context import AcidNames, NodeContext, RowMaker, RowMakers
from dbt.adapters.hiveacid.release import EarlyRelease, HoldWarning, explain_release
from dbt.adapters.hiveacid.report import as_dict
from dbt.adapters.hiveacid.sources.acid_sources import AcidSources, ChangesOf, SourceTables
from dbt.adapters.hiveacid.sources.missing import explain_missing_tables, vanished_file
from dbt.adapters.hiveacid.sources.prepare import (
    check_view,
    look_at,
    prepare_statement,
    refuse_function,
)
from dbt.adapters.hiveacid.sources.read_log import ReadLog, summary_line
from dbt.adapters.hiveacid.spark.driver import has_its_tables_in
from dbt.adapters.hiveacid.statement_snapshots import StatementSnapshots
from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.api import Snapshot, open_footers
from hiveacid.errors import (
    SnapshotEndedError,
    VanishedFileError,
    VerificationError,
    WriteIdsNotSupportedError,
)
from hiveacid.formatting import first_few
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import ServerInfo, TableName
from hiveacid.reader.footer_cache import default_directory
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.verification import SHOWN
from hiveacid.snapshots.instants import AsOf
from hiveacid.snapshots.tables import FileSettings, UnlockedTable, look_up_unlocked
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.parameters import Parameters
from hiveacid.sql.statement import NameParts

logger = AdapterLogger("HiveAcid")
CREATE_AS_ACID = "metastore.create.as.acid"
INVOCATION = "invocation"
"""The word before the invocation's id in the agent info of its locks."""


class Invocation:
    """One dbt command's dealings with Hive, from the making of the adapter to its clean-up.

    Nothing is asked of the metastore before a source is resolved. No transaction is opened before a
    statement that reads an ACID source is about to run.

    A command is under way from the making of the adapter, if a command makes it, until the clean-up
    of its connections; and on each thread while a node runs there. Whatever else uses the adapter
    is outside of a command: each statement has a snapshot of its own.
    """

    def __init__(
        self,
        credentials: HiveAcidCredentials,
        invocation_id: str,
        target: str,
        foreseen: Callable[[], set[TableName]],
        declared: Callable[[], Collection[TableName]],
        file_settings: Callable[[Collection[TableName]], Mapping[TableName, FileSettings]],
        needing: Callable[[], frozenset[str] | None],
        on_lost: Callable[[], None],
        raise_if_cancelled: Callable[[], None],
        keep_report: Callable[[dict[str, Any]], None],
        *,
        is_command: bool = True,
    ) -> None:
        """Ask and open nothing yet.

        Args:
            foreseen: names the sources of the selected nodes.
            declared: names the sources of the project.
            file_settings: returns what sources say of some tables' files.
            needing: names the nodes that may read an ACID source; None if they are not known.
            on_lost: called once the transaction is found lost, to stop what reads under it, on any
                thread.
            raise_if_cancelled: raises on a thread whose work dbt has cancelled.
            keep_report: gets the `report` of the command at its end.
            is_command: whether a dbt command makes the adapter, not a tool for itself.
        """
        connect = partial(
            MetastoreClient,
            credentials.metastore_uri,
            credentials.metastore_timeout,
            security=credentials.security,
        )
        self._metastore_uri = credentials.metastore_uri
        self.lock_timeout = credentials.lock_timeout
        self.raise_if_cancelled = raise_if_cancelled
        self._invocation_id = invocation_id
        self._keep_report = keep_report
        self._client = connect()
        self._makes_acid: bool | None = None
        self.tables = SourceTables(self._client, foreseen, credentials.hive_views)
        self.release = EarlyRelease(needing, until_run_end=credentials.hold_until == RUN_END)
        self._is_command = is_command
        make_snapshot = partial(
            Snapshot,
            connect,
            SnapshotSettings(
                credentials.heartbeat_interval,
                credentials.lock_timeout,
                FileSettings(
                    credentials.orc_columns, credentials.old_dates, credentials.parquet_time_zone
                ),
                file_settings,
                credentials.scratch_directory,
                credentials.open_files_limit,
                credentials.hive_views,
            ),
            # The id, by which other runs find the locks, comes before what may be cut.
            f"dbt-hiveacid {version}, {INVOCATION} {invocation_id}, target {target}",
            footers=_footers(credentials),
            on_lost=lambda error: on_lost(),
            raise_if_cancelled=raise_if_cancelled,
        )
        self._of_command = make_snapshot(
            tables=lambda: self.tables.behind(foreseen()),
            before_pin=self._register_reader,
            on_held=lambda: self._hold_warning.start(),
        )
        self._of_statements = StatementSnapshots(
            partial(make_snapshot, tables=lambda: ()), self.is_in_command, self.tables.forget
        )
        self._hold_warning: HoldWarning = HoldWarning(
            self._of_command, self.release.nodes_to_come, credentials.hold_warning
        )
        as_of = None if credentials.as_of is None else AsOf(timestamp=credentials.as_of)
        self.sources = AcidSources(self.tables, lambda: self.snapshot, declared, as_of)
        self.models: dict[ChangesOf, RowMaker] = {}
        self.reads = ReadLog()

    @property
    def snapshot(self) -> Snapshot:
        """Snapshot that this thread reads: the command's, or that of a statement outside of any."""
        return self._of_statements.current or self._of_command

    @property
    def footers(self) -> OrcFooters:
        """Footers of ORC files that are known; all snapshots share them."""
        return self._of_command.footers

    def is_in_command(self) -> bool:
        """Tell whether the calling thread works for a dbt command."""
        return self._is_command or bool(get_node_info().get("unique_id"))

    def statement(self) -> AbstractContextManager[None]:
        """Hold the snapshot of a statement until the block has its rows; no-op in a command."""
        return self._of_statements.held()

    def release_statement(self, *, all_threads: bool = False) -> None:
        """End the snapshot of a statement whose rows nobody will fetch any more; none in a command.

        Without `all_threads` it is the last statement of this thread.
        """
        if all_threads:
            self._of_statements.end_all()
        else:
            self._of_statements.end()

    def prepare(
        self,
        node: NodeContext,
        sql: str,
        makers: RowMakers | None = None,
        values: Parameters | None = None,
    ) -> None:
        """Make a statement ready to run (`prepare_statement`).

        `makers` are makers of changes for this statement only, before those of `models`. `values`
        are those of its parameters.

        Raises:
            SnapshotEndedError: outside of a command, a temporary view of an earlier statement is
                read.
        """
        chosen = {**self.models, **(makers or {})}
        if self.is_in_command():
            prepare_statement(node, sql, self.sources, chosen, self.reads, values)
            return
        self._of_statements.begin()
        node.has_read = frozenset()
        prepare_statement(node, sql, self.sources, chosen, ReadLog(), values)
        self._refuse_ended_views(node)

    def look_at(self, node: NodeContext, sql: str) -> tuple[AcidNames, AcidNames]:
        """Return the ACID sources that a statement names, and others behind it: see `look_at`."""
        return look_at(node, sql, self.sources)

    def check_view(self, node: NodeContext, sql: str) -> None:
        """Refuse a stored view over ACID tables that cannot be made: see `check_view`."""
        check_view(node, sql, self.sources)

    def refuse_function(self, session: SparkSession, sql: str) -> None:
        """Refuse a permanent function that reads an ACID table: see `refuse_function`."""
        refuse_function(session, sql, self.sources)

    def verify(self, session: SparkSession, name: TableName) -> None:
        """Check a table and print the report.

        Raises:
            VerificationError: with the problems that were found.
        """
        with self.statement():
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

    def spoken(self) -> str:
        """Describe for people what is spoken with the metastore, and who dbt is there."""
        user = self._client.known_user()
        return f"{self._client.spoken()}{'' if user is None else f', as {user}'}"

    def refuse_acid_by_default(self, context: SparkContext, target: str) -> None:
        """Refuse to build a table of ORC in a metastore that would make it transactional.

        Asks the metastore once.

        Raises:
            AcidByDefaultError: it would.
        """
        if self._makes_acid is None:
            self._makes_acid = has_its_tables_in(context, self._metastore_uri) and (
                self._client.get_config_value(CREATE_AS_ACID, "false").strip().lower() == "true"
            )
        if self._makes_acid:
            raise AcidByDefaultError(
                f"{target} is not built: the metastore makes every new managed table of ORC "
                f"transactional ({CREATE_AS_ACID}), and Spark cannot write into it. Set "
                "location_root, which makes the table external, or another file_format."
            )

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
        if self._of_command.transaction_id is not None and self.release.may_release(node):
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
            self._of_command.report(),
            self.reads,
            is_open=self._of_command.transaction_id is not None,
            ended_after=self.release.ended_after,
        )

    def end(self) -> None:
        """End the snapshot, if there is one, and close the connections. May be called again.

        The report is handed over if any node has run or any source was read. Another command may
        begin afterwards.
        """
        self._end_snapshot()
        self._of_statements.end_all()
        self._is_command = False
        if self.release.has_run_nodes or not self.reads.is_empty:
            self._keep_report(self.report())
        self.release.reset()
        self._of_command.renew()
        self.reads = ReadLog()
        self._client.close()

    def _refuse_ended_views(self, node: NodeContext) -> None:
        ended = {
            read.table: read.pinned.transaction_id
            for read in node.reads
            if read.pinned.transaction_id != self.snapshot.transaction_id
        }
        if ended:
            table, transaction_id = min(ended.items())
            raise SnapshotEndedError(
                f"A temporary view shows {table} as of transaction {transaction_id}, which has "
                "ended with the statement that made the view. Outside of a dbt command each "
                "statement has a snapshot of its own. Write the view's query into the statement, "
                "as `with … as (…)`, or make a table of it."
            )

    def _register_reader(self, names: frozenset[TableName]) -> None:
        named = ", ".join(map(str, sorted(names)))
        self.release.register_reader(lambda: self._explain_release(named))

    def _explain_release(self, what: str) -> str:
        report = self._of_command.report()
        id_ = None if report is None else report.transaction_id
        return explain_release(what or "its sources", id_, self.release.ended_after)

    def _end_snapshot(self) -> None:
        self._hold_warning.stop()
        if self._of_command.transaction_id is None:
            return
        self._of_command.end(self._explain_release)
        report, node = self._of_command.report(), self.release.ended_after
        if report is not None:
            logger.info(f"{report}, ended after {node}" if node is not None else str(report))


def _footers(credentials: HiveAcidCredentials) -> OrcFooters:
    chosen = credentials.footer_cache
    return open_footers(None if chosen == OFF else chosen or default_directory())
