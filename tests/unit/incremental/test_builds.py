"""States of tables that are built as a whole."""

from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import IncrementalError
from dbt.adapters.hiveacid.incremental import builds
from dbt.adapters.hiveacid.incremental.apply import ApplyByStatement
from dbt.adapters.hiveacid.incremental.builds import BuildInPlace, BuildInStage, TrackedBuild
from dbt.adapters.hiveacid.incremental.model_run import ModelRun
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.targets.state import Checks, TargetState
from tests.unit.incremental.runs import STAGE, TARGET, Statements, context, staged

STATE = TargetState("c1", "i", "l", 1, {})


class Store:
    """A store that notes the states that are committed."""

    def __init__(self, commits):
        self._commits = commits
        self.begin = self.confirm = commits.append

    @contextmanager
    def committing(self, base, state):
        self._commits.append(state)
        yield


@pytest.fixture
def commits():
    return []


@pytest.fixture
def services(commits, monkeypatch):
    """Collaborators whose tables have no state before, and `STATE` after."""
    monkeypatch.setattr(RunContext, "next_state", lambda *_: STATE)
    return {
        "stores": SimpleNamespace(commit_store=lambda *_: Store(commits)),
        "staging": SimpleNamespace(stage=lambda *_: STAGE),
        "recovery": SimpleNamespace(version_of=lambda old: None),
        "read_state": lambda model: None,
    }


@pytest.mark.parametrize("file_format", ["delta", "iceberg"])
def test_what_is_built_in_its_place_counts_once_it_is_checked(services, commits, file_format):
    run = context(services=services, file_format=file_format, unique_key="id")
    build = BuildInPlace(run.services, TARGET, None, TrackedBuild(run, None))
    built = build.commit("create table … as …")
    pending = replace(STATE, checks=Checks.PENDING)
    assert commits == [pending]
    built.confirm()
    assert commits == [pending, pending]


@pytest.mark.parametrize("file_format", ["delta", "iceberg"])
def test_what_is_checked_before_its_commit_counts_at_once(services, commits, file_format):
    run = context(services=services, file_format=file_format, unique_key="id")
    # What goes into another table is checked before that takes the target's place.
    BuildInStage(run.services, TARGET, None, TrackedBuild(run, None)).commit("create table … as …")
    # So are changes, which are staged.
    step = staged(run).choose_apply()
    assert isinstance(step, ApplyByStatement)
    step.finish("merge …")
    assert commits == [STATE, None, STATE]


def test_a_part_of_the_rows_keeps_no_state(services, commits):
    assumed = {"acid_changes_row_wise": "assume"}
    run = context(services=services, file_format="delta", is_partial=True, **assumed)
    assert ModelRun(run, "select 1").tracked() is None
    built = BuildInPlace(run.services, TARGET, None, None).commit("create table … as …")
    built.check_unique_key()
    built.confirm()
    assert commits == []


def test_a_table_with_a_repeated_key_is_refused(services):
    statements = Statements()
    statements.query = lambda sql: [{"key": SimpleNamespace(asDict=lambda: {"id": 3}), "times": 2}]
    run = context(statements, services=services, file_format="delta", unique_key="id")
    built = BuildInPlace(run.services, TARGET, None, TrackedBuild(run, None)).commit("…")
    with pytest.raises(IncrementalError, match=r"2 new rows with the same unique_key \(id = 3\)"):
        built.check_unique_key()


def test_the_state_of_plain_files_goes_into_the_stage_before_the_switch(services, monkeypatch):
    steps = []
    known = replace(STATE, commit_id="c0")

    def replacing(base, invocation):
        steps.append(("claimed", base, invocation))
        return nullcontext()

    def switch(old, around):
        with around:
            steps.append(("switched", old))

    services |= {
        "staging": SimpleNamespace(stage=lambda *_: STAGE, switch=switch),
        "stores": SimpleNamespace(file_store=lambda _: SimpleNamespace(replacing=replacing)),
        "read_state": lambda model: known,
        "invocation": SimpleNamespace(invocation_id="i"),
    }
    monkeypatch.setattr(builds, "write_record", lambda *names: steps.append(("written", names[3])))
    run = context(services=services, file_format="parquet")
    built = BuildInStage(run.services, TARGET, None, TrackedBuild(run, None)).commit("…")
    built.switch(TARGET)
    assert steps == [("written", STATE), ("claimed", known, "i"), ("switched", TARGET)]
