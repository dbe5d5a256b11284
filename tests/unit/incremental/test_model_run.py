"""What `acid_changes` renders to, and who makes its view, from pre-hooks to post-hooks."""

from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.model_run import ModelRun, ModelRuns
from dbt.adapters.hiveacid.incremental.plans import ViewAfterRun, ViewBeforeRun
from dbt.adapters.hiveacid.sources.acid_sources import SourceView
from tests.unit.incremental.runs import SOURCE, TARGET, context

CHANGES = SourceView("hiveacid__shop__orders__changes0", SOURCE.table)
ORDERS = TARGET.incorporate(path={"schema": "shop"}).read_through(SOURCE.name)


class Node:
    """A node whose run has begun, or not."""

    is_full_load = False

    def __init__(self, changes_view=None):
        self.changes_view = changes_view


def model_of(**config):
    given = {"materialized": "incremental", "incremental_strategy": "acid_changes", **config}
    return {"name": "m", "config": given}


@pytest.fixture
def invocation():
    views = SimpleNamespace(changes_of=lambda source, target: (SOURCE, CHANGES))
    return SimpleNamespace(views=views, models={})


def declare(invocation, node=None, source=ORDERS, **config):
    services = SimpleNamespace(invocation=invocation, read_state=lambda model: None)
    return ModelRuns(services, lambda: node).changes_of(
        source, TARGET, model_of(**config), is_incremental=True, is_partial=False
    )


def test_a_model_reads_changes_by_the_name_of_a_view_of_its_own(invocation):
    assert str(declare(invocation)) == CHANGES.name
    maker = invocation.models[CHANGES.name]
    assert isinstance(maker, ViewBeforeRun)
    assert (maker.model.name, maker.model.source) == ("m", SOURCE)
    assert maker.model.target.is_table, "it is dropped and renamed as a table"


@pytest.mark.parametrize("node", [None, Node(), Node("hiveacid__of__another")])
def test_the_sql_of_a_node_that_has_not_begun_is_declared_again(invocation, node):
    invocation.models[CHANGES.name] = "the maker of an earlier compilation"
    declare(invocation, node)
    assert isinstance(invocation.models[CHANGES.name], ViewBeforeRun)


def test_rendering_the_sql_of_a_run_that_has_begun_leaves_its_view_alone(invocation):
    invocation.models[CHANGES.name] = "the run's maker"
    assert str(declare(invocation, Node(CHANGES.name))) == CHANGES.name
    assert invocation.models[CHANGES.name] == "the run's maker"


@pytest.mark.parametrize(
    ("source", "config", "message"),
    [
        (TARGET, {}, r"m uses acid_changes\(marts.orders\), which is not an ACID table"),
        (ORDERS, {"materialized": "ephemeral"}, "m uses acid_changes, which shows what changed"),
        (ORDERS, {"incremental_strategy": None}, "m uses acid_changes and has no `incremental_st"),
    ],
)
def test_a_use_that_makes_no_sense_is_refused(invocation, source, config, message):
    with pytest.raises(IncrementalError, match=message):
        declare(invocation, source=source, **config)


def test_an_open_node_tells_whether_it_loads_in_full():
    services = SimpleNamespace()
    assert not ModelRuns(services, lambda: None).is_full_load()
    node = Node()
    assert not ModelRuns(services, lambda: node).is_full_load()
    node.is_full_load = True
    assert ModelRuns(services, lambda: node).is_full_load()


def test_the_view_is_refused_once_the_run_has_ended(invocation):
    run = context(services={"invocation": invocation})
    ModelRun(run).end()
    assert isinstance(invocation.models[run.model.view.name], ViewAfterRun)
