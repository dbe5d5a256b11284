"""Context of all phases of a model's run: the model, its sources and the collaborators."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from dbt.adapters.contracts.connection import AdapterResponse
from pyspark.sql import DataFrame, Row, SparkSession

from dbt.adapters.hiveacid.connections import HiveAcidConnectionManager
from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.plans import ChangesModel, SourcePlans, source_key
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.node_context import NodeContext, RowMaker, Statements
from dbt.adapters.hiveacid.relation import HiveAcidRelation, RelationCatalog, ours
from dbt.adapters.hiveacid.sources.acid_sources import Source
from dbt.adapters.hiveacid.sources.prepare import find_cross_row
from dbt.adapters.hiveacid.targets.recovery import Recovery
from dbt.adapters.hiveacid.targets.staging import Staging
from dbt.adapters.hiveacid.targets.state import StateLookup, TargetState, next_state
from dbt.adapters.hiveacid.targets.stores import TargetStores
from hiveacid.changes.plan import ChangePlan


@dataclass(frozen=True)
class RunServices:
    """The collaborators of all runs of models."""

    connections: HiveAcidConnectionManager
    relations: RelationCatalog
    invocation: Invocation
    statements: Statements
    staging: Staging
    stores: TargetStores
    recovery: Recovery

    def execute(self, sql: str) -> AdapterResponse:
        """Run a statement and return its response."""
        return self.connections.execute(sql, auto_begin=True)[0]

    def find(self, target: HiveAcidRelation) -> HiveAcidRelation | None:
        """Return the relation with a target's name; None if there is none."""
        found = self.relations.get_relation(
            target.database, str(target.schema), str(target.identifier)
        )
        return None if found is None else ours(found)

    def read_state(self, model: ChangesModel) -> StateLookup:
        """Look up the state of a model's target as it is now."""
        return self.stores.read(self.find(model.target), model.target, model.config.file_format)

    def columns_of(self, relation: HiveAcidRelation) -> list[str]:
        """Return the names of a relation's columns in lower case."""
        return [column.name.lower() for column in self.relations.get_columns_in_relation(relation)]


@dataclass(frozen=True)
class RunContext:
    """One run of a model over `acid_changes`, in any phase.

    `others` are the other ACID sources of the model that are not static.
    """

    services: RunServices = field(repr=False)
    model: ChangesModel
    plans: SourcePlans
    others: tuple[Source, ...] = ()

    @property
    def statements(self) -> Statements:
        """The statements of the node that runs on this thread."""
        return self.services.statements

    @property
    def session(self) -> SparkSession:
        """The Spark session of that node."""
        return self.statements.session

    @property
    def node(self) -> NodeContext:
        """The node that runs on this thread."""
        return self.statements.node

    def execute(self, sql: str) -> AdapterResponse:
        """Run a statement and return its response."""
        return self.services.execute(sql)

    def query(self, sql: str) -> Iterable[Row]:
        """Run a statement and return its rows."""
        return self.statements.query(sql)

    def check_snapshot(self) -> None:
        """Stop the model if the transaction under which it read its sources is lost.

        Raises:
            TransactionLostError: naming the transaction and its tables.
        """
        self.services.invocation.check_snapshot(self.node)

    def check_row_wise(self, sql: str) -> None:
        """Refuse the model's SQL if it is not row-wise over `acid_changes`.

        Raises:
            IncrementalError: naming the operator and its place.
            DbtDatabaseError: Spark cannot analyse the SQL.
        """
        model, config = self.model, self.model.config
        if config.acid_changes_row_wise == "assume":
            return
        node, sources = self.node, self.services.invocation.sources
        with self.statements.errors(sql):
            found = find_cross_row(
                node, sql, model.changes, sources, is_keyed=bool(config.unique_key)
            )
        if found is not None:
            raise IncrementalError(
                f"Model {model.name} reads acid_changes of {model.source.table} through {found} in "
                "the compiled SQL, which needs unchanged rows, too. Later runs see changed rows "
                "only, so the target would be wrong. Make the model `materialized: table`, or set "
                "`acid_changes_row_wise: assume` if each row comes from one row of the table.",
                code="HIVEACID_CHANGES_NOT_ROW_WISE",
            )

    def model_rows(self, sql: str, maker: RowMaker) -> DataFrame:
        """Return the rows of the model's SQL over the changes that `maker` makes."""
        node, makers = self.node, {self.model.changes: maker}

        def rows() -> DataFrame:
            self.services.invocation.prepare(node, sql, makers)
            return node.run_sql(sql.strip().removesuffix(";"))

        return self.statements.run(sql, rows)

    def next_state(self, previous: StateLookup, applied: ChangePlan | None) -> TargetState:
        """Return the state of the target after this run. Runs as a statement of the node.

        Args:
            previous: the state of the target before the run.
            applied: the changes that the run applies; None if it builds the whole table.
        """
        return self.statements.run(
            f"look up what {self.model.name} has read", lambda: self._next_state(previous, applied)
        )

    def _next_state(self, previous: StateLookup, applied: ChangePlan | None) -> TargetState:
        session, source = self.session, self.model.source
        plan = applied or self.plans.whole(session, source)
        sources = {source_key(source): plan.state.to_json()}
        for other in self.others:
            sources[source_key(other)] = self.plans.whole(session, other).state.to_json()
        key = self.model.config.checked_key
        return next_state(previous, self.services.invocation.invocation_id, sources, key)
