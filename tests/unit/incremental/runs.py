"""Runs of a model over fakes of Spark and of the adapter."""

from contextlib import nullcontext
from types import SimpleNamespace

from pyspark.sql import Row
from pyspark.sql.types import IntegerType, StructType

from dbt.adapters.hiveacid.incremental.apply import StagedRun
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.incremental.decision import PlannedRun
from dbt.adapters.hiveacid.incremental.plans import ChangesModel, SourcePlans
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.acid_sources import ChangesOf, Source
from hiveacid.acid.write_ids import WriteIdRanges
from hiveacid.metastore.models import TableName

TARGET = HiveAcidRelation.create(schema="marts", identifier="orders", type="table")
STAGE = TARGET.incorporate(path={"identifier": "orders__dbt_changes_0123abcd"})
SOURCE = Source(TableName("shop", "orders"))
CHANGES = ChangesOf(SOURCE, "marts.orders")


class Pinned:
    """Sources in one snapshot, of transaction 7."""

    def pinned(self, source):
        return SimpleNamespace(transaction_id=7)


class Statements:
    """Statements of a node; each query gives the row of a stage's summary."""

    errors = staticmethod(nullcontext)

    def __init__(self, times=1):
        self.queries, self.looked_up, self.times = [], [], times
        self.session = SimpleNamespace(table=self._table)
        self.node = SimpleNamespace(uninterrupted=nullcontext, stages={}, has_read=frozenset())

    def run(self, sql, function):
        return function()

    def query(self, sql):
        self.queries.append(sql)
        bounds = {f"{bound}_{i}": v for i in range(3) for bound, v in (("low", 3), ("high", 7))}
        nulls = {f"nulls_{i}": 0 for i in range(3)}
        key = Row(id=3)
        return [Row(inserts=2, deletes=1, times=self.times, repeated=key, **bounds, **nulls)]

    def _table(self, name):
        self.looked_up.append(name)
        return SimpleNamespace(schema=StructType().add("id", IntegerType()))


def model(*, is_incremental=True, is_partial=False, **config):
    """A model over the changes of `shop.orders`."""
    options = IncrementalConfig.of("m", {"incremental_strategy": "acid_changes", **config})
    return ChangesModel("m", SOURCE, CHANGES, TARGET, options, is_incremental, is_partial)


def context(statements=None, others=(), sources=None, *, is_partial=False, services=None, **config):
    """The run of such a model; `services` are more of its collaborators."""
    fakes = SimpleNamespace(
        statements=statements or Statements(),
        execute=lambda sql: None,
        **{"invocation": SimpleNamespace(invocation_id="i"), **(services or {})},
    )
    return RunContext(
        fakes, model(is_partial=is_partial, **config), SourcePlans(sources or Pinned()), others
    )


def planned(run, *, remaining=(), previous=None, stored=()):
    """The run once its changes are planned; `remaining` are the write ids left for later."""
    plan = SimpleNamespace(remaining=WriteIdRanges.of_ids(remaining))
    mode = run.model.config.mode(has_row_id=True)
    return PlannedRun(run, previous, "select 1", plan, mode, None, stored)


def staged(run, **options):
    """The run once its changes are staged: two inserts and a delete, of the ids 3 to 7."""
    return StagedRun(planned(run, **options), TARGET, STAGE)
