"""Declarations of the dbt project: sources, nodes' relations, functions, materializations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import fields
from typing import TYPE_CHECKING

from dbt.adapters.hiveacid.errors import AdapterError
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.targets.acid_config import is_acid_target
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.tables import FileSettings

if TYPE_CHECKING:
    from dbt.contracts.graph.manifest import Manifest
    from dbt.contracts.graph.nodes import ManifestNode, SourceDefinition

INTERNAL_PACKAGES = ("dbt", "dbt_spark", "dbt_hiveacid")
"""The packages of dbt, of dbt-spark and of this adapter."""


class Project:
    """Look-ups by table name in the manifest of a dbt command.

    Without a manifest, nothing is declared.
    """

    def __init__(self, manifest: Callable[[], Manifest | None]) -> None:
        """`manifest` returns dbt's manifest; None while there is none."""
        self._manifest = manifest

    def sources(self) -> set[TableName]:
        """Return the tables of all sources."""
        return {TableName(it.schema, it.identifier) for it in self._sources()}

    def is_static(self, name: TableName) -> bool:
        """Return whether a table is declared as a source, each time with `static: true`.

        Raises:
            AdapterError: an option of one of its sources is invalid.
        """
        sources = [it for it in self._sources() if TableName(it.schema, it.identifier) == name]
        return bool(sources) and all(SourceOptions.of(it).static for it in sources)

    def file_settings(self, names: Collection[TableName]) -> dict[TableName, FileSettings]:
        """Return how to read the files of some tables, by the options of their sources.

        Raises:
            AdapterError: two sources of one table have different settings, or an option is invalid.
        """
        found: dict[TableName, FileSettings] = {}
        for source in self._sources():
            name = TableName(source.schema, source.identifier)
            if name not in names:
                continue
            own = SourceOptions.of(source).file_settings()
            known = found.get(name, FileSettings())
            if own.or_else(known) != known.or_else(own):
                raise AdapterError(
                    f"Sources of the table {name} have different options for its files: one "
                    f"has {_shown(known)}, {source.source_name}.{source.name} has "
                    f"{_shown(own)}. Give all sources of the table the same options.",
                    code="HIVEACID_SOURCES_DISAGREE",
                )
            found[name] = own.or_else(known)
        return found

    def has_freshness_query(self, name: TableName) -> bool:
        """Return whether a source of this name has a `loaded_at_query`."""
        return any(
            TableName(it.schema, it.identifier) == name
            and getattr(it, "loaded_at_query", None) is not None
            for it in self._sources()
        )

    def makes(self, name: TableName) -> bool:
        """Return whether a node makes a table or view of this name."""
        return any(it.identifier.lower() == name.table for it in self._nodes_in([name.database]))

    def is_made_by(self, name: TableName, unique_id: str) -> bool:
        """Return whether a node, by its unique id, makes a table or view of this name."""
        manifest = self._manifest()
        node = None if manifest is None else manifest.nodes.get(unique_id)
        return node is not None and TableName(node.schema, node.alias) == name

    def makes_acid(self, unique_id: str) -> bool:
        """Return whether a node, by its unique id, makes a Hive ACID table."""
        manifest = self._manifest()
        return manifest is not None and is_acid_target(manifest.nodes.get(unique_id))

    def acid_targets(self, unique_ids: Iterable[str]) -> set[TableName]:
        """Return the Hive ACID tables that some nodes make, by their unique ids."""
        manifest = self._manifest()
        nodes = {} if manifest is None else manifest.nodes
        made = (nodes[it] for it in unique_ids if self.makes_acid(it))
        return {TableName(node.schema, node.alias) for node in made}

    def makes_any_in(self, schemas: Collection[str]) -> bool:
        """Return whether a node makes a table or view in one of the schemas."""
        return any(self._nodes_in(schemas))

    def documents(self, name: TableName) -> bool:
        """Return whether a table is in dbt's docs, as a source or as a node's relation."""
        return name in self.sources() or self.makes(name)

    def functions_in(self, schema: str) -> set[str]:
        """Return the names of the project's functions in a schema, in lower case."""
        # dbt has functions since 1.11.
        functions = getattr(self._manifest(), "functions", {}).values()
        return {
            function.alias.lower()
            for function in functions
            if function.schema.lower() == schema.lower()
        }

    def materialization(self, name: str, root: str) -> tuple[str, str] | None:
        """Return the package and macro name of the project's own materialization `name`.

        dbt prefers this adapter's materializations to the project's. So this looks up what dbt
        would choose for dbt-spark. `root` is the name of the root project.

        Returns:
            None if dbt would choose its own materialization, or dbt-spark's.
        """
        manifest = self._manifest()
        if manifest is None:
            return None
        macro = manifest.find_materialization_macro_by_name(root, name, "spark")
        if macro is None or macro.package_name in INTERNAL_PACKAGES:
            return None
        return macro.package_name, macro.name

    def _nodes_in(self, schemas: Collection[str]) -> Iterator[ManifestNode]:
        manifest = self._manifest()
        for node in () if manifest is None else manifest.nodes.values():
            if node.is_relational and not node.is_ephemeral_model:
                if node.schema.lower() in schemas:
                    yield node

    def _sources(self) -> Collection[SourceDefinition]:
        manifest = self._manifest()
        return () if manifest is None else manifest.sources.values()


def _shown(settings: FileSettings) -> str:
    words = ((f.name, getattr(settings, f.name)) for f in fields(settings))
    return ", ".join(f"{name}: {word}" for name, word in words if word is not None)
