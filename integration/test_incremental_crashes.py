"""A run of an incremental model that dies at any step leaves what the next run makes right."""

from __future__ import annotations

from typing import Any

import pytest

from dbt.adapters.hiveacid import impl
from dbt.adapters.hiveacid.impl import HiveAcidAdapter
from dbt.adapters.hiveacid.incremental.stores import plain
from dbt.adapters.hiveacid.incremental.stores.delta import DeltaStore
from dbt.adapters.hiveacid.incremental.stores.plain import PlainStore
from integration.incremental import BY_KEY, MODELS, ORDERS, Incremental

LOG = BY_KEY.replace(",\n    unique_key='id'", "")

#: A model, and the call before which its run dies: the n-th one of a function of the adapter.
STEPS: dict[str, tuple[str, Any, str, int]] = {
    "changes staged": ("log", PlainStore, "record", 1),
    "commit recorded": ("log", PlainStore, "_finish", 1),
    "files moved": ("log", plain, "delete_directory", 1),
    "new version built": ("keys", impl, "switch", 1),
    "old version renamed": ("keys", HiveAcidAdapter, "rename_relation", 2),
    "merged": ("delta_ids", DeltaStore, "_check", 1),
}


class Killed(Exception):
    """The end of the process, as far as the adapter can see it: nothing is cleaned up."""


def test_a_run_that_dies_is_made_right_by_the_next(
    incremental: Incremental, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive, project = incremental.hive, incremental.project
    hive.script(ORDERS.format(clause=""))
    hive.execute("INSERT INTO orders VALUES (1, 10, 'new'), (2, 20, 'new')")
    project.sources("orders")
    models = {"log": LOG, "keys": BY_KEY, "delta_ids": MODELS["delta_ids"]}
    project.models(**models)
    incremental.run()
    for number, (step, (model, owner, name, nth)) in enumerate(STEPS.items(), start=3):
        hive.execute(f"INSERT INTO orders VALUES ({number}, 0, 'new')")
        if model != "log":
            hive.execute(f"UPDATE orders SET amount = amount + 1 WHERE id IN (1, {number})")
        with monkeypatch.context() as patch:
            calls = _die_at(patch, owner, name, nth)
            patch.setattr(HiveAcidAdapter, "post_model_hook", lambda *_: None)
            died = project.invoke("run", "--select", model)
            assert not died.success and len(calls) >= nth, step
        incremental.run("--select", model)
        incremental.assert_like_hive([model])


def _die_at(patch: pytest.MonkeyPatch, owner: Any, name: str, nth: int) -> list[str]:
    """Let the n-th call of a function, and all later ones, end the process; the calls so far."""
    calls: list[str] = []
    original = getattr(owner, name)

    def dying(*arguments: Any, **named: Any) -> Any:
        calls.append(name)
        if len(calls) >= nth:
            raise Killed(name)
        return original(*arguments, **named)

    patch.setattr(owner, name, dying)
    return calls
