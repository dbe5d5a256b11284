"""A fault planted in the adapter makes the functional test fail that must notice it."""

from __future__ import annotations

from typing import Any

import pytest

from integration.support.faults import FAULTS
from tests.functional import test_state_stores
from tests.functional.test_state_stores import name, session

__all__ = ["name", "session"]

NAME = "state written before the data"
"""The only such fault. Without it the test is run as all others are."""

CLAUSE = "partitioned by (p)"


def test_a_state_written_before_the_data_is_noticed(
    monkeypatch: pytest.MonkeyPatch, session: Any, name: str
) -> None:
    FAULTS[NAME].plant(monkeypatch)
    with pytest.raises(AssertionError):
        test_state_stores.TestPlain().test_rows_are_appended_with_their_state(session, name, CLAUSE)


def test_no_other_fault_is_to_be_noticed_by_a_functional_test() -> None:
    test = test_state_stores.TestPlain.test_rows_are_appended_with_their_state
    functional = {
        fault: FAULTS[fault].noticed_by
        for fault in FAULTS
        if FAULTS[fault].noticed_by.startswith("tests/functional/")
    }
    class_and_test = test.__qualname__.replace(".", "::")
    noticed_by = f"tests/functional/test_state_stores.py::{class_and_test}[{CLAUSE}]"
    assert functional == {NAME: noticed_by}
