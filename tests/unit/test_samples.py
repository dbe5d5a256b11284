"""Which tests `make test` takes of those that are marked `sampled`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from integration.support.samples import choose, sample_header, take_sample


class Item:
    """What a sample asks of a test."""

    def __init__(self, name: str, group: str | None = None, **marks: tuple[Any, ...]) -> None:
        self.name = name
        self.nodeid = f"test_some.py::{name}"
        self.path = Path("test_some.py")
        self.group = None if group is None else SimpleNamespace(nodeid=f"test_some.py::{group}")
        self.marks = {key: SimpleNamespace(args=value) for key, value in marks.items()}

    def get_closest_marker(self, name: str) -> Any:
        return self.marks.get(name)

    def getparent(self, kind: type) -> Any:
        return self.group


def sample(items: list[Item]) -> tuple[list[str], list[str]]:
    """Return the names of the tests that stay, and of those that are deselected."""
    left_out: list[Item] = []
    hook = SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items))
    take_sample(SimpleNamespace(hook=hook), items)  # type: ignore[arg-type]
    return [item.name for item in items], [item.name for item in left_out]


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (2, 1), (3, 1), (4, 2), (9, 3)])
def test_one_of_so_many_is_chosen_and_the_seed_alone_decides(count: int, expected: int) -> None:
    units = [f"t{i}" for i in range(count)]
    chosen = choose(units, 3, "7")
    assert len(chosen) == expected and set(chosen) <= set(units)
    assert choose(reversed(units), 3, "7") == chosen
    assert {unit for seed in range(99) for unit in choose(units, 3, str(seed))} == set(units)


def test_a_sample_leaves_out_parts_of_what_is_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAMPLES", "some")
    functions = [Item(f"f{i}", sampled=(2,)) for i in range(4)]
    methods = [Item(f"{c}{i}", group=c, sampled=(2,)) for c in ("A", "B") for i in range(3)]
    stories = [Item(f"s{i}", sampled=(3, "stories")) for i in range(6)]
    always = [Item("plain"), Item("hours", sampled=(2,), long=())]
    items = [*functions, *methods, *stories, *always]
    stay, left_out = sample(list(items))
    assert sorted([*stay, *left_out]) == sorted(item.name for item in items)
    assert {"plain", "hours"} <= set(stay)
    assert sum(name.startswith("f") for name in stay) == 2
    assert sum(name.startswith("s") for name in stay) == 2
    # A class stays as a whole.
    assert sorted(name for name in stay if name[0] in "AB") in (
        ["A0", "A1", "A2"],
        ["B0", "B1", "B2"],
    )
    assert sample_header()[0].startswith("sample: SAMPLES_SEED=")


def test_all_run_unless_a_sample_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAMPLES", raising=False)
    items = [Item(f"f{i}", sampled=(2,)) for i in range(4)]
    assert sample(items) == (["f0", "f1", "f2", "f3"], [])
    assert sample_header() == []
