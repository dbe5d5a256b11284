import json
from types import SimpleNamespace
from typing import Any

import pytest

from dbt.adapters.hiveacid.errors import ConcurrentRunError
from dbt.adapters.hiveacid.targets import state
from dbt.adapters.hiveacid.targets.files import FileStore
from dbt.adapters.hiveacid.targets.state import OtherRuns, TargetState, overtaken

STATE = TargetState("c1", "i1", "l1", 1, {"shop.orders": {"write_ids": "shop.orders:4::2:"}})
CLAIM = json.dumps({"claimed_by": "other"})


class Records(dict):
    """Files of a directory, by their names."""

    names = dict.keys
    has = dict.__contains__

    def read(self, name):
        return self[name]

    def create(self, name, text):
        return self.setdefault(name, text) is text


def store_over(*directories, are_alive=lambda invocation: True):
    """A store that finds, with each look, the next of the directories under its table's name."""
    store = FileStore(None, None, "marts", "orders", OtherRuns(are_alive, 60, lambda: None))
    looks = iter(directories)

    def look():
        found = next(looks)
        if isinstance(found, Exception):
            raise found
        return found

    store._records = look
    return store


def record(generation, text):
    return {f"{generation:012d}.json": text}


def test_the_claim_of_a_run_that_is_gone_counts_for_nothing():
    old = Records(record(1, STATE.to_text()) | record(2, CLAIM))
    known = store_over(old, are_alive=lambda invocation: False).read()
    assert (known.commit_id, known.generation) == ("c1", 2)


def test_what_is_waited_for_may_come_in_another_directory(monkeypatch):
    monkeypatch.setattr(state, "time", SimpleNamespace(monotonic=lambda: 0, sleep=lambda _: None))
    old = Records(record(1, STATE.to_text()) | record(2, CLAIM))
    new = Records(record(2, TargetState("c2", "other", "l1", 2, STATE.sources).to_text()))
    assert store_over(old, old, new).read().commit_id == "c2"


def test_a_table_without_a_name_is_waited_for_once_its_switch_is_known(monkeypatch):
    monkeypatch.setattr(state, "time", SimpleNamespace(monotonic=lambda: 0, sleep=lambda _: None))
    old = Records(record(1, STATE.to_text()) | record(2, CLAIM))
    new = Records(record(2, TargetState("c2", "other", "l1", 2, STATE.sources).to_text()))
    renamed = overtaken("marts.orders")
    assert store_over(old, renamed, Records(), new).read().commit_id == "c2"
    with pytest.raises(ConcurrentRunError, match="at the same time"):
        store_over(renamed).read()


def test_a_table_whose_records_are_gone_has_no_state():
    assert store_over(Records()).read() is None


def test_a_failed_switch_withdraws_its_claim():
    withdrawn = []
    records: Any = Records(record(1, STATE.to_text()))
    records.delete = withdrawn.append
    store = store_over(*[records] * 3)
    with pytest.raises(RuntimeError, match="rename"), store.replacing(STATE, "mine"):
        assert json.loads(records["000000000002.json"]) == {"claimed_by": "mine"}
        raise RuntimeError("the second rename")
    assert withdrawn == ["000000000002.json"]


def test_why_a_switch_failed_is_told_even_if_its_claim_stays():
    records = Records(record(1, STATE.to_text()))
    store = store_over(records, records, overtaken("marts.orders"))
    with pytest.raises(RuntimeError, match="rename"), store.replacing(STATE, "mine"):
        raise RuntimeError("the second rename")


def test_an_overtaken_run_makes_no_claim():
    records = Records(record(1, TargetState("c2", "other", "l2", 1, {}).to_text()))
    store = store_over(records)
    with (
        pytest.raises(ConcurrentRunError, match="at the same time"),
        store.replacing(STATE, "mine"),
    ):
        raise AssertionError("not reached")
    assert list(records) == ["000000000001.json"]
