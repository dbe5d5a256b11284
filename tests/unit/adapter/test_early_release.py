"""Early release of a run's snapshot: the metastore is a fake, the test reports the nodes."""

import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from dbt_common.events.contextvars import log_contextvars

from dbt.adapters.hiveacid import early_release as module
from dbt.adapters.hiveacid import invocation as invocation_module
from dbt.adapters.hiveacid.credentials import LAST_NODE, RUN_END, HiveAcidCredentials
from dbt.adapters.hiveacid.invocation import Invocation
from dbt.adapters.hiveacid.selected_nodes import find_acid_readers
from hiveacid.errors import SnapshotEndedError
from tests.unit.adapter.command_hooks import Hooks

sys.path.append(str(Path(__file__).parent.parent / "snapshots"))
from tests.unit.snapshots.fake_metastore import ORDERS, FakeMetastore  # noqa: E402


@pytest.fixture
def make(monkeypatch):
    """Make runs of dbt of which some nodes need a source."""
    made = []
    metastore = FakeMetastore()
    metastore.add_table(ORDERS)
    monkeypatch.setattr(invocation_module, "MetastoreClient", lambda *_, **__: metastore.client())

    def make_run(*needing, known=True, until_run_end=False, warn_after=0):
        made.append(
            Invocation(
                HiveAcidCredentials(
                    schema="marts",
                    metastore_uri="thrift://127.0.0.1:1",
                    hold_until=RUN_END if until_run_end else LAST_NODE,
                    hold_warning=warn_after,
                ),
                "0123",
                "shop.dev",
                Hooks(frozenset(needing) if known else None),
            )
        )
        return made[-1]

    yield make_run
    for each in made:
        each.end()


def read(run, node="", kind="model"):
    info = {"unique_id": node, "node_name": node, "resource_type": kind}
    with log_contextvars(node_info=info):
        return run.snapshot.pin([ORDERS])


def is_held(run):
    return run.snapshot.transaction_id is not None


def start(run, node):
    run.release.node_started(node)


def finish(run, node):
    run.node_finished(node, {})


def build(run, node, reads=False):
    start(run, node)
    if reads:
        read(run, node)
    finish(run, node)


def test_it_ends_with_the_last_node_that_needs_it(make):
    run = make("a", "b")
    build(run, "a", reads=True)
    assert is_held(run)
    build(run, "plain")
    assert is_held(run)
    build(run, "b")  # skipped, or failed before it read
    assert not is_held(run)
    assert run.release.ended_after == "b"


def test_one_that_was_not_foreseen_keeps_it_while_it_runs(make):
    run = make("a")
    start(run, "surprise")
    read(run, "surprise")
    build(run, "a", reads=True)
    assert is_held(run)
    finish(run, "surprise")
    assert not is_held(run)


def test_a_reader_through_a_view_that_is_not_selected_keeps_it(make):
    """The reader begins, on its own thread, when the last direct reader has ended."""

    def node(*parents, kind="table"):
        config = SimpleNamespace(materialized=kind)
        depends_on = SimpleNamespace(nodes=parents, macros=[])
        return SimpleNamespace(raw_code="", config=config, depends_on=depends_on)

    manifest = SimpleNamespace(
        sources={"source": SimpleNamespace(unique_id="source", schema="shop", identifier="orders")},
        nodes={
            "direct": node("source"),
            "stg": node("source", kind="view"),
            "mart": node("stg"),
            "after": node("mart"),
        },
    )
    selected = ["direct", "mart", "after"]
    run = make(*find_acid_readers(manifest, selected, lambda names: names))
    direct_has_ended, failed = threading.Event(), []

    def read_late():
        start(run, "mart")
        assert direct_has_ended.wait(10)
        try:
            read(run, "mart")
        except SnapshotEndedError as error:
            failed.append(error)
        finish(run, "mart")

    thread = threading.Thread(target=read_late)
    thread.start()
    build(run, "direct", reads=True)
    assert is_held(run)
    direct_has_ended.set()
    thread.join()
    assert not failed
    assert not is_held(run) and run.release.ended_after == "mart"


def test_batches_end_with_their_model(make):
    run = make("a")
    start(run, "a")
    for _ in range(3):
        build(run, "a", reads=True)
        assert is_held(run)
    finish(run, "a")
    assert not is_held(run)


def test_what_a_hook_has_opened_before_ends_with_the_next_node_if_none_needs_it(make):
    run = make()
    read(run, "start-hook")
    build(run, "plain")
    assert not is_held(run)


@pytest.mark.parametrize("options", [{"until_run_end": True}, {"known": False}])
def test_it_stays_to_the_end_of_the_run(make, options):
    run = make("a", **options)
    build(run, "a", reads=True)
    assert is_held(run)
    read(run, "end-hook")


def test_without_a_transaction_nothing_ends(make):
    run = make("a")
    build(run, "a")
    assert run.release.ended_after is None
    read(run, "end-hook")  # the first snapshot of the run


def test_there_is_no_second_snapshot(make):
    run = make("a")
    build(run, "a", reads=True)
    with pytest.raises(SnapshotEndedError) as error:
        read(run, "end-hook", "operation")
    assert error.value.message.startswith(
        "Operation end-hook reads shop.orders, but the run has ended transaction 2, which held "
        "its snapshot, after the last node known to read an ACID source, a. "
    )
    assert "`hold_until: run_end`" in error.value.message
    assert "`-- depends_on: {{ source('shop', 'orders') }}`" in error.value.message
    assert not is_held(run)
    with pytest.raises(SnapshotEndedError, match="reads its sources, but the run has ended"):
        run.snapshot.check_alive()
    run.end()
    read(run, "another run")


def test_it_warns_once_after_a_while(make, monkeypatch):
    said = []
    monkeypatch.setattr(module, "logger", SimpleNamespace(warning=said.append))
    run = make(*"abcdefg", warn_after=0.05)
    build(run, "a", reads=True)
    build(run, "b", reads=True)
    time.sleep(0.4)
    assert said == [
        "[HIVEACID_WARN_LOCKS_HELD] "
        "Transaction 2 has held shared locks on shop.orders for more than 0.05 s (hold_warning). "
        "Hive's DROP TABLE, DROP PARTITION and INSERT OVERWRITE on them wait until these have "
        "ended: c, d, e, f, g."
    ]


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_it_does_not_warn_of_what_has_ended_or_when_told_not_to(make, monkeypatch, seconds):
    said = []
    monkeypatch.setattr(module, "logger", SimpleNamespace(warning=said.append))
    run = make("a", warn_after=seconds, until_run_end=not seconds)
    build(run, "a", reads=True)
    time.sleep(0.3)
    assert said == []
