from types import SimpleNamespace

import pytest

from dbt.adapters.hiveacid.errors import ConcurrentRunError
from dbt.adapters.hiveacid.targets import state
from dbt.adapters.hiveacid.targets.state import WaitForRun


def test_another_run_is_waited_for_no_longer_than_asked(monkeypatch):
    slept = []
    clock = SimpleNamespace(monotonic=lambda: 1000 + sum(slept), sleep=slept.append)
    monkeypatch.setattr(state, "time", clock)
    patience = WaitForRun("marts.orders", 1.2, lambda: None)
    while sum(slept) <= 1.2:
        patience.wait_for("0123abcd-ffff-4fff-8fff-ffffffffffff")
    assert slept == [0.5, 0.5, 0.5]
    with pytest.raises(ConcurrentRunError) as raised:
        patience.wait_for("0123abcd-ffff-4fff-8fff-ffffffffffff")
    assert str(raised.value.msg).startswith(
        "[HIVEACID_CONCURRENT_RUN] "
        "Another run (invocation 0123abcd…) is about to replace marts.orders, and has not done so "
        "within 1.2 s."
    )


def test_a_run_that_is_cancelled_waits_no_longer():
    def cancelled():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        WaitForRun("marts.orders", 60, cancelled).wait_for(None)
