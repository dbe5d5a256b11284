"""What a run of a model has to do."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental import decision
from dbt.adapters.hiveacid.incremental.config import Mode
from dbt.adapters.hiveacid.incremental.decision import (
    FullRun,
    QuietRun,
    obstacle_to_reconciling,
    plan_run,
)
from dbt.adapters.hiveacid.incremental.plans import NoRowsAfterRun, SourcePlans, source_state
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.sources.options import SourceOptions
from dbt.adapters.hiveacid.targets.state import LostState, TargetState
from hiveacid.acid.write_ids import ValidWriteIdList
from hiveacid.changes.losses import Extent, Loss
from hiveacid.changes.state import SourceState
from hiveacid.reader.partition_choice import PartitionChoice
from tests.unit.incremental.runs import SOURCE, context, model


def without_state(**config):
    """The run of a model whose target has no state."""
    return context(services={"read_state": lambda model: None}, **config)


@pytest.mark.parametrize("value", [None, True])
def test_a_target_without_a_state_is_built_anew(value):
    found = plan_run(without_state(full_refresh=value), [], "select 1", None)
    assert isinstance(found, FullRun) and found.is_loss


@pytest.mark.parametrize("on_history_loss", ["full_refresh", "reconcile", "error"])
def test_a_table_that_is_never_to_be_built_anew_is_not(on_history_loss):
    never = without_state(full_refresh=False, on_history_loss=on_history_loss)
    with pytest.raises(IncrementalError) as error:
        plan_run(never, [], "select 1", None)
    assert error.value.msg == (
        "[HIVEACID_FULL_REFRESH_FORBIDDEN] "
        "Model m must be rebuilt: marts.orders does not record which state of shop.orders "
        "its rows come from. Its config `full_refresh: false` forbids it. Nothing has been "
        "changed. Remove this config for one run if rows that the source no longer has may be lost."
    )


def test_a_lost_history_is_an_error_where_the_model_says_so():
    run = without_state(on_history_loss="error")
    with pytest.raises(IncrementalError, match="m cannot be updated from the changes"):
        plan_run(run, [], "select 1", None)


PREVIOUS = TargetState("c", "i", "l", 1, {})
LOST = Loss("day=1", "it was dropped", Extent.LOCATION)
REPLACED = Loss("", "it is another table", Extent.TABLE)


@pytest.mark.parametrize(
    ("mode", "losses", "obstacle"),
    [
        (Mode.ROW_ID, [LOST], ""),
        (Mode.UNIQUE_KEY, [LOST], "the model applies changes by `unique_key`, not by row ids"),
        (Mode.APPEND, [LOST], "the target has no column `_row_id`"),
        (Mode.OWN, [LOST], "the model has a strategy of its own"),
        (Mode.ROW_ID, [REPLACED], "row ids cannot be compared after this"),
        (
            Mode.ROW_ID,
            [LOST, REPLACED],
            "row ids cannot be compared after this: it is another table",
        ),
    ],
)
def test_a_model_that_cannot_reconcile_says_why(mode, losses, obstacle):
    assert obstacle_to_reconciling(mode, losses) == obstacle


@pytest.mark.parametrize("on_history_loss", ["full_refresh", "reconcile"])
def test_the_reason_of_a_rebuild_names_what_stops_reconcile(monkeypatch, on_history_loss):
    plan = SimpleNamespace(is_empty=False, remaining=(), losses=[LOST], new_write_ids="4-5")
    run = context(on_history_loss=on_history_loss, services={"read_state": lambda model: PREVIOUS})
    monkeypatch.setattr(decision, "state_before", lambda previous, model: state())
    monkeypatch.setattr(SourcePlans, "changes", lambda *_: plan)
    found = plan_run(run, ["id"], "select 1", None)
    lost = "partition day=1: it was dropped (new write ids: 4-5)"
    stops = "; `on_history_loss: reconcile` does not help, since the target has no column `_row_id`"
    assert isinstance(found, FullRun) and found.is_loss
    assert found.reason == lost + (stops if on_history_loss == "reconcile" else "")


def test_a_part_of_the_rows_is_looked_at_and_not_applied(monkeypatch):
    looked_at = []
    monkeypatch.setattr(RunContext, "model_rows", lambda self, sql, maker: looked_at.append(sql))
    found = plan_run(context(is_partial=True), ["id"], "select 1", None)
    assert isinstance(found, QuietRun) and found.is_partial and not found.is_checked
    assert looked_at == ["select 1"]


def state(options=""):
    write_ids = ValidWriteIdList(3, table="shop.orders")
    return SourceState(SOURCE.table, 7, 100, True, (("id", "int"),), write_ids, options, ())


def test_two_parts_of_one_table_have_a_state_each():
    part = PartitionChoice.of({"day": frozenset({"2026-01-31"})})
    other = replace(SOURCE, options=SourceOptions(part))
    run = context(others=(other,), on_multi_source="full_refresh")
    run.plans._wholes[other, 7] = SimpleNamespace(state=state(str(other.options)))
    known = run.next_state(None, SimpleNamespace(state=state()))
    assert source_state(known, SOURCE) == state()
    assert source_state(known, other) == state(str(other.options))
    # A state from before has the one that was written last.
    previous = replace(known, sources={"shop.orders": state(str(other.options)).to_json()})
    assert source_state(previous, other) == state(str(other.options))
    neither = replace(known, sources={"shop.names": state().to_json()})
    lost = source_state(neither, other)
    assert isinstance(lost, LostState)
    assert lost.reason == (f"its rows come from shop.names, not from shop.orders ({other.options})")


def test_a_state_has_the_key_that_its_rows_are_made_with():
    applied = SimpleNamespace(state=state())
    known = context(unique_key=["ID"]).next_state(None, applied)
    assert known.unique_key == ("id",)
    assert context().next_state(known, applied).unique_key == ()


def test_a_build_as_a_whole_has_the_state_of_the_whole_source():
    run = context()
    run.plans._wholes[SOURCE, 7] = SimpleNamespace(state=state("all"))
    assert source_state(run.next_state(None, None), SOURCE).options == "all"


def test_post_hooks_cannot_read_changes_that_are_applied():
    with pytest.raises(IncrementalError, match="m reads acid_changes in a post-hook, .* marts.ord"):
        NoRowsAfterRun(model()).rows(None)
