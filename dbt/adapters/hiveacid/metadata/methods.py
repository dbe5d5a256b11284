"""The adapter's methods for what dbt asks about sources without reading them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import agate
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SparkAdapter

from dbt.adapters.hiveacid.metadata.columns import catalog_rows, spark_columns, with_rows
from dbt.adapters.hiveacid.metadata.states import states_for_docs
from dbt.adapters.hiveacid.metadata.statistics import TableStatistics
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.relation import HiveAcidRelation

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.run import Run
    from dbt.adapters.hiveacid.spark.session import SessionHandle


class MetadataMethods(SparkAdapter):
    """Columns and docs of ACID sources: from the metastore, without a lock or a transaction."""

    run: Run

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        """A relation's columns; those of an ACID source from the metastore, without a query."""
        columns = self._acid_columns(relation)
        return super().get_columns_in_relation(relation) if columns is None else columns

    def _acid_columns(self, relation: BaseRelation) -> list[SparkColumn] | None:
        if not isinstance(relation, HiveAcidRelation) or not relation.identifier:
            return None
        name = relation.table_name()
        # Unit tests ask for a source by its plain name.
        if relation.acid_view is None and name not in self._declared():
            return None
        table = self.run.tables.get(name)
        if table is None or not table.is_transactional:
            return None
        return spark_columns(table)

    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: Any
    ) -> agate.Table:
        """One database's part of the docs: ACID sources as the metastore has them, and the rest.

        Spark is asked for the rest only if there is any: it lists whole databases.
        """
        names = {name for name in self._declared() if name.database in schemas}
        seen = self.run.see(names)
        catalog = agate.Table([])
        if names - seen.keys() or self._has_nodes_in(schemas):
            catalog = super()._get_one_catalog(information_schema, schemas, used_schemas)
        rows: list[dict[str, Any]] = []
        for name in sorted(seen):
            states = states_for_docs(self._session(), seen[name])
            statistics = TableStatistics.of(seen[name], states)
            rows += catalog_rows(seen[name].table, statistics.entries())
        return with_rows(catalog, rows)

    def _has_nodes_in(self, schemas: Iterable[str]) -> bool:
        nodes = getattr(self.get_macro_resolver(), "nodes", {}).values()
        return any(
            node.is_relational and not node.is_ephemeral_model and node.schema.lower() in schemas
            for node in nodes
        )

    def _declared(self) -> set[TableName]:
        sources = getattr(self.get_macro_resolver(), "sources", {})
        return {TableName(source.schema, source.identifier) for source in sources.values()}

    def _session(self) -> Any:
        handle: SessionHandle = self.connections.get_thread_connection().handle
        return handle.session
