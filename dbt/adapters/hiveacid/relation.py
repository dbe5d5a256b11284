"""Relations of dbt-spark, with options for sources that are ACID tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol, cast

from dbt.adapters.base.relation import BaseRelation, EventTimeFilter
from dbt.adapters.contracts.relation import ComponentName, HasQuoting, RelationConfig
from dbt.adapters.spark.column import SparkColumn
from dbt.adapters.spark.relation import SparkRelation

from dbt.adapters.hiveacid.errors import raising_dbt_errors
from dbt.adapters.hiveacid.sources.options import SourceOptions
from hiveacid.metastore.models import TableName
from hiveacid.sql.clauses import render_read

_ICEBERG = "table_type=iceberg"
"""Property of Iceberg tables in a Hive catalog (`BaseMetastoreTableOperations.TABLE_TYPE_PROP`)."""


@dataclass(frozen=True, eq=False, repr=False)
class HiveAcidRelation(SparkRelation):
    """Relation. A source may have options, or stand for its changes instead of its rows.

    Attributes:
        options: the options of a source; None without any.
        shown: the SQL to render in place of the relation's name, and the table that the SQL reads;
            None to render the name.
    """

    options: SourceOptions | None = None
    shown: tuple[str, TableName] | None = None

    @classmethod
    @raising_dbt_errors
    def create_from(
        cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any
    ) -> HiveAcidRelation:
        """Return the relation of a node or of a source, without a call to Spark or the metastore.

        dbt resolves `source()` for a statement with `limit` among the arguments (None for no
        limit). The parser, freshness and the docs never pass `limit`. There a source renders as its
        plain name, without options.
        """
        relation: HiveAcidRelation = super().create_from(quoting, relation_config, **kwargs)
        if relation_config.resource_type != "source":
            return relation
        options = SourceOptions.of(relation_config).of_a_read()
        if options != SourceOptions():
            relation = relation.replace(options=options)
        return relation.as_read() if "limit" in kwargs else relation

    def as_read(self) -> HiveAcidRelation:
        """Return this source with its options rendered, as a statement reads it."""
        if self.options is None:
            return self
        name = self.replace(shown=None, limit=None, event_time_filter=None).render()
        return self.showing(render_read(name, self.options.as_clauses().options()))

    def showing(self, sql: str) -> HiveAcidRelation:
        """Return this table with `sql` in place of its name."""
        return self.replace(shown=(sql, self.table_name()))

    def table_name(self) -> TableName:
        """Return the name of the table in the metastore."""
        return TableName(self.schema or "default", self.identifier or "")

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        """Return a condition whose bounds are local times without a zone, as Hive's timestamps.

        dbt's bounds are in UTC, with `+00:00`. The days of a microbatch would differ from the days
        of `cast(… as date)`, by which its target is partitioned, and each batch would overwrite
        partitions with parts of their days. Only the bounds of `--sample "3 days"` are instants:
        now, and three days ago. They are recognized by their fractions of a second.
        """
        return super()._render_event_time_filtered(
            replace(
                event_time_filter,
                start=_on_the_clock(event_time_filter.start),
                end=_on_the_clock(event_time_filter.end),
            )
        )

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        """Compare names case-insensitively, as Spark's catalog does.

        dbt looks for the name in lower case, but caches a relation that this run has made under the
        name of its model.
        """
        return self.path.get_lowered_part(field) == value.lower()

    def render(self) -> str:
        """Return the relation in SQL.

        If a macro has given a source another identifier or schema, `shown` does not apply: it is
        another table.
        """
        if self.shown is not None and self.include_policy.identifier:
            sql, table = self.shown
            if table == self.table_name():
                return sql
        return super().render()


class RelationCatalog(Protocol):
    """Tables and views of Spark's catalogs, through dbt's cache: methods of dbt's adapters.

    Code that works on targets uses only these methods of the adapter.
    """

    def get_relation(self, database: Any, schema: str, identifier: str) -> BaseRelation | None:
        """Return the relation that has a name; None if there is none."""

    def get_columns_in_relation(self, relation: BaseRelation) -> Sequence[SparkColumn]:
        """Return the columns of a relation."""

    def list_relations(self, database: str | None, schema: str) -> Iterable[BaseRelation]:
        """List a schema from dbt's cache."""

    def list_relations_without_caching(
        self, schema_relation: BaseRelation
    ) -> Iterable[BaseRelation]:
        """List a schema as it is now, without dbt's cache."""

    def cache_added(self, relation: BaseRelation | None) -> str:
        """Add a relation to dbt's cache."""

    def rename_relation(self, from_relation: BaseRelation, to_relation: BaseRelation) -> None:
        """Rename a table or view."""

    def drop_relation(self, relation: BaseRelation) -> None:
        """Drop a table or view, if it exists."""


def ours(relation: BaseRelation) -> HiveAcidRelation:
    """Return a relation with the type that this adapter makes: dbt declares only its base class."""
    # No check: dbt's own tests pass a stand-in.
    return cast(HiveAcidRelation, relation)


def _on_the_clock(bound: datetime | None) -> datetime | None:
    return bound if bound is None or bound.microsecond else bound.replace(tzinfo=None)


def with_format(relation: Any) -> Any:
    """Return a relation with `is_iceberg` set by the text of SHOW TABLE EXTENDED.

    dbt-spark looks at the provider, which is `hive` for an Iceberg table in Iceberg's
    `SparkSessionCatalog`.
    """
    if relation.is_iceberg or not shows_property(relation, _ICEBERG):
        return relation
    return relation.replace(is_iceberg=True)


def shows_property(relation: Any, text: str) -> bool:
    """Return whether the text of SHOW TABLE EXTENDED has a property, such as `transactional=true`.

    Only the line of the table properties counts: the same words may occur elsewhere.
    """
    pattern = rf"^Table Properties: .*\b{re.escape(text)}\b"
    information = getattr(relation, "information", None) or ""
    return re.search(pattern, information, re.IGNORECASE | re.MULTILINE) is not None
