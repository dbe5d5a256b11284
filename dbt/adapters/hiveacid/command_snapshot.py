"""Snapshot of one dbt command: opened by the first read, ended after the last reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from dbt.adapters.events.logging import AdapterLogger

from dbt.adapters.hiveacid.command_hooks import CommandHooks
from dbt.adapters.hiveacid.credentials import RUN_END, HiveAcidCredentials
from dbt.adapters.hiveacid.early_release import EarlyRelease, HoldWarning, explain_release
from hiveacid.engine import SnapshotEngine
from hiveacid.errors import TransactionLostError
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.run_snapshot import SnapshotHooks
from hiveacid.sql.known_tables import KnownTables

logger = AdapterLogger("HiveAcid")


class StatementHooks(SnapshotHooks):
    """Hooks of a snapshot that ends with its statement."""

    def __init__(self, command: CommandHooks) -> None:
        self._command = command

    def on_lost(self, error: TransactionLostError) -> None:
        """See `SnapshotHooks.on_lost`."""
        self._command.on_lost()

    def raise_if_cancelled(self) -> None:
        """See `SnapshotHooks.raise_if_cancelled`."""
        self._command.raise_if_cancelled()


class CommandSnapshot(StatementHooks):
    """Snapshot that the nodes of a command share, and the policy for its end.

    Attributes:
        release: decides after which node the snapshot may end.
        engine: pins and reads the tables.
    """

    def __init__(
        self,
        make_engine: Callable[[SnapshotHooks], SnapshotEngine],
        command: CommandHooks,
        tables: KnownTables,
        credentials: HiveAcidCredentials,
    ) -> None:
        """Open nothing yet.

        Args:
            make_engine: makes an engine with hooks.
            command: returns the command's sources and the nodes that read them.
            tables: the tables that the metastore has.
            credentials: the settings of the profile.
        """
        super().__init__(command)
        self._tables = tables
        readers = partial(command.acid_readers, tables.read_in_snapshot)
        self.release = EarlyRelease(readers, until_run_end=credentials.hold_until == RUN_END)
        self.engine = make_engine(self)
        self._hold_warning = HoldWarning(
            self.engine, self.release.nodes_to_come, credentials.hold_warning
        )

    @property
    def is_open(self) -> bool:
        """Whether the transaction is open."""
        return self.engine.transaction_id is not None

    def initial_tables(self) -> set[TableName]:
        """See `SnapshotHooks.initial_tables`."""
        return self._tables.behind(self._command.selected_sources())

    def before_pin(self, names: frozenset[TableName]) -> None:
        """Register the node of this thread as a reader; refuse it after the release."""
        named = ", ".join(map(str, sorted(names)))
        self.release.register_reader(partial(self._explain_end, named))

    def on_held(self) -> None:
        """See `SnapshotHooks.on_held`."""
        self._hold_warning.start()

    def end_after(self, node: str) -> None:
        """End the snapshot if no node after `node` needs it. Never raises."""
        if self.is_open and self.release.may_release(node):
            self.end()

    def end(self) -> None:
        """End the snapshot, if it is open, and log what it held."""
        self._hold_warning.stop()
        if not self.is_open:
            return
        self.engine.end(self._explain_end)
        report, node = self.engine.report(), self.release.ended_after
        if report is not None:
            logger.info(f"{report}, ended after {node}" if node is not None else str(report))

    def renew(self) -> None:
        """Reset for another command, after the end of this one."""
        self.release.reset()
        self.engine.renew()

    def _explain_end(self, what: str) -> str:
        report = self.engine.report()
        id_ = None if report is None else report.transaction_id
        return explain_release(what or "its sources", id_, self.release.ended_after)
