"""What `acid_changes` renders to, and who makes its rows, from pre-hooks to post-hooks."""

from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.model_run import ModelRun, ModelRuns, _check_others
from dbt.adapters.hiveacid.incremental.plans import NoRowsAfterRun, RowsBeforeRun
from dbt.adapters.hiveacid.sources.acid_sources import ChangesOf, Source
from hiveacid.metastore.models import TableName
from tests.unit.incremental.runs import CHANGES, SOURCE, TARGET, context, model

ORDERS = TARGET.incorporate(path={"schema": "shop"})


class Node:
    """A node whose run has begun, or not."""

    is_full_load = False

    def __init__(self, changes=None):
        self.changes = changes


def model_of(**config):
    given = {"materialized": "incremental", "incremental_strategy": "acid_changes", **config}
    return {"name": "m", "config": given}


@pytest.fixture
def invocation():
    return SimpleNamespace(sources=None, models={})


def declare(invocation, node=None, source=ORDERS, **config):
    services = SimpleNamespace(invocation=invocation, read_state=lambda model: None)
    return ModelRuns(services, lambda: node).changes_of(
        source, TARGET, model_of(**config), is_incremental=True, is_partial=False
    )


def test_changes_are_rendered_as_a_function_and_ask_nobody(invocation):
    assert str(declare(invocation)) == "acid_changes('shop.orders', 'marts.orders')"
    maker = invocation.models[CHANGES]
    assert isinstance(maker, RowsBeforeRun)
    assert (maker.model.name, maker.model.source) == ("m", SOURCE)
    assert maker.model.target.is_table, "it is dropped and renamed as a table"


ANOTHER = ChangesOf(Source(TableName("shop", "other")), "marts.orders")


@pytest.mark.parametrize("node", [None, Node(), Node(ANOTHER)])
def test_the_sql_of_a_node_that_has_not_begun_is_declared_again(invocation, node):
    invocation.models[CHANGES] = "the maker of an earlier compilation"
    declare(invocation, node)
    assert isinstance(invocation.models[CHANGES], RowsBeforeRun)


def test_rendering_the_sql_of_a_run_that_has_begun_leaves_its_rows_alone(invocation):
    invocation.models[CHANGES] = "the run's maker"
    assert str(declare(invocation, Node(CHANGES))) == CHANGES.render()
    assert invocation.models[CHANGES] == "the run's maker"


@pytest.mark.parametrize(
    ("behind", "what"),
    [
        ([], "not an ACID table"),
        ([TableName("shop", "t"), TableName("shop", "u")], "a Hive view over shop.t, shop.u"),
    ],
)
def test_the_changes_of_a_relation_that_keeps_none_are_refused(behind, what):
    sources = SimpleNamespace(is_acid=lambda source: False, behind_view=lambda source: behind)
    plans = SimpleNamespace(sources=sources)
    message = rf"m uses acid_changes\(shop.orders\), which is {what}"
    with pytest.raises(IncrementalError, match=message):
        RowsBeforeRun(model(), plans, lambda: None).rows(None)


@pytest.mark.parametrize(
    ("source", "config", "message"),
    [
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


def test_the_rows_are_refused_once_the_run_has_ended(invocation):
    run = context(services={"invocation": invocation})
    ModelRun(run, "select 1").end()
    assert isinstance(invocation.models[run.model.changes], NoRowsAfterRun)


def test_the_error_about_a_second_source_has_a_way_out_for_table_changes():
    message = "shop.other, whose changes .* give `table_changes` a last write id"
    with pytest.raises(IncrementalError, match=message) as error:
        _check_others(model(), [], [ANOTHER.source])
    assert len(str(error.value).split()) <= 60
