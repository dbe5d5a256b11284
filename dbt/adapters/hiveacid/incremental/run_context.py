"""What all phases of a model's run share: the model, its sources and the adapter's services."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from dbt.adapters.base.relation import BaseRelation
from dbt.adapters.contracts.connection import AdapterResponse
from dbt.adapters.spark.column import SparkColumn
from dbt_common.invocation import get_invocation_id
from pyspark.sql import DataFrame

from dbt.adapters.hiveacid.incremental.plans import ChangesModel, SourcePlans, source_key
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.node_context import RowMaker, Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.acid_sources import Source
from dbt.adapters.hiveacid.targets.recovery import Recovery
from dbt.adapters.hiveacid.targets.staging import Staging
from dbt.adapters.hiveacid.targets.state import StateLookup, TargetState, next_state
from dbt.adapters.hiveacid.targets.stores import TargetStores
from hiveacid.changes.plan import ChangePlan


class AdapterCalls(Protocol):
    """The part of the adapter that runs of models need."""

    def execute(self, sql: str, auto_begin: bool = False) -> tuple[AdapterResponse, Any]:
        """Run a statement."""

    def drop_relation(self, relation: BaseRelation) -> Any:
        """Drop a table or view, if it exists."""

    def get_relation(self, database: Any, schema: Any, identifier: Any) -> Any:
        """Return the relation that has a name; None if there is none."""

    def get_columns_in_relation(self, relation: BaseRelation) -> list[SparkColumn]:
        """Return the columns of a relation."""

    def hiveacid_check_snapshot(self) -> None:
        """Stop the model if the transaction under which it read its sources is lost."""


@dataclass(frozen=True)
class RunServices:
    """The collaborators of all runs of models."""

    adapter: AdapterCalls
    invocation: Invocation
    statements: Statements
    staging: Staging
    stores: TargetStores
    recovery: Recovery

    def execute(self, sql: str) -> AdapterResponse:
        """Run a statement and return its response."""
        return self.adapter.execute(sql, auto_begin=True)[0]

    def read_state(self, model: ChangesModel) -> StateLookup:
        """Look up the state of a model's target as it is now."""
        target = model.target
        existing = self.adapter.get_relation(target.database, target.schema, target.identifier)
        return self.stores.read(existing, target, model.config.file_format)

    def columns_of(self, relation: HiveAcidRelation) -> list[str]:
        """Return the names of a relation's columns in lower case."""
        return [column.name.lower() for column in self.adapter.get_columns_in_relation(relation)]


@dataclass(frozen=True)
class RunContext:
    """One run of a model over `acid_changes`, in whichever phase.

    `others` are the other ACID sources of the model that are not static.
    """

    services: RunServices = field(repr=False)
    model: ChangesModel
    plans: SourcePlans
    others: tuple[Source, ...] = ()

    def next_state(self, previous: StateLookup, applied: ChangePlan | None) -> TargetState:
        """Return the state of the target after this run; runs as a statement.

        Args:
            previous: the state of the target before the run.
            applied: the changes that the run applies; None if it builds the table as a whole.
        """
        model, statements = self.model, self.services.statements
        return statements.run(
            f"look up what {model.name} has read", lambda: self._next_state(previous, applied)
        )

    def model_rows(self, sql: str, maker: RowMaker) -> DataFrame:
        """Return the rows of the model's SQL over the changes that `maker` makes."""
        services, makers = self.services, {self.model.changes: maker}
        node = services.statements.node

        def rows() -> DataFrame:
            services.invocation.prepare(node, sql, makers)
            return node.run_sql(sql.strip().removesuffix(";"))

        return services.statements.run(sql, rows)

    def query(self, sql: str) -> Iterable[Any]:
        """Run a statement and return its rows."""
        return self.services.statements.query(sql)

    def _next_state(self, previous: StateLookup, applied: ChangePlan | None) -> TargetState:
        session, source = self.services.statements.session, self.model.source
        plan = applied or self.plans.whole(session, source)
        sources = {source_key(source): plan.state.to_json()}
        for other in self.others:
            sources[source_key(other)] = self.plans.whole(session, other).state.to_json()
        key = self.model.config.checked_key
        return next_state(previous, get_invocation_id(), sources, key)
