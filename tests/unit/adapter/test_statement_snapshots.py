"""Snapshots of statements outside of any dbt command. The metastore is a fake."""

import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt_common.events.contextvars import log_contextvars

from dbt.adapters.hiveacid import invocation as invocation_module
from dbt.adapters.hiveacid.credentials import HiveAcidCredentials
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.sources.read_log import FilesRead
from hiveacid.errors import MetastoreError, SnapshotEndedError
from tests.unit.adapter.command_hooks import Hooks

sys.path.append(str(Path(__file__).parent.parent / "snapshots"))
from tests.unit.snapshots.fake_metastore import ORDERS, FakeMetastore  # noqa: E402


@pytest.fixture
def metastore():
    metastore = FakeMetastore()
    metastore.add_table(ORDERS)
    return metastore


@pytest.fixture
def make(metastore, monkeypatch):
    made, reports = [], []
    monkeypatch.setattr(invocation_module, "MetastoreClient", lambda *_, **__: metastore.client())
    monkeypatch.setattr(invocation_module, "prepare_statement", pin_orders)

    def make_run(is_command=False):
        made.append(
            Invocation(
                HiveAcidCredentials(schema="marts", metastore_uri="thrift://127.0.0.1:1"),
                "0123",
                "shop.dev",
                Hooks(kept=reports.append),
                is_command=is_command,
            )
        )
        made[-1].kept = reports  # type: ignore[attr-defined]
        return made[-1]

    yield make_run
    for each in made:
        each.end()
    assert not metastore.locks


def pin_orders(node, sql, views, makers, reads, values):
    """Prepare a statement that reads the table, or a temporary view that `node` has."""
    if sql.startswith("select"):
        pinned = views._snapshot.pin([ORDERS])[ORDERS]
        node.reads = frozenset({FilesRead.of(pinned, [], [])})
        reads.add("master", next(iter(node.reads)))
    else:
        node.reads = node.view
    node.has_read |= node.reads


def context():
    return SimpleNamespace(reads=frozenset(), has_read=frozenset(), view=frozenset())


def read(run, node=None):
    """Return the highest write id that a statement sees, before anybody takes its rows."""
    node = node or context()
    run.prepare(node, "select")
    (found,) = node.has_read
    return found.pinned.write_ids.high_watermark


def execute(run, node=None):
    with run.statement():
        return read(run, node)


def test_each_statement_sees_what_is_new_and_leaves_no_lock(make, metastore):
    run, node = make(), context()
    assert execute(run, node) == 1
    assert not metastore.locks
    metastore.write(ORDERS)
    assert execute(run, node) == 2
    assert not metastore.locks
    assert run.reads.is_empty, "nothing is remembered of statements for ever"


def test_a_failed_statement_leaves_no_lock(make, metastore):
    run = make()
    with pytest.raises(ZeroDivisionError), run.statement():
        read(run)
        assert metastore.locks
        raise ZeroDivisionError
    assert not metastore.locks


def test_statements_at_the_same_time_have_snapshots_of_their_own(make, metastore):
    run, seen = make(), []
    with run.statement():
        assert read(run) == 1
        metastore.write(ORDERS)
        thread = threading.Thread(target=lambda: seen.append(execute(run)))
        thread.start()
        thread.join()
        assert seen == [2]
        assert read(run) == 1 and len(metastore.locks) == 1, "the first one still holds its own"


def test_a_macro_has_one_snapshot_for_all_its_statements(make, metastore):
    run = make()
    with run.statement():
        assert execute(run) == 1
        metastore.write(ORDERS)
        assert execute(run) == 1


@pytest.mark.parametrize(
    "end",
    [
        lambda run: run.release_statement(),
        lambda run: run.release_statement(all_threads=True),
        lambda run: run.end(),
        lambda run: execute(run),
    ],
)
def test_a_statement_whose_rows_are_fetched_later_holds_on_until_then(make, metastore, end):
    run = make()
    read(run)
    metastore.write(ORDERS)
    assert len(metastore.locks) == 1 and run.snapshot.pin([ORDERS])
    end(run)
    assert not metastore.locks
    assert read(run) == 2


def test_the_end_of_all_connections_leaves_a_running_statement_its_snapshot(make, metastore):
    run = make()
    with run.statement():
        read(run)
        thread = threading.Thread(target=lambda: run.release_statement(all_threads=True))
        thread.start()
        thread.join()
        run.release_statement()
        assert len(metastore.locks) == 1


def test_a_command_shares_one_snapshot_and_what_comes_after_it_has_its_own(make, metastore):
    run = make(is_command=True)
    assert execute(run) == 1
    metastore.write(ORDERS)
    assert execute(run) == 1
    assert len(metastore.locks) == 1
    run.end()
    assert not metastore.locks and len(run.kept) == 1
    assert execute(run) == 2
    assert not metastore.locks


def test_nodes_that_a_tool_runs_by_itself_share_a_snapshot(make, metastore):
    run, seen = make(), []

    def node(name):
        with log_contextvars(node_info={"unique_id": name}):
            seen.append(execute(run))

    for name in "ab":
        thread = threading.Thread(target=node, args=[name])
        thread.start()
        thread.join()
        metastore.write(ORDERS)
    assert seen == [1, 1] and len(metastore.locks) == 1
    assert execute(run) == 3, "what is no node sees what is new"
    assert len(metastore.locks) == 1, "and leaves the nodes their snapshot"
    run.end()
    assert not metastore.locks


def test_a_temporary_view_of_an_earlier_statement_is_refused(make):
    run, node = make(), context()
    execute(run, node)
    node.view = node.reads
    with pytest.raises(SnapshotEndedError) as error, run.statement():
        run.prepare(node, "view")
    assert error.value.message.startswith(
        "A temporary view shows shop.orders as of transaction 2, which has ended with the "
        "statement that made the view."
    )


def test_a_table_that_could_not_be_pinned_is_tried_again(make, metastore):
    run = make()
    metastore.down = True
    with pytest.raises(MetastoreError):
        execute(run)
    metastore.down = False
    assert execute(run) == 1


def test_a_table_is_looked_up_again_after_a_statement(make, metastore):
    run = make()
    assert run.tables.transactional([ORDERS]) == {ORDERS}
    del metastore.tables[ORDERS]
    with run.statement():
        assert run.tables.transactional([ORDERS]) == {ORDERS}
    assert run.tables.transactional([ORDERS]) == set()
