"""Calls to the running dbt command: its sources, its settings, its cancellation."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from dbt.adapters.hiveacid.metadata.project import Project
from dbt.adapters.hiveacid.report import write_report
from dbt.adapters.hiveacid.selected_nodes import Selection, find_acid_parents, find_acid_readers
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.tables import FileSettings

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest

TablesRead = Callable[[Iterable[TableName]], set[TableName]]
"""Returns the names that are read from the snapshot, among the given ones."""


class CommandHooks(Protocol):
    """Calls of an `Invocation` to the dbt command that it works for."""

    def selected_sources(self) -> set[TableName]:
        """Return the sources of the selected nodes."""

    def project_sources(self) -> Collection[TableName]:
        """Return the sources of the project."""

    def written_targets(self) -> set[TableName]:
        """Return the Hive ACID tables that the selected nodes write."""

    def is_static(self, name: TableName) -> bool:
        """Return whether all sources of a table are declared `static`."""

    def file_settings(self, names: Collection[TableName]) -> Mapping[TableName, FileSettings]:
        """Return how to read the files of some tables, by the options of their sources."""

    def acid_readers(self, read_in_snapshot: TablesRead) -> frozenset[str] | None:
        """Return the nodes that may read an ACID source; None if they are not known."""

    def on_lost(self) -> None:
        """Stop the readers of the lost transaction. Called once, on any thread."""

    def raise_if_cancelled(self) -> None:
        """Raise on a thread whose work dbt has cancelled."""

    def keep_report(self, report: Mapping[str, Any]) -> None:
        """Take the report of the command at its end."""


class StoppableConnections(Protocol):
    """Connections whose statements can be stopped."""

    def stop_reading(self) -> None:
        """Stop the statements that read ACID sources."""

    def raise_if_cancelled(self) -> None:
        """Raise if dbt has cancelled the connection of this thread."""


class HooksOfAdapter:
    """`CommandHooks` of the command that made an adapter."""

    def __init__(
        self,
        connections: StoppableConnections,
        project: Project,
        selection: Selection,
        manifest: Callable[[], Manifest | None],
        target_path: str | None,
    ) -> None:
        """Create the hooks; look nothing up yet.

        Args:
            connections: the adapter's connections.
            project: the sources of the project.
            selection: the nodes of the command.
            manifest: returns dbt's manifest; None while there is none.
            target_path: dbt's target directory; None for a command that has none.
        """
        self._project = project
        self._selection = selection
        self._manifest = manifest
        self._target_path = target_path
        self._written: tuple[list[str], set[TableName]] = [], set()
        self.on_lost = connections.stop_reading
        self.raise_if_cancelled = connections.raise_if_cancelled

    def selected_sources(self) -> set[TableName]:
        """See `CommandHooks.selected_sources`."""
        manifest = self._manifest()
        sources = self._selection.sources(manifest)
        found = {TableName(source.schema, source.identifier) for source in sources}
        selected = self._selection.ids()
        if selected is not None and manifest is not None:
            read = find_acid_parents(manifest, selected).values()
            found |= set().union(*read) - self.written_targets()
        return found

    def project_sources(self) -> Collection[TableName]:
        """See `CommandHooks.project_sources`."""
        return self._project.sources()

    def written_targets(self) -> set[TableName]:
        """See `CommandHooks.written_targets`."""
        # Each read of a statement asks, and a project may have thousands of nodes.
        selected = self._selection.ids() or []
        if selected != self._written[0] and self._manifest() is not None:
            self._written = selected, self._project.acid_targets(selected)
        return self._written[1]

    def is_static(self, name: TableName) -> bool:
        """See `CommandHooks.is_static`."""
        return self._project.is_static(name)

    def file_settings(self, names: Collection[TableName]) -> Mapping[TableName, FileSettings]:
        """See `CommandHooks.file_settings`."""
        return self._project.file_settings(names)

    def acid_readers(self, read_in_snapshot: TablesRead) -> frozenset[str] | None:
        """See `CommandHooks.acid_readers`."""
        selected, manifest = self._selection.ids(), self._manifest()
        if selected is None or manifest is None:
            return None
        written = self.written_targets()
        return find_acid_readers(
            manifest, selected, lambda names: read_in_snapshot(names - written)
        )

    def keep_report(self, report: Mapping[str, Any]) -> None:
        """See `CommandHooks.keep_report`."""
        write_report(None if self._target_path is None else Path(self._target_path), report)
