"""What a run of a model has to do."""

import pytest

from dbt.adapters.hiveacid.exceptions import IncrementalError
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.incremental.model import ModelChanges, Step
from dbt.adapters.hiveacid.metastore.models import TableName
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.sources import SourceView

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
