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

# Iceberg marks its tables in a Hive catalog so (`BaseMetastoreTableOperations.TABLE_TYPE_PROP`).
_ICEBERG = re.compile(r"^Table Properties: .*\btable_type=iceberg\b", re.IGNORECASE | re.MULTILINE)


class SourceNames(Protocol):
    """Who tells by which name Spark reads a source (`SourceViews`)."""

    def name_of(self, table: TableName, options: SourceOptions) -> str | None:
        """The name of the source's view; None for a source that Spark reads right itself."""


@dataclass(frozen=True)
class View:
    """A view of the run's snapshot, and the table that it shows."""

    name: str
    table: TableName


@dataclass(frozen=True, eq=False, repr=False)
class HiveAcidRelation(SparkRelation):
    """A relation; `view` is set for a source that is read through the run's snapshot.

    Its path stays that of the Hive table, so that macros find database and identifier in it.
    `options` are those of a source that has any.
    """

    view: View | None = None
    options: SourceOptions | None = None

    sources: ClassVar[SourceNames | None] = None

    @classmethod
    def bound_to(cls, sources: SourceNames) -> type[HiveAcidRelation]:
        """A subclass whose `create_from` knows the sources of one adapter instance."""
        return type(cls.__name__, (cls,), {"sources": sources, "__module__": cls.__module__})

    @classmethod
    @raising_dbt_errors
    def create_from(
        cls, quoting: HasQuoting, relation_config: RelationConfig, **kwargs: Any
    ) -> HiveAcidRelation:
        """The relation of a node or of a source.

        dbt resolves `source()` for a statement with `limit` among the arguments (None for no
        limit). The parser, freshness and the docs never give it: there a source is named as in
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
        """This source as a statement reads it."""
        if self.sources is None:
            return self
        view = self.sources.name_of(self.table_name(), self.options or SourceOptions())
        return self if view is None else self.read_through(view)

    def read_through(self, view: str) -> HiveAcidRelation:
        """This table as a statement reads it through a view of this name."""
        return self.replace(view=View(view, self.table_name()))

    @property
    def acid_view(self) -> str | None:
        """The name of the view that shows this table, if there is one.

        A macro may have made this relation of a source, by another identifier or schema.
        """
        if self.view is None or self.view.table != self.table_name():
            return None
        return self.view.name

    def read_in(self, sql: str) -> str:
        """A query that names this source as dbt-spark does, with the name to read it by.

        Longer names stay as they are, and so does the name in quotation marks.
        """
        if self.as_read() is self:
            return sql
        name = re.escape(super().render())
        return re.sub(rf"(?<![\w.`'\"]){name}(?![\w`'\"])", self.as_read().render(), sql)

    def table_name(self) -> TableName:
        """The table in the metastore."""
        return TableName(self.schema or "default", self.identifier or "")

    def _render_event_time_filtered(self, event_time_filter: EventTimeFilter) -> str:
        """A condition whose bounds are times of the session's clock, as Hive's timestamps are.

        dbt cuts time in UTC and says so (`+00:00`), so that the days of a microbatch would not be
        those of `cast(… as date)`, by which its target is partitioned: each batch would overwrite
        partitions with parts of their days. Only `--sample "3 days"` has moments for its bounds,
        now and that before it, and these have fractions of a second.
        """
        return super()._render_event_time_filtered(
            replace(
                event_time_filter,
                start=_on_the_clock(event_time_filter.start),
                end=_on_the_clock(event_time_filter.end),
            )
        )

    def _is_exactish_match(self, field: ComponentName, value: str) -> bool:
        """Spark's catalog knows no case. dbt looks for the name in lower case, but keeps a relation
        that this run has made under the name of its model."""
        return self.path.get_lowered_part(field) == value.lower()

    def render(self) -> str:
        """The SQL name: the view of an ACID source, otherwise as dbt-spark renders it."""
        if self.acid_view is not None and self.include_policy.identifier and self.identifier:
            return self.acid_view
        return super().render()


def _on_the_clock(bound: datetime | None) -> datetime | None:
    return bound if bound is None or bound.microsecond else bound.replace(tzinfo=None)


def with_format(relation: Any) -> Any:
    """A relation with its format from what SHOW TABLE EXTENDED says of it.

    dbt-spark looks for the provider, which is `hive` for an Iceberg table in Spark's session
    catalog (Iceberg's `SparkSessionCatalog`).
    """
    if relation.is_iceberg or not _ICEBERG.search(relation.information or ""):
        return relation
    return relation.replace(is_iceberg=True)
