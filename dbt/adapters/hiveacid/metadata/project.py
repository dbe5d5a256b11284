"""What the project declares: its sources, what its nodes make, its functions, materializations."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.selected_nodes import INTERNAL_PACKAGES
from dbt.adapters.hiveacid.sources.options import SourceOptions
from hiveacid.metastore.models import TableName


class Project:
    """The manifest of a dbt command, asked by names of tables.

    A command without a manifest declares nothing.
    """

    def __init__(self, manifest: Callable[[], Any]) -> None:
        """`manifest` returns dbt's manifest, or None while there is none."""
        self._manifest = manifest

    def sources(self) -> set[TableName]:
        """Return the tables of all sources."""
        return {TableName(it.schema, it.identifier) for it in self._values("sources")}

    def parquet_time_zones(self, names: Collection[TableName]) -> dict[TableName, str]:
        """Return the option `parquet_time_zone` of those of some tables whose sources have one.

        Raises:
            DbtRuntimeError: two sources of one table differ in it, or an option is wrong.
        """
        found: dict[TableName, str] = {}
        for source in self._values("sources"):
            name = TableName(source.schema, source.identifier)
            zone = SourceOptions.of(source).parquet_time_zone if name in names else None
            if zone is not None and found.setdefault(name, zone) != zone:
                raise DbtRuntimeError(
                    f"Sources of the table {name} differ in their option parquet_time_zone: one "
                    f"has {found[name]}, {source.source_name}.{source.name} has {zone}. Hive reads "
                    "a table in one way; give all its sources the same zone."
                )
        return found

    def has_freshness_query(self, name: TableName) -> bool:
        """Return whether a source of this name has a `loaded_at_query`."""
        return any(
            TableName(it.schema, it.identifier) == name
            and getattr(it, "loaded_at_query", None) is not None
            for it in self._values("sources")
        )

    def makes(self, name: TableName) -> bool:
        """Return whether a node makes a table or view of this name."""
        return any(it.identifier.lower() == name.table for it in self._nodes_in([name.database]))

    def is_made_by(self, name: TableName, unique_id: str) -> bool:
        """Return whether a node, by its unique id, makes a table or view of this name."""
        node = getattr(self._manifest(), "nodes", {}).get(unique_id)
        return node is not None and TableName(node.schema, node.alias) == name

    def makes_any_in(self, schemas: Collection[str]) -> bool:
        """Return whether a node makes a table or view in one of the schemas."""
        return any(self._nodes_in(schemas))

    def documents(self, name: TableName) -> bool:
        """Return whether dbt's docs have a table: as a source, or as what a node makes."""
        return name in self.sources() or self.makes(name)

    def functions_in(self, schema: str) -> set[str]:
        """Return the names of the project's functions in a schema, in lower case."""
        return {
            function.alias.lower()
            for function in self._values("functions")
            if function.schema.lower() == schema.lower()
        }

    def materialization(self, name: str, root: str) -> tuple[str, str] | None:
        """Return the package and the name of the macro by which the project materializes.

        dbt prefers a materialization of this adapter to all others. So this is the one that dbt
        would choose for dbt-spark. `root` is the name of the root project.

        Returns:
            None if dbt would choose its own materialization, or dbt-spark's.
        """
        find = getattr(self._manifest(), "find_materialization_macro_by_name", None)
        macro = None if find is None else find(root, name, "spark")
        if macro is None or macro.package_name in INTERNAL_PACKAGES:
            return None
        return macro.package_name, macro.name

    def _nodes_in(self, schemas: Collection[str]) -> Iterator[Any]:
        for node in self._values("nodes"):
            if node.is_relational and not node.is_ephemeral_model:
                if node.schema.lower() in schemas:
                    yield node

    def _values(self, kind: str) -> Collection[Any]:
        found: Collection[Any] = getattr(self._manifest(), kind, {}).values()
        return found
