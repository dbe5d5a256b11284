"""What a run of a model has to do."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.incremental.model_run import ModelChanges, Rows, Step, known_source
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.sources.views import SourceView
from dbt.adapters.hiveacid.targets.state import LostState
from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.changes.state import SourceState
from hiveacid.metastore.models import TableName
from hiveacid.reader.partition_choice import PartitionChoice

TARGET = HiveAcidRelation.create(schema="marts", identifier="orders", type="table")
SOURCE = SourceView("hiveacid__shop__orders__01234567", TableName("shop", "orders"))


def model(known=None, **config):
    """A model in an incremental run whose target knows `known`."""
    options = IncrementalConfig.of("m", {"incremental_strategy": "acid_changes", **config})
    return ModelChanges("m", SOURCE, SOURCE, TARGET, options, lambda: known, None, True, False)


@pytest.mark.parametrize("value", [None, True])
def test_a_target_without_a_state_is_built_anew(value):
    decision = model(full_refresh=value).decide(None, None)
    assert decision.step is Step.FULL and decision.is_loss


@pytest.mark.parametrize("on_history_loss", ["full_refresh", "reconcile", "error"])
def test_a_table_that_is_never_to_be_built_anew_is_not(on_history_loss):
    never = model(full_refresh=False, on_history_loss=on_history_loss)
    with pytest.raises(IncrementalError) as error:
        never.decide(None, None)
    assert error.value.msg == (
        "Model m would have to be built anew: marts.orders does not say which state of shop.orders "
        "its rows come from. Its config `full_refresh: false` forbids it. Nothing has been "
        "changed. Take that out for one run if all rows may come from the source as it is now."
    )


def state(options=""):
    write_ids = ValidWriteIdList(3, table="shop.orders")
    return SourceState(SOURCE.table, 7, 100, True, (("id", "int"),), write_ids, options, ())


def test_two_parts_of_one_table_have_a_state_each():
    part = PartitionChoice.of({"day": frozenset({"2026-01-31"})})
    other = replace(SOURCE, name="hiveacid__part", options=SourceOptions(part))
    changes = model(on_multi_source="full_refresh")
    changes.others, changes.shows = [other], Rows.INSERTS
    changes.plan = SimpleNamespace(state=state())
    changes._wholes[other.name] = SimpleNamespace(state=state(str(other.options)))
    known = changes.next_state(None, "i")
    assert known_source(known, SOURCE) == state()
    assert known_source(known, other) == state(str(other.options))
    # A state from before has the one that was written last.
    former = replace(known, sources={"shop.orders": state(str(other.options)).to_json()})
    assert known_source(former, other) == state(str(other.options))
    neither = replace(known, sources={"shop.names": state().to_json()})
    lost = known_source(neither, other)
    assert isinstance(lost, LostState)
    assert lost.reason == (f"its rows come from shop.names, not from shop.orders ({other.options})")


def test_a_state_has_the_key_that_its_rows_are_made_with():
    changes = model(unique_key=["ID"])
    changes.shows, changes.plan = Rows.INSERTS, SimpleNamespace(state=state())
    known = changes.next_state(None, "i")
    assert known.unique_key == ("id",)
    changes = model(known)
    changes.shows, changes.plan = Rows.INSERTS, SimpleNamespace(state=state())
    changes.known = known
    assert changes.next_state(None, "i").unique_key == ()


def test_post_hooks_cannot_read_changes_that_are_applied():
    changes = model()
    changes.is_applied = True
    with pytest.raises(IncrementalError, match="m reads acid_changes in a post-hook, .* marts.ord"):
        changes.create_view(None)
