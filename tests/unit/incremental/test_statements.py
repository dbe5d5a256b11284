"""What runs Spark's jobs outside of dbt's statements runs as they do."""

from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.incremental import apply, decision
from dbt.adapters.hiveacid.incremental.decision import QuietRun, plan_run
from dbt.adapters.hiveacid.incremental.plans import ChangedRows, SourcePlans
from dbt.adapters.hiveacid.incremental.run_context import RunContext
from dbt.adapters.hiveacid.node_context import NodeContext, Statements
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.targets import stores
from dbt.adapters.hiveacid.targets.state import TargetState
from dbt.adapters.hiveacid.targets.stores import TargetStores
from tests.unit.incremental.runs import TARGET, model, planned

SQL = "select id from hiveacid__changes"


class Spark:
    """A session that notes by which tags of jobs something is running."""

    def __init__(self):
        self.tags, self.conf, self.sparkContext = set(), None, self
        self.addJobTag, self.removeJobTag = self.tags.add, self.tags.discard

    def newSession(self):
        return self

    def sql(self, sql):
        assert self.tags, f"not run as a statement: {sql}"
        view = SimpleNamespace(createOrReplaceTempView=lambda name: None)
        columns = {"columns": ["id"], "createOrReplaceTempView": view.createOrReplaceTempView}
        return SimpleNamespace(collect=lambda: self.action(sql), limit=lambda n: view, **columns)

    def action(self, name):
        assert self.tags, f"not run as a statement: {name}"
        raise OSError(f"{name} failed")


@contextmanager
def errors(sql):
    """dbt's way to word an error."""
    try:
        yield
    except OSError as error:
        raise DbtRuntimeError(f"{error} while running {sql}") from error


@pytest.fixture
def node():
    return NodeContext(SessionHandle(Spark(), {}))


@pytest.fixture
def statements(node):
    return Statements(lambda: node, errors)


@pytest.fixture
def run(statements):
    services = SimpleNamespace(
        statements=statements, invocation=SimpleNamespace(prepare=lambda node, sql, makers: None)
    )
    return RunContext(services, model(), SourcePlans(None))


class Planner:
    """A planner whose look at the target's state is a statement of its own, and which fails."""

    def __init__(self, run, *_):
        self._statements = run.services.statements

    def plan(self, session):
        with pytest.raises(DbtRuntimeError, match="while running describe"):
            self._statements.query("describe history marts.orders")
        session.action("deleted_row_ids")


@pytest.fixture
def failing(run, monkeypatch):
    """A planned run of which nothing works."""

    def staged(mode, key, inserts, deleted, earlier, row_ids):
        deleted()
        run.services.statements.session.action("deleted_rows")

    monkeypatch.setattr(decision, "_Planner", Planner)
    monkeypatch.setattr(decision, "staged_changes", staged)
    found = planned(run)
    plan = SimpleNamespace(earlier_batch_write_ids=None, deletes=None)
    rows = ChangedRows(run.model, plan, run.plans)
    return replace(found, plan=plan, rows=rows, sql=SQL)


def test_errors_are_those_of_a_statement(run, failing, monkeypatch, node):
    checked = []
    monkeypatch.setattr(decision, "check_new_key", lambda run, *_: checked.append(run))
    with pytest.raises(DbtRuntimeError, match=f"deleted_row_ids failed while running {SQL}"):
        plan_run(run, [], SQL, None)
    with pytest.raises(DbtRuntimeError, match=f"deleted_rows failed while running {SQL}"):
        apply.stage_changes(failing, TARGET, None)
    assert checked == [run]
    QuietRun(run, SQL, (), maker=SimpleNamespace()).no_rows()
    assert node.session.tags == set()


def test_a_state_is_forgotten_by_statements(statements, monkeypatch):
    class Store:
        def __init__(self, session, target):
            self.session = session

        def recent(self):
            return TargetState("commit", "invocation", "lineage", 1, {})

        def reset(self):
            self.session.action("reset")

    monkeypatch.setattr(stores, "IcebergStore", Store)
    states = TargetStores(statements, None)
    target = TARGET.incorporate(is_iceberg=True)
    with pytest.raises(DbtRuntimeError, match="reset failed while running remove the state of"):
        states.forget(target)
    monkeypatch.setattr(Store, "recent", Store.reset)
    with pytest.raises(DbtRuntimeError, match="reset failed while running look up the state of"):
        states.forget(target)


def test_what_is_stopped_is_the_innermost_statement_then_the_outer_one(node, statements):
    handle, seen = node.spark, []

    def outer():
        seen.append(handle._running)
        with pytest.raises(DbtRuntimeError):
            statements.query("select 1")
        seen.append(handle._running)

    statements.run("outer", outer)
    assert seen[0] is seen[1] is not None
    assert handle._running is None


def test_nothing_begins_once_the_run_is_cancelled(run, failing, node, statements, monkeypatch):
    quiet = QuietRun(run, SQL, (), maker=SimpleNamespace())
    monkeypatch.setattr(Planner, "plan", lambda *_: quiet)
    assert plan_run(run, [], SQL, None) is quiet
    node.cancel()
    for call in (
        lambda: plan_run(run, [], SQL, None),
        lambda: apply.stage_changes(failing, TARGET, None),
        quiet.no_rows,
        lambda: statements.query("select 1"),
    ):
        with pytest.raises(DbtRuntimeError, match="The run was cancelled before"):
            call()
