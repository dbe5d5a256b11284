"""Lifetime of one dbt command: its sources, its snapshot, and what its nodes read."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.contextvars import get_node_info
from pyspark import SparkContext
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.__version__ import version
from dbt.adapters.hiveacid.command_hooks import CommandHooks
from dbt.adapters.hiveacid.command_snapshot import CommandSnapshot, StatementHooks
from dbt.adapters.hiveacid.credentials import OFF, HiveAcidCredentials
from dbt.adapters.hiveacid.early_release import EarlyRelease
from dbt.adapters.hiveacid.errors import AcidByDefaultError, VerificationError
from dbt.adapters.hiveacid.node_context import NodeContext, RowMaker, RowMakers
from dbt.adapters.hiveacid.report import as_dict
from dbt.adapters.hiveacid.sources.acid_sources import AcidSources, ChangesOf
from dbt.adapters.hiveacid.sources.missing import explain_missing_tables, vanished_file
from dbt.adapters.hiveacid.sources.prepare import prepare_statement
from dbt.adapters.hiveacid.sources.read_log import ReadLog, summary_line
from dbt.adapters.hiveacid.spark.driver import has_its_tables_in
from dbt.adapters.hiveacid.statement_snapshots import StatementSnapshots
from dbt.adapters.hiveacid.targets.hive_readers import HiveReaders
from dbt.adapters.hiveacid.written_targets import WrittenTargets, begin_to_write
from hiveacid.engine import SnapshotEngine, open_footers
from hiveacid.errors import (
    SnapshotEndedError,
    VanishedFileError,
    WriteIdsNotSupportedError,
)
from hiveacid.formatting import first_few
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import TableName
from hiveacid.reader.footer_cache import default_directory
from hiveacid.reader.last_write import LastWrite, find_last_write
from hiveacid.snapshots.read_options import AsOf
from hiveacid.snapshots.tables import FileSettings, UnlockedTable, look_up_unlocked
from hiveacid.snapshots.transaction import SnapshotSettings
from hiveacid.sql.known_tables import KnownTables
from hiveacid.sql.parameters import Parameters

logger = AdapterLogger("HiveAcid")
CREATE_AS_ACID = "metastore.create.as.acid"
INVOCATION = "invocation"
"""The word before the invocation's id in the agent info of its locks (`ShowLocks`)."""

_PROBLEMS = 20
"""Maximum number of a table's problems that an error lists."""


class Invocation:
    """One dbt command's work with Hive, from the creation of the adapter to its clean-up.

    The metastore is not called before a source is resolved. No transaction is opened before a
    statement that reads an ACID source is about to run.

    A thread is in a command if a command has created the adapter, until the clean-up of its
    connections; and in any case while a node runs on the thread. Everything else that uses the
    adapter is outside of a command: each statement has its own snapshot.
    """

    def __init__(
        self,
        credentials: HiveAcidCredentials,
        invocation_id: str,
        target: str,
        hooks: CommandHooks,
        *,
        is_command: bool = True,
    ) -> None:
        """Create the invocation; call the metastore and open a transaction later.

        Args:
            credentials: the settings of the profile.
            invocation_id: the id of the command.
            target: the names of the profile and of its target.
            hooks: the calls to the dbt command.
            is_command: whether a dbt command creates the adapter, not a tool that uses dbt.
        """
        self.hooks = hooks
        self.lock_timeout = credentials.lock_timeout
        self._metastore_uri = credentials.metastore_uri
        self.invocation_id = invocation_id
        self._is_command = is_command
        self._makes_acid: bool | None = None
        connect = partial(metastore_client, credentials)
        self._client = client = connect()
        self.tables = KnownTables(
            lambda: nullcontext(client),
            hooks.selected_sources,
            hooks.project_sources,
            credentials.hive_views,
        )
        self._hive_readers = HiveReaders(
            credentials.metastore_uri, client.version, credentials.defaults
        )
        self.footers = open_footers(_footer_directory(credentials))
        # Other runs find the locks by the id, so it comes before the part that may be truncated.
        agent_info = f"dbt-hiveacid {version}, {INVOCATION} {invocation_id}, target {target}"
        settings = _snapshot_settings(credentials, hooks)
        make = partial(SnapshotEngine, connect, settings, agent_info, footers=self.footers)
        self._of_command = CommandSnapshot(make, hooks, self.tables, credentials)
        self._of_statements = StatementSnapshots(
            partial(make, StatementHooks(hooks)), self.is_in_command, self.tables.forget
        )
        as_of = None if credentials.as_of is None else AsOf(timestamp=credentials.as_of)
        self.targets = WrittenTargets(
            lambda: hooks.written_targets() if self.is_in_command() else (),
            partial(make, StatementHooks(hooks)),
            partial(begin_to_write, credentials, agent_info),
            self.tables,
        )
        self.sources = AcidSources(
            self.tables,
            lambda: self.snapshot,
            as_of,
            hooks.is_static,
            self.targets.snapshot_of,
        )
        self.models: dict[ChangesOf, RowMaker] = {}
        self.reads = ReadLog()

    @property
    def snapshot(self) -> SnapshotEngine:
        """Snapshot that this thread reads: the command's, or its statement's outside of one."""
        return self._of_statements.current or self._of_command.engine

    @property
    def release(self) -> EarlyRelease:
        """Policy of the early release of the command's snapshot."""
        return self._of_command.release

    def is_in_command(self) -> bool:
        """Return whether the calling thread works for a dbt command."""
        return self._is_command or bool(get_node_info().get("unique_id"))

    def statement(self) -> AbstractContextManager[None]:
        """Hold a statement's snapshot until the block ends. Does nothing inside a dbt command."""
        return self._of_statements.held()

    def release_statement(self, *, all_threads: bool = False) -> None:
        """End the current statement's snapshot. Does nothing inside a dbt command.

        Args:
            all_threads: whether to end the snapshots of all threads' statements, not only of this
                thread's.
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
        """Prepare a statement for execution (`prepare_statement`).

        Args:
            node: the node that runs the statement.
            sql: the statement.
            makers: makers of changes for this statement only; they override those of `models`.
            values: the values of the statement's parameters.

        Raises:
            SnapshotEndedError: outside of a command, the statement reads a temporary view of an
                earlier statement.
        """
        chosen = {**self.models, **(makers or {})}
        if self.is_in_command():
            plan = prepare_statement(node, sql, self.sources, chosen, self.reads, values)
            self._hive_readers.prepare(node, plan)
            return
        self._of_statements.begin()
        node.has_read = frozenset()
        plan = prepare_statement(node, sql, self.sources, chosen, ReadLog(), values)
        self._refuse_ended_views(node)
        self._hive_readers.prepare(node, plan)

    def check_snapshot(self, node: NodeContext) -> None:
        """Stop a node if the transaction under which it read its sources is lost.

        Does nothing if the node has read no ACID source.

        Raises:
            TransactionLostError: naming the transaction and its tables.
        """
        if node.has_read:
            self.check_reads(node)

    def check_reads(self, node: NodeContext) -> None:
        """Check the transactions that a node reads in.

        Raises:
            TransactionLostError: one is lost.
        """
        reads = {read.pinned.transaction_id: read.table for read in node.has_read}
        if reads.keys() - self.targets.check_alive(reads):
            self.snapshot.check_alive()

    def verify(self, session: SparkSession, name: TableName) -> None:
        """Check a table and print the report.

        Raises:
            VerificationError: problems were found; the message lists them.
        """
        with self.statement():
            verification = self.snapshot.verify(session, name)
        for line in verification.lines():
            logger.info(line)
        problems = verification.problems
        if problems:
            raise VerificationError(
                f"{name} did not pass its verification: "
                f"{first_few(problems, _PROBLEMS, '; ')}. Compare its rows with those that "
                "Hive shows; the report above has the details."
            )

    def explain_missing_tables(self, names: Iterable[tuple[str, ...]]) -> str:
        """Explain the sources among `names`, which Spark could not find."""
        return explain_missing_tables(names, self.tables, self._metastore_uri)

    def vanished_file(self, message: str) -> VanishedFileError:
        """Return the error for a file of the snapshot that `message` names.

        Raises:
            TransactionLostError: the transaction is lost.
            SnapshotEndedError: the snapshot has ended.
        """
        return vanished_file(message, self.snapshot)

    def look_up_unlocked(self, names: Iterable[TableName]) -> dict[TableName, UnlockedTable]:
        """Look up the transactional tables among `names` as they are now.

        Takes no lock and opens no transaction.

        Raises:
            MetastoreError: the call to the metastore failed.
        """
        return look_up_unlocked(self._client, names)

    def find_last_write(
        self, session: SparkSession, see: Callable[[], UnlockedTable]
    ) -> LastWrite | None:
        """Return the newest write of a table; None if no write has data.

        Takes no lock and opens no transaction.

        Args:
            session: lists and reads the table's files.
            see: looks the table up as it is now (`look_up_unlocked`).

        Raises:
            CompactedMeanwhileError: the table changes faster than it can be listed.
            UnreadableTableError: a location cannot be listed, or its layout is unknown.
        """
        return find_last_write(session, see, self._client.get_valid_txns, self.footers)

    def describe_metastore(self) -> Iterator[str]:
        """Yield lines on the metastore's capabilities, the protocol, and dbt's user name there.

        Opens no transaction.

        Raises:
            MetastoreUnavailableError: no address could be reached.
            WriteIdsNotSupportedError: the metastore is older than Hive 3.
            MetastoreError: the metastore's settings make it forget which write ids are open.
        """
        info = self._client.server_info()
        if not info.supports_write_ids:
            raise WriteIdsNotSupportedError(
                f"The metastore (version {info.version}) has no write ids, which Hive has "
                "since version 3: no snapshot of its ACID tables can be taken. Upgrade the "
                "metastore."
            )
        yield (
            f"Metastore: Hive {info.shown_version}, write ids supported, transactions time out "
            f"after {info.transaction_timeout:g} s"
        )
        user = self._client.known_user()
        who = "" if user is None else f", as {user}"
        yield f"Connection to the metastore: {self._client.protocol()}{who}"

    def refuse_acid_by_default(self, context: SparkContext, target: str) -> None:
        """Refuse to build an ORC table if the metastore would make it transactional.

        Reads the metastore's configuration once.

        Raises:
            AcidByDefaultError: the metastore would (`metastore.create.as.acid`).
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
        """Return whether another invocation, given by its id or the start of its id, holds locks.

        An invocation that reads ACID sources holds locks until the last node that may read one has
        ended, including its switch, or until the metastore aborts the invocation's transaction.
        """
        return not self.invocation_id.startswith(invocation) and any(
            f"{INVOCATION} {invocation}" in (lock.agent_info or "")
            for lock in self._client.show_locks()
        )

    def node_finished(self, node: str, response: Mapping[str, Any]) -> None:
        """Record the end of a node, or of one of its batches. Never raises.

        The end of the whole node may release the snapshot, and logs what the node has read.

        Args:
            node: the node's unique id.
            response: the adapter's response for the node.
        """
        if not self.release.node_finished(node):
            return
        self._of_command.end_after(node)
        files = self.reads.of_reader(node)
        # A model over acid_changes has already logged what it applied.
        if files and "changes" not in response:
            rows = response.get("rows_affected")
            logger.info(summary_line(node, None if rows is None else int(rows), files))

    def report(self) -> dict[str, Any]:
        """Return the report on what the command holds or held, and has read (`report.as_dict`)."""
        return as_dict(
            self.invocation_id,
            self._of_command.engine.report(),
            self.reads,
            is_open=self._of_command.is_open,
            ended_after=self.release.ended_after,
        )

    def end(self) -> None:
        """End the snapshot, if there is one, and close the connections. May be called again.

        The report goes to `CommandHooks.keep_report` if any node has run or any source was read.
        Another command may begin afterwards.
        """
        try:
            self._of_command.end()
            self._of_statements.end_all()
        finally:
            self.targets.end_all()
        self._is_command = False
        if self.release.has_run_nodes or not self.reads.is_empty:
            self.hooks.keep_report(self.report())
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


def metastore_client(credentials: HiveAcidCredentials) -> MetastoreClient:
    """Return a client of the profile's metastore. It connects at its first call."""
    return MetastoreClient(
        credentials.metastore_uri, credentials.metastore_timeout, security=credentials.security
    )


def _snapshot_settings(credentials: HiveAcidCredentials, hooks: CommandHooks) -> SnapshotSettings:
    return SnapshotSettings(
        credentials.heartbeat_interval,
        credentials.lock_timeout,
        FileSettings.of(credentials),
        hooks.file_settings,
        credentials.scratch_directory,
        credentials.open_files_limit,
    )


def _footer_directory(credentials: HiveAcidCredentials) -> str | Path | None:
    chosen = credentials.footer_cache
    return None if chosen == OFF else chosen or default_directory()
