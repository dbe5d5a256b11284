from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.exceptions import ConcurrentRunError
from dbt.adapters.hiveacid.incremental import stores
from dbt.adapters.hiveacid.incremental.stores import Patience


def test_another_run_is_waited_for_no_longer_than_asked(monkeypatch):
    slept = []
    clock = SimpleNamespace(monotonic=lambda: 1000 + sum(slept), sleep=slept.append)
    monkeypatch.setattr(stores, "time", clock)
    patience = Patience("marts.orders", 1.2, lambda: None)
    while sum(slept) <= 1.2:
        patience.wait_for("0123abcd-ffff-4fff-8fff-ffffffffffff")
    assert slept == [0.5, 0.5, 0.5]
    with pytest.raises(ConcurrentRunError) as raised:
        patience.wait_for("0123abcd-ffff-4fff-8fff-ffffffffffff")
    assert str(raised.value.msg).startswith(
        "Another run (invocation 0123abcd…) is about to replace marts.orders, and has not done so "
        "within 1.2 s."
    )


def test_a_run_that_is_cancelled_waits_no_longer():
    def cancelled():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Patience("marts.orders", 60, cancelled).wait_for(None)
