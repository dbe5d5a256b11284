"""When a run ends its transaction: the snapshot is a fake, the nodes are told by hand."""

import time
from types import SimpleNamespace

import pytest
from dbt_common.events.contextvars import log_contextvars

from dbt.adapters.hiveacid import release as module
from dbt.adapters.hiveacid.errors import SnapshotEndedError
from dbt.adapters.hiveacid.release import EarlyRelease
from hiveacid.metastore.models import TableName

ORDERS = TableName("shop", "orders")


class Snapshot:
    """As `RunSnapshot`: one transaction, opened by the first pin."""

    def __init__(self):
        self.transaction_id = None

    def pin(self, names):
        self.transaction_id = 17
        return dict.fromkeys(names)

    def report(self):
        return SimpleNamespace(transaction_id=17, tables="shop.orders")

    def check_alive(self):
        pass

    def end(self):
        self.transaction_id = None


@pytest.fixture
def make():
    made = []

    def make_holding(*needing, known=True, **options):
        snapshot = Snapshot()
        told = {"until_run_end": False, "warn_after": 0} | options
        nodes = frozenset(needing) if known else None
        made.append(EarlyRelease(snapshot, lambda: nodes, snapshot.end, **told))
        return made[-1]

    yield make_holding
    for each in made:
        each.close()


def read(holding, node="", kind="model"):
    info = {"unique_id": node, "node_name": node, "resource_type": kind}
    with log_contextvars(node_info=info):
        return holding.pin([ORDERS])


def is_held(holding):
    return holding._snapshot.transaction_id is not None


def run(holding, node, reads=False):
    holding.started(node)
    if reads:
        read(holding, node)
    holding.finished(node)


def test_it_ends_with_the_last_node_that_needs_it(make):
    holding = make("a", "b")
    run(holding, "a", reads=True)
    assert is_held(holding)
    run(holding, "plain")
    assert is_held(holding)
    run(holding, "b")  # skipped, or failed before it read
    assert not is_held(holding)
    assert holding.ended_after == "b"


def test_one_that_was_not_foreseen_keeps_it_while_it_runs(make):
    holding = make("a")
    holding.started("surprise")
    read(holding, "surprise")
    run(holding, "a", reads=True)
    assert is_held(holding)
    holding.finished("surprise")
    assert not is_held(holding)


def test_batches_end_with_their_model(make):
    holding = make("a")
    holding.started("a")
    for _ in range(3):
        run(holding, "a", reads=True)
        assert is_held(holding)
    holding.finished("a")
    assert not is_held(holding)


def test_what_a_hook_has_opened_before_ends_with_the_next_node_if_none_needs_it(make):
    holding = make()
    read(holding, "start-hook")
    run(holding, "plain")
    assert not is_held(holding)


@pytest.mark.parametrize("options", [{"until_run_end": True}, {"known": False}])
def test_it_stays_to_the_end_of_the_run(make, options):
    holding = make("a", **options)
    run(holding, "a", reads=True)
    assert is_held(holding)
    read(holding, "end-hook")


def test_without_a_transaction_nothing_ends(make):
    holding = make("a")
    run(holding, "a")
    assert holding.ended_after is None
    read(holding, "end-hook")  # the first snapshot of the run


def test_there_is_no_second_snapshot(make):
    holding = make("a")
    run(holding, "a", reads=True)
    with pytest.raises(SnapshotEndedError) as error:
        read(holding, "end-hook", "operation")
    assert error.value.msg.startswith(
        "Operation end-hook reads shop.orders, but the run has ended transaction 17, which held "
        "its snapshot, with the last node that was known to read an ACID source, a: "
    )
    assert "`hold_until: run_end`" in error.value.msg
    assert "`-- depends_on: {{ source('shop', 'orders') }}`" in error.value.msg
    assert not is_held(holding)
    with pytest.raises(SnapshotEndedError):
        holding.check_alive()
    holding.close()
    read(holding, "another run")


def test_it_warns_once_after_a_while(make, monkeypatch):
    said = []
    monkeypatch.setattr(module, "logger", SimpleNamespace(warning=said.append))
    holding = make(*"abcdefg", warn_after=0.05)
    run(holding, "a", reads=True)
    run(holding, "b", reads=True)
    time.sleep(0.4)
    assert said == [
        "Transaction 17 has held shared locks on shop.orders for more than 0.05 s (hold_warning). "
        "Hive's DROP TABLE, DROP PARTITION and INSERT OVERWRITE on them wait until these have "
        "ended: c, d, e, f, g."
    ]


@pytest.mark.parametrize("seconds", [0, 0.1])
def test_it_does_not_warn_of_what_has_ended_or_when_told_not_to(make, monkeypatch, seconds):
    said = []
    monkeypatch.setattr(module, "logger", SimpleNamespace(warning=said.append))
    holding = make("a", warn_after=seconds, until_run_end=not seconds)
    run(holding, "a", reads=True)
    time.sleep(0.3)
    assert said == []
