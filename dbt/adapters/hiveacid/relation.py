"""Relations: dbt-spark's, and sources that are ACID tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, ClassVar, Protocol

from dbt.adapters.base.relation import EventTimeFilter
from dbt.adapters.contracts.relation import ComponentName, HasQuoting, RelationConfig
from dbt.adapters.spark.relation import SparkRelation

from dbt.adapters.hiveacid.errors import raising_dbt_errors
from dbt.adapters.hiveacid.sources.options import SourceOptions
from hiveacid.metastore.models import TableName

# Iceberg's mark on tables in a Hive catalog (`BaseMetastoreTableOperations.TABLE_TYPE_PROP`).
_ICEBERG = re.compile(r"^Table Properties: .*\btable_type=iceberg\b", re.IGNORECASE | re.MULTILINE)


class SourceNames(Protocol):
    """Names by which Spark reads sources (`SourceViews`)."""

    def name_of(self, table: TableName, options: SourceOptions) -> str | None:
        """Return the name of a source's view; None for a source that Spark reads right itself."""


@dataclass(frozen=True)
class View:
    """View of the run's snapshot, and the table that it shows."""

    name: str
    table: TableName


@dataclass(frozen=True, eq=False, repr=False)
class HiveAcidRelation(SparkRelation):
    """Relation; `view` is set for a source that is read through the run's snapshot.

    The path stays the Hive table's, so that macros find database and identifier in it. `options`
    is set for a source that has options.
    """

    view: View | None = None
    options: SourceOptions | None = None

    sources: ClassVar[SourceNames | None] = None

    @classmethod
    def bound_to(cls, sources: SourceNames) -> type[HiveAcidRelation]:
        """Return a subclass whose `create_from` knows the sources of one adapter instance."""
        return type(cls.__name__, (cls,), {"sources": sources, "__module__": cls.__module__})

    @classmethod
    @raising_dbt_errors
    def create_from(
        cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any
    ) -> HiveAcidRelation:
        """Return the relation of a node or of a source.

        dbt resolves `source()` for a statement with `limit` among the arguments (None for no
        limit). The parser, freshness and the docs never give `limit`: there a source is named as in
        dbt-spark, and the metastore is not asked.
        """
        relation: HiveAcidRelation = super().create_from(quoting, relation_config, **kwargs)
        if relation_config.resource_type != "source":
            return relation
        options = SourceOptions.of(relation_config)
        if options != SourceOptions():
            relation = relation.replace(options=options)
        return relation.as_read() if "limit" in kwargs else relation

    def as_read(self) -> HiveAcidRelation:
        """Return this source as a statement reads it."""
        if self.sources is None:
            return self
        view = self.sources.name_of(self.table_name(), self.options or SourceOptions())
        return self if view is None else self.read_through(view)

    def read_through(self, view: str) -> HiveAcidRelation:
        """Return this table as a statement reads it through a view of this name."""
        return self.replace(view=View(view, self.table_name()))

    @property
    def acid_view(self) -> str | None:
        """Name of the view that shows this table; None without one.

        A macro may have given a source another identifier or schema: then it is another table.
        """
        if self.view is None or self.view.table != self.table_name():
            return None
        return self.view.name

    def read_in(self, sql: str) -> str:
        """Return a query that names this source as dbt-spark does, with the name of its view.

        Longer names stay as they are, and so does the name in quotation marks.
        """
        if self.as_read() is self:
            return sql
        name = re.escape(super().render())
        return re.sub(rf"(?<![\w.`'\"]){name}(?![\w`'\"])", self.as_read().render(), sql)

    def table_name(self) -> TableName:
        """Return the name of the table in the metastore."""
        return TableName(self.schema or "default", self.identifier or "")

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        """Return a condition whose bounds are times of the session's clock, as Hive's timestamps.

        dbt cuts time in UTC and says so (`+00:00`). The days of a microbatch would differ from the
        days of `cast(… as date)`, by which its target is partitioned: each batch would overwrite
        partitions with parts of their days. Only `--sample "3 days"` has moments as bounds, now and
        three days before now, which have fractions of a second.
        """
        return super()._render_event_time_filtered(
            replace(
                event_time_filter,
                start=_on_the_clock(event_time_filter.start),
                end=_on_the_clock(event_time_filter.end),
            )
        )

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        """Compare names in any case, as Spark's catalog does.

        dbt looks for the name in lower case, but keeps a relation that this run has made under the
        name of its model.
        """
        return self.path.get_lowered_part(field) == value.lower()

    def render(self) -> str:
        """Return the name in SQL: the view of an ACID source, otherwise as dbt-spark renders it."""
        if self.acid_view is not None and self.include_policy.identifier and self.identifier:
            return self.acid_view
        return super().render()


def _on_the_clock(bound: datetime | None) -> datetime | None:
    return bound if bound is None or bound.microsecond else bound.replace(tzinfo=None)


def with_format(relation: Any) -> Any:
    """Return a relation with its format, by the text of SHOW TABLE EXTENDED.

    dbt-spark looks at the provider, which is `hive` for an Iceberg table in Spark's session catalog
    (Iceberg's `SparkSessionCatalog`).
    """
    if relation.is_iceberg or not _ICEBERG.search(relation.information or ""):
        return relation
    return relation.replace(is_iceberg=True)
