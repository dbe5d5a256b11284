"""The adapter's methods for what dbt asks about sources without reading them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import agate
from dbt.adapters.base import available
from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.contracts.macros import MacroResolverProtocol
from dbt.adapters.contracts.relation import RelationType
from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.impl import SparkAdapter
from dbt_common.contracts.metadata import CatalogTable
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.column import HiveAcidColumn
from dbt.adapters.hiveacid.errors import FreshnessError, raising_dbt_errors
from dbt.adapters.hiveacid.metadata.catalog import (
    catalog_rows,
    catalog_table,
    described_rows,
    new_comments,
    spark_columns,
    with_rows,
)
from dbt.adapters.hiveacid.metadata.freshness import find_last_write
from dbt.adapters.hiveacid.metadata.statistics import TableStatistics, states_for_docs
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.spark.guard import is_plain_table
from dbt.adapters.hiveacid.spark.sql import in_utc, text_literal
from hiveacid.errors import HiveAcidError, MetastoreError
from hiveacid.metastore.models import TableName
from hiveacid.snapshots.tables import UnlockedTable

if TYPE_CHECKING:
    from dbt.adapters.hiveacid.invocation import Invocation
    from dbt.adapters.hiveacid.spark.session import SessionHandle


logger = AdapterLogger("HiveAcid")


class MetadataMethods(SparkAdapter):
    """Columns, docs and freshness of ACID sources: without a lock or a transaction."""

    run: Invocation

    @raising_dbt_errors
    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        """A relation's columns; those of an ACID source from the metastore, without a query."""
        columns = self._acid_columns(relation)
        if columns is not None:
            return list(columns)
        return [HiveAcidColumn.of(column) for column in super().get_columns_in_relation(relation)]

    @raising_dbt_errors
    def get_relation(self, database: str, schema: str, identifier: str) -> BaseRelation | None:
        """A relation of Spark's catalog, or an ACID source where its metastore is another one.

        It has the name of the table, which Spark cannot read: a statement needs `source()`. What a
        node makes is looked for in Spark's catalog alone, though a source may have its name.
        """
        found: BaseRelation | None = super().get_relation(database, schema, identifier)
        if found is not None:
            return found
        relation = self.Relation.create(
            schema=schema, identifier=identifier, type=RelationType.Table
        )
        if self._is_made_by_a_node(relation) or self._acid_columns(relation) is None:
            return None
        return relation

    @available
    def hiveacid_new_comments(
        self, relation: HiveAcidRelation, columns: Mapping[str, Mapping[str, Any]]
    ) -> dict[str, str]:
        """See `new_comments`; each comment is a literal in SQL."""
        comments = new_comments(self._session(), relation, columns)
        return {name: text_literal(comment) for name, comment in comments.items()}

    def _acid_columns(self, relation: BaseRelation) -> list[HiveAcidColumn] | None:
        if not isinstance(relation, HiveAcidRelation) or not self._may_be_acid(relation):
            return None
        table = self.run.tables.get(relation.table_name())
        if table is None or not table.is_transactional or self._is_sparks_own(relation):
            return None
        return spark_columns(table)

    def _may_be_acid(self, relation: HiveAcidRelation) -> bool:
        """Whether the metastore is asked for the relation: it is a source.

        Unit tests ask for a source by its plain name.
        """
        if relation.acid_view is not None:
            return True
        return bool(relation.identifier) and relation.table_name() in self._declared()

    def _is_sparks_own(self, relation: HiveAcidRelation) -> bool:
        """Whether this is a table in a catalog of Spark's own, with the name of an ACID source."""
        if relation.acid_view is not None:
            return False
        name = relation.table_name()
        with self.connections.exception_handler(f"look {name} up in Spark's catalog"):
            return is_plain_table(self._session(), name.database, name.table)

    def _get_one_catalog(
        self, information_schema: Any, schemas: set[str], used_schemas: Any
    ) -> agate.Table:
        """One database's part of the docs: ACID sources as the metastore has them, and the rest.

        Spark is asked for the rest only if there is any: it lists whole databases.
        """
        names = {name for name in self._declared() if name.database in schemas}
        seen = self.run.see(names)
        catalog = agate.Table([])
        if names - seen.keys() or any(self._nodes_in(schemas)):
            catalog = super()._get_one_catalog(information_schema, schemas, used_schemas)
        rows: list[dict[str, Any]] = []
        for name in sorted(seen):
            rows += self._rows_of_acid(seen[name])
        return with_rows(catalog, rows)

    def _rows_of_acid(self, seen: UnlockedTable) -> list[dict[str, Any]]:
        states = states_for_docs(self._session(), seen)
        return catalog_rows(seen.table, TableStatistics.of(seen, states).entries())

    @raising_dbt_errors
    def get_catalog_for_single_relation(self, relation: BaseRelation) -> CatalogTable | None:
        """What the docs would have of one relation, which need not be in the project.

        Raises:
            DbtRuntimeError: there is no such relation.
        """
        assert isinstance(relation, HiveAcidRelation)
        if self._may_be_acid(relation):
            name = relation.table_name()
            seen = self.run.see([name]).get(name)
            if seen is not None and not self._is_sparks_own(relation):
                return catalog_table(self._rows_of_acid(seen))
        return catalog_table(self._rows_of_described(relation))

    def _get_columns_for_catalog(self, relation: BaseRelation) -> Iterable[dict[str, Any]]:
        """A relation's columns for the docs, a row for each.

        Of those that the docs have, Spark tells the comments and the types as its SQL names them.
        dbt-spark reads both from a listing of the database, which has no comments of columns.
        """
        if relation.is_function:
            return []
        if not self._is_documented(relation):
            return super()._get_columns_for_catalog(relation)
        try:
            return self._rows_of_described(relation)
        except DbtRuntimeError as error:
            logger.debug(f"No comments of {relation}: {error.msg}")
            return super()._get_columns_for_catalog(relation)

    def _rows_of_described(self, relation: BaseRelation) -> list[dict[str, Any]]:
        described = self.execute_macro("get_columns_in_relation_raw", kwargs={"relation": relation})
        return described_rows(self.parse_describe_extended(relation, described), described)

    def calculate_freshness_from_metadata_batch(
        self, sources: list[BaseRelation], macro_resolver: MacroResolverProtocol | None = None
    ) -> tuple[list[AdapterResponse | None], dict[BaseRelation, Any]]:
        """The freshness of those sources whose last write the metastore and the files tell.

        dbt asks for the others again, one by one, and gets the reason. It gives up the whole
        command if this raises anything.
        """
        # dbt asks for those with a query, too, and does not use the answer.
        asked = [source for source in sources if not self._has_query(source)]
        found: dict[BaseRelation, Any] = {}
        with self.connection_named("freshness_from_metadata"):
            try:
                seen = self.run.see({_table_of(source) for source in asked})
            except MetastoreError as error:
                logger.debug(f"No freshness from metadata in batch: {error.message}")
                return [], {}
            for source in asked:
                table = seen.get(_table_of(source))
                if table is None:
                    continue
                try:
                    found[source] = self._last_write(source, table)
                except (DbtRuntimeError, HiveAcidError) as error:
                    logger.debug(f"No freshness from metadata for {source}: {error}")
        return [], found

    @raising_dbt_errors
    def calculate_freshness_from_metadata(
        self, source: BaseRelation, macro_resolver: MacroResolverProtocol | None = None
    ) -> tuple[AdapterResponse | None, Any]:
        """When a source was last written to.

        Raises:
            FreshnessError: that cannot be told; with the reason.
        """
        return None, self._last_write(source)

    def _create_freshness_response(
        self, last_modified: datetime | None, snapshotted_at: datetime | None
    ) -> Any:
        """dbt takes a time without a zone to be in UTC; a query gives it by the session's clock."""
        return super()._create_freshness_response(
            self._in_utc(last_modified), self._in_utc(snapshotted_at)
        )

    def _in_utc(self, time: datetime | None) -> datetime | None:
        # What is no time at all, such as a text, dbt refuses.
        if not isinstance(time, datetime) or time.tzinfo is not None:
            return time
        return in_utc(self._session(), time)

    def _last_write(self, source: BaseRelation, first: UnlockedTable | None = None) -> Any:
        """`first` is the table as it has been seen, if it has."""
        assert isinstance(source, HiveAcidRelation)
        name = source.table_name()
        options = source.options or SourceOptions()
        looks = [first] if first is not None else []

        def see() -> UnlockedTable:
            seen = looks.pop() if looks else self.run.see([name]).get(name)
            if seen is None:
                raise FreshnessError(
                    f"{name} is no transactional table of the metastore, and only those tell when "
                    "they were last written to. Give the source a loaded_at_field or a "
                    "loaded_at_query."
                )
            return options.partitions.of_table(seen)

        last = find_last_write(self._session(), see, self.run.valid_txns, self.run.snapshot.footers)
        if last is None:
            raise FreshnessError(
                f"{name} is empty: it has no files of a committed write with rows or deletes, so "
                "nothing tells when it was last written to. Load it, or give the source a "
                "loaded_at_field or a loaded_at_query."
            )
        logger.info(f"{name} was last written to {last}")
        return self._create_freshness_response(last.at, datetime.now(timezone.utc))

    def _has_query(self, source: BaseRelation) -> bool:
        sources = getattr(self.get_macro_resolver(), "sources", {}).values()
        return any(
            (it.schema, it.identifier) == (source.schema, source.identifier)
            and getattr(it, "loaded_at_query", None) is not None
            for it in sources
        )

    def _nodes_in(self, schemas: Container[str]) -> Iterator[Any]:
        for node in getattr(self.get_macro_resolver(), "nodes", {}).values():
            if node.is_relational and not node.is_ephemeral_model:
                if node.schema.lower() in schemas:
                    yield node

    def _is_documented(self, relation: BaseRelation) -> bool:
        """Whether the docs have the relation: as a source, or as what a node makes."""
        assert isinstance(relation, HiveAcidRelation)
        return relation.table_name() in self._declared() or self._is_made_by_a_node(relation)

    def _is_made_by_a_node(self, relation: BaseRelation) -> bool:
        assert isinstance(relation, HiveAcidRelation)
        name = relation.table_name()
        return any(
            node.identifier.lower() == name.table for node in self._nodes_in([name.database])
        )

    def _declared(self) -> set[TableName]:
        sources = getattr(self.get_macro_resolver(), "sources", {})
        return {TableName(source.schema, source.identifier) for source in sources.values()}

    def _session(self) -> Any:
        handle: SessionHandle = self.connections.get_thread_connection().handle
        return handle.session


def _table_of(source: BaseRelation) -> TableName:
    assert isinstance(source, HiveAcidRelation)
    return source.table_name()
