"""What runs Spark's jobs outside of dbt's statements runs as they do."""

from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.hiveacid.incremental import methods, operations
from dbt.adapters.hiveacid.incremental.config import IncrementalConfig
from dbt.adapters.hiveacid.incremental.methods import IncrementalMethods
from dbt.adapters.hiveacid.incremental.model_run import Decision, ModelChanges, Step
from dbt.adapters.hiveacid.node_context import NodeContext
from dbt.adapters.hiveacid.relation import HiveAcidRelation
from dbt.adapters.hiveacid.spark.session import SessionHandle
from dbt.adapters.hiveacid.targets.state import TargetState

TARGET = HiveAcidRelation.create(schema="marts", identifier="orders", type="table")
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


class Adapter(IncrementalMethods):
    """An adapter over it, with dbt's way to word an error."""

    def __init__(self):
        self.handle, self.connections = NodeContext(SessionHandle(Spark(), {})), self
        self.run = SimpleNamespace(prepare=lambda handle, sql: None)
        self.checked = []
        self._check_new_key = self.checked.append
        self.get_columns_in_relation = lambda relation: []
        config = IncrementalConfig.of("m", {"incremental_strategy": "acid_changes"})
        self.changes = ModelChanges("m", None, None, TARGET, config, None, None, True, False)

    @contextmanager
    def exception_handler(self, sql):
        try:
            yield
        except OSError as error:
            raise DbtRuntimeError(f"{error} while running {sql}") from error

    def _handle(self):
        return self.handle

    def _changes(self):
        return self.changes


@pytest.fixture
def adapter(monkeypatch):
    adapter = Adapter()

    def decide(changes, session, row_id):
        # A look at the target's state is a statement of its own.
        with pytest.raises(DbtRuntimeError, match="while running describe"):
            adapter._query("describe history marts.orders")
        session.action("deleted_row_ids")

    def staged(changes, frame, deleted, brought, session):
        deleted()
        session.action("deleted_rows")

    monkeypatch.setattr(ModelChanges, "decide", decide)
    monkeypatch.setattr(methods, "staged_changes", staged)
    return adapter


def test_errors_are_those_of_a_statement(adapter):
    with pytest.raises(DbtRuntimeError, match=f"deleted_row_ids failed while running {SQL}"):
        adapter.hiveacid_decide(TARGET, SQL)
    with pytest.raises(DbtRuntimeError, match=f"deleted_rows failed while running {SQL}"):
        adapter.hiveacid_changed_rows(SQL, TARGET)
    assert adapter.checked == [adapter.changes]
    adapter.hiveacid_no_rows(SQL, TARGET)
    assert adapter.handle.session.tags == set()


def test_a_state_is_forgotten_by_statements(adapter, monkeypatch):
    class Store:
        def __init__(self, session, target):
            self.session = session

        def recent(self):
            return TargetState("commit", "invocation", "lineage", 1, {})

        def reset(self):
            self.session.action("reset")

    monkeypatch.setattr(operations, "IcebergStore", Store)
    target = TARGET.incorporate(is_iceberg=True)
    with pytest.raises(DbtRuntimeError, match="reset failed while running remove the state of"):
        adapter.hiveacid_forget_state(target)
    monkeypatch.setattr(Store, "recent", Store.reset)
    with pytest.raises(DbtRuntimeError, match="reset failed while running look up the state of"):
        adapter.hiveacid_forget_state(target)


def test_what_is_stopped_is_the_innermost_statement_then_the_outer_one(adapter):
    handle, seen = adapter.handle, []

    def outer():
        seen.append(handle.spark._running)
        with pytest.raises(DbtRuntimeError):
            adapter._query("select 1")
        seen.append(handle.spark._running)

    adapter._as_statement("outer", outer)
    assert seen[0] is seen[1] is not None
    assert handle.spark._running is None


def test_nothing_begins_once_the_run_is_cancelled(adapter, monkeypatch):
    monkeypatch.setattr(ModelChanges, "decide", lambda *_: Decision(Step.NOTHING))
    assert adapter.hiveacid_decide(TARGET, SQL) == "nothing"
    adapter.handle.cancel()
    for call in (
        lambda: adapter.hiveacid_decide(TARGET, SQL),
        lambda: adapter.hiveacid_changed_rows(SQL, TARGET),
        lambda: adapter.hiveacid_no_rows(SQL, TARGET),
        lambda: adapter._query("select 1"),
    ):
        with pytest.raises(DbtRuntimeError, match="The run was cancelled before"):
            call()
