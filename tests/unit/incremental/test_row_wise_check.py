"""A model's SQL that is not row-wise is refused, unless the model's author answers for it."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental import model_run, run_context
from dbt.adapters.hiveacid.incremental.decision import FullRun, QuietRun
from dbt.adapters.hiveacid.incremental.model_run import ModelRun
from tests.unit.incremental.runs import CHANGES, TARGET, context

SERVICES = {
    "invocation": SimpleNamespace(sources="the sources"),
    "columns_of": lambda existing: ["id"],
}
GROUPED = "select 1 group by 1"


@pytest.fixture
def asked(monkeypatch):
    """What Spark is asked for; it finds GROUP BY in each SQL that has the word `group`."""
    asked = []

    def find(node, sql, changes, sources, *, is_keyed):
        asked.append((sql, changes, sources, is_keyed))
        return "GROUP BY (line 2, pos 0)" if "group" in sql else None

    monkeypatch.setattr(run_context, "find_cross_row", find)
    return asked


def test_the_operator_is_named_and_what_to_do(asked):
    with pytest.raises(IncrementalError) as error:
        context(services=SERVICES).check_row_wise(GROUPED)
    assert error.value.msg == (
        "[HIVEACID_CHANGES_NOT_ROW_WISE] Model m reads acid_changes of shop.orders through GROUP "
        "BY (line 2, pos 0) in the compiled SQL, which needs unchanged rows, too. Later runs see "
        "changed rows only, so the target would be wrong. Make the model `materialized: table`, or "
        "set `acid_changes_row_wise: assume` if each row comes from one row of the table."
    )


def test_a_row_wise_model_is_let_through(asked):
    context(services=SERVICES).check_row_wise("select 1")
    context(services=SERVICES, unique_key="id").check_row_wise("select 1")
    assert asked == [
        ("select 1", CHANGES, "the sources", False),
        ("select 1", CHANGES, "the sources", True),
    ]


def test_an_author_who_answers_for_it_is_not_asked(asked):
    run = context(services=SERVICES, acid_changes_row_wise="assume")
    run.check_row_wise(GROUPED)
    assert asked == []


@pytest.mark.parametrize("is_partial", [True, False])
def test_a_first_run_is_checked(asked, is_partial):
    run = ModelRun(context(services=SERVICES, is_partial=is_partial), GROUPED)
    with pytest.raises(IncrementalError, match="through GROUP BY"):
        run.tracked()


def test_a_later_run_is_checked_unless_nothing_has_changed(asked, monkeypatch):
    whole, part = (context(services=SERVICES, is_partial=it) for it in (False, True))
    for run, found, is_checked in (
        (whole, QuietRun(whole, GROUPED), False),
        (part, QuietRun(part, GROUPED), True),
        (whole, FullRun(whole, None, "history is lost"), True),
    ):
        monkeypatch.setattr(model_run, "plan_run", lambda *_, found=found: found)
        with pytest.raises(IncrementalError) if is_checked else nullcontext():
            assert ModelRun(run, GROUPED).prepare_changes(TARGET, GROUPED, None) is found
    assert len(asked) == 2


def test_the_sql_of_a_rebuild_is_checked(asked):
    rebuild = FullRun(context(services=SERVICES), None, "its state was removed")
    with pytest.raises(IncrementalError, match="through GROUP BY"):
        rebuild.check_row_wise(GROUPED)
