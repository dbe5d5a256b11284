"""One dbt invocation's dealings with the Hive metastore."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.events.contextvars import get_node_info
from pyspark.sql import SparkSession

from dbt.adapters.hiveacid.__version__ import version
from dbt.adapters.hiveacid.credentials import OFF, RUN_END, HiveAcidCredentials
from dbt.adapters.hiveacid.errors import ViewOverAcidError
from dbt.adapters.hiveacid.node_context import NodeContext, ViewMaker, ViewMakers
from dbt.adapters.hiveacid.release import EarlyRelease
from dbt.adapters.hiveacid.report import as_dict
from dbt.adapters.hiveacid.sources.read_log import ReadLog, summary_line
from dbt.adapters.hiveacid.sources.views import SourceTables, SourceView, SourceViews
from dbt.adapters.hiveacid.spark.guard import refuse_raw_acid
from dbt.adapters.hiveacid.spark.statements import NameParts, parse
from hiveacid.acid.write_ids import ValidTxnList
from hiveacid.errors import VanishedFileError, VerificationError, WriteIdsNotSupportedError
from hiveacid.formatting import first_few
from hiveacid.metastore.client import MetastoreClient
from hiveacid.metastore.models import ServerInfo, Table, TableName
from hiveacid.reader.footer_cache import FooterCache, default_directory
from hiveacid.reader.orc_footers import OrcFooters
from hiveacid.reader.read import write_ids_without_directory
from hiveacid.reader.verification import SHOWN
from hiveacid.snapshots.run_snapshot import RunSnapshot
from hiveacid.snapshots.tables import UnlockedTable, look_up_unlocked
from hiveacid.snapshots.transaction import SnapshotSettings

logger = AdapterLogger("HiveAcid")
INVOCATION = "invocation"
"""The word before a run's invocation id in what its locks say of it."""

AGENT_INFO_LENGTH = 128
"""The columns of the metastore's database for it; a longer one would make every lock fail."""

_INSTEAD_OF_A_VIEW = {
    "model": "Materialize it as ephemeral, table or incremental (`view` is dbt's default).",
    "test": "Store its failures with `store_failures_as: table`.",
    "function": "Read the source in the models that call the function.",
}
"""What to do with a node, by its resource type."""


class Invocation:
    """The sources, the snapshot and their views, from the adapter's making to its clean-up.

    Nothing is asked of the metastore before a source is resolved, and no transaction is opened
    before a statement that reads an ACID source is about to run.
    """

    def __init__(
        self,
        credentials: HiveAcidCredentials,
        invocation_id: str,
        target: str,
        foreseen: Callable[[], set[TableName]],
        needing: Callable[[], frozenset[str] | None],
        on_lost: Callable[[], None],
        raise_if_cancelled: Callable[[], None],
        keep_report: Callable[[dict[str, Any]], None],
    ) -> None:
        """`foreseen` names the sources of the selected nodes, `needing` the nodes that may read an
        ACID source; `on_lost` is called once the transaction is found lost, to stop what reads
        under it, on any thread. `raise_if_cancelled` raises on a thread whose work dbt has
        cancelled. `keep_report` gets the `report` of the run at its end."""
        self._connect = partial(
            MetastoreClient, credentials.metastore_uri, credentials.metastore_timeout
        )
        self._metastore_uri = credentials.metastore_uri
        self.lock_timeout = credentials.lock_timeout
        self.raise_if_cancelled = raise_if_cancelled
        self._invocation_id = invocation_id
        self._keep_report = keep_report
        self._client = self._connect()
        self.snapshot = RunSnapshot(
            self._connect,
            SnapshotSettings(credentials.heartbeat_interval, credentials.lock_timeout),
            _agent_info(invocation_id, target),
            unexplained=lambda pinned, write_ids: write_ids_without_directory(
                SparkSession.active(), pinned, write_ids
            ),
            on_lost=lambda error: on_lost(),
            raise_if_cancelled=raise_if_cancelled,
        )
        self.holding = EarlyRelease(
            self.snapshot,
            needing,
            self._end_snapshot,
            until_run_end=credentials.hold_until == RUN_END,
            warn_after=credentials.hold_warning,
        )
        self.tables = SourceTables(self._client, foreseen)
        self.views = SourceViews(
            self.tables,
            self.holding.pin,
            self.snapshot.check_alive,
            foreseen,
            OrcFooters(_cache(credentials)),
        )
        self.models: dict[str, ViewMaker] = {}
        self.reads = ReadLog()

    def prepare(self, node: NodeContext, sql: str, makers: ViewMakers | None = None) -> None:
        """Make a statement ready to run: create the views of its ACID sources, set `node.reads`.

        What is read is on account of the node that runs on this thread, else of `node.name`.

        Args:
            node: the node whose statement it is.
            sql: the statement.
            makers: makers of views of changes for this statement only, in place of `models`.

        Raises:
            HiveAcidError: the statement cannot be run as it is, or a source cannot be read.
        """
        session = node.session
        statement = parse(session, sql)
        node.named, node.reads = statement.reads, frozenset()
        views = self.views.among(statement.mentions)
        if statement.is_permanent_view:
            _refuse_view(views)
        names = {(view.name,) for view in views}
        refuse_raw_acid(session, statement.without(names))
        for view in views:
            maker = (makers or {}).get(view.name) or self.models.get(view.name)
            reading = (
                self.views.create(session, view) if maker is None else maker.create_view(session)
            )
            node.reads |= {reading}
            self.reads.add(get_node_info().get("unique_id") or node.name, reading)
        for parts in statement.reads:
            node.reads |= node.temporary_views.get(parts[-1].lower(), frozenset())
        node.has_read |= node.reads
        if statement.temporary_view is not None:
            node.temporary_views[statement.temporary_view] = node.reads
            node.temporary_sources[statement.temporary_view] = frozenset(
                view.name for view in views
            ) | node.sources_behind(statement.reads)

    def verify(self, session: SparkSession, name: TableName) -> None:
        """Check a table and print the report.

        Raises:
            VerificationError: with the problems that were found.
        """
        verification = self.views.verify(session, name)
        for line in verification.lines():
            logger.info(line)
        problems = verification.problems
        if problems:
            raise VerificationError(
                f"{name} did not pass its verification: {first_few(problems, SHOWN, '; ')}. "
                "Compare it with what Hive shows before you trust either; the report above has "
                "the details."
            )

    def refuse_view(self, session: SparkSession, sql: str) -> None:
        """Refuse the query of a permanent view that reads an ACID table.

        Raises:
            ViewOverAcidError: naming the node, the sources and what to do instead.
            RawAcidReferenceError: it names the table itself.
        """
        statement = parse(session, sql)
        _refuse_view(self.views.among(statement.reads))
        refuse_raw_acid(session, statement)

    def about_missing(self, names: Iterable[NameParts]) -> str:
        """What is known of the sources among `names`, of which Spark found one missing: lines."""
        missing = {TableName(*parts) for parts in names if len(parts) == 2}
        return "".join(
            f"{name} is a source. {self._whereabouts(table)}\n"
            for name, table in self.tables.asked_for().items()
            if name in missing
        )

    def vanished_file(self, message: str) -> VanishedFileError:
        """The error for a file of the snapshot that `message` names: who can have removed it.

        Raises:
            TransactionLostError: the transaction is lost, so Hive's cleaner was free to remove it.
        """
        self.snapshot.check_alive()
        tables = self.views.tables_to_lose(message)
        if tables:
            who = (
                f"Hive's cleaner may have removed it: a compaction of {', '.join(tables)} has left "
                "a directory without any file (a warning of this run names it), and what that "
                "covers by its name is removed although transaction "
                f"{self.snapshot.transaction_id} may read it. Those rows are lost in Hive. Run "
                "again."
            )
        else:
            who = (
                f"Hive's cleaner has not removed it: transaction {self.snapshot.transaction_id}, "
                "which holds this run's snapshot, is still open, and the cleaner leaves what an "
                "open transaction may read. Find out who else removes files below the table, and "
                "run again."
            )
        return VanishedFileError(f"{message} {who}")

    def _whereabouts(self, table: Table | None) -> str:
        if table is None:
            return (
                f"The metastore {self._metastore_uri} does not have it either. Check the source's "
                "schema and name."
            )
        if table.is_transactional:
            return (
                f"The metastore {self._metastore_uri} has it as a transactional table, but Spark's "
                "catalog is another one, and Spark could not read it. Name it by {{ source(…) }}."
            )
        return (
            f"The metastore {self._metastore_uri} has it as a table that is not transactional, "
            "which Spark reads itself, but Spark's catalog is another one. Point Spark at this "
            "metastore (`spark.hadoop.hive.metastore.uris` in server_side_parameters), or create "
            "the table in Spark's catalog."
        )

    def see(self, names: Iterable[TableName]) -> dict[TableName, UnlockedTable]:
        """Those of `names` that are transactional, as they are now: no lock, no transaction.

        Raises:
            MetastoreError: the metastore could not be asked.
        """
        return look_up_unlocked(self._client, names)

    def valid_txns(self) -> ValidTxnList:
        """The transactions committed by now. Opens none."""
        return self._client.get_valid_txns()

    def server_info(self) -> ServerInfo:
        """What the metastore can do. Opens no transaction.

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
        """Whether another invocation, named by its id or the beginning of it, holds locks.

        One that reads ACID sources does until the last node that may read one has ended, its
        switch included, or until the metastore gives it up.
        """
        return not self._invocation_id.startswith(invocation) and any(
            f"{INVOCATION} {invocation}" in (lock.agent_info or "")
            for lock in self._client.show_locks()
        )

    def node_finished(self, node: str, response: Mapping[str, Any]) -> None:
        """A node, or a batch of it, has ended; the log says what all of it has read. Never raises.

        Args:
            node: its unique id.
            response: the adapter's response to it.
        """
        readings = self.reads.of_reader(node)
        # What was applied of changes is said already.
        if self.holding.finished(node) and readings and "changes" not in response:
            rows = response.get("rows_affected")
            logger.info(summary_line(node, None if rows is None else int(rows), readings))

    def report(self) -> dict[str, Any]:
        """What the run holds or held, and has read (`report.as_dict`)."""
        return as_dict(
            self._invocation_id,
            self.snapshot.report(),
            self.reads,
            is_open=self.snapshot.transaction_id is not None,
            ended_after=self.holding.ended_after,
        )

    def end(self) -> None:
        """End the snapshot's transaction, if there is one, and close the connections.

        The report is handed over if any node has run or any source was read. May be called again.
        """
        self._end_snapshot()
        if self.holding.has_run_nodes or not self.reads.is_empty:
            self._keep_report(self.report())
        self.holding.close()
        self.reads = ReadLog()
        self._client.close()

    def _end_snapshot(self) -> None:
        if self.snapshot.transaction_id is None:
            return
        self.snapshot.end()
        report = self.snapshot.report()
        if report is not None:
            logger.info(report.line(self.holding.ended_after))


def _agent_info(invocation_id: str, target: str) -> str:
    """Who holds the run's locks, for the administrator who meets them in SHOW LOCKS.

    The invocation, by which other runs find the locks, comes before what may be cut.
    """
    told = f"dbt-hiveacid {version}, {INVOCATION} {invocation_id}, target {target}"
    # A database of another encoding may need several bytes for a character, or refuse it.
    return told.encode("ascii", "replace").decode("ascii")[:AGENT_INFO_LENGTH]


def _cache(credentials: HiveAcidCredentials) -> FooterCache | None:
    if credentials.footer_cache == OFF:
        return None
    chosen = credentials.footer_cache
    return FooterCache(Path(chosen).expanduser() if chosen else default_directory())


def _refuse_view(views: Sequence[SourceView]) -> None:
    if not views:
        return
    node = get_node_info()
    kind = node.get("resource_type", "statement")
    thing = "function" if kind == "function" else "view"
    name = f"{kind} {node.get('node_name', '')}".strip()
    sources = ", ".join(str(view.table) for view in views)
    raise ViewOverAcidError(
        f"{name[0].upper()}{name[1:]} would be a permanent {thing} over the ACID table {sources}, "
        f"read directly or through ephemeral models. A permanent {thing} cannot hold a run's "
        f"snapshot. {_INSTEAD_OF_A_VIEW.get(kind, 'Make a table of it.')}"
    )
